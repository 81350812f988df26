// The interpreter by itself: what it computes, and that it refuses what profile n1 or no GPU
// allows. The programs are written by hand, so that this runs without nvcc.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"

#include "tests/local_engine/cuda/ptx/launch.h"
#include "tests/local_engine/cuda/ptx/parser.h"

namespace reenact::ptx {
namespace {

constexpr std::string_view kHead =
    ".version 9.0\n.target sm_90\n.address_size 64\n"
    ".extern .shared .align 16 .b8 dynamic[];\n"
    ".visible .entry k(.param .u64 k_0, .param .u32 k_1)\n.maxntid 256, 1, 1\n{\n"
    ".reg .pred %p<9>; .reg .b16 %rs<9>; .reg .f32 %f<9>; .reg .b32 %r<40>; .reg .b64 %rd<9>;\n"
    "ld.param.u64 %rd1, [k_0]; cvta.to.global.u64 %rd2, %rd1; ld.param.u32 %r1, [k_1];\n"
    "mov.u32 %r2, %tid.x; mul.wide.u32 %rd3, %r2, 4; add.s64 %rd4, %rd2, %rd3;\n";

absl::StatusOr<Module> Parse(std::string_view body) {
  return ParseModule(std::string(kHead) + std::string(body) + "\n}\n");
}

struct Ran {
  absl::Status status;
  std::vector<uint32_t> values;
};

constexpr uint32_t kThreads = 32;

// Each of the threads has its own word at [%rd4], in memory that holds `first` + its number, or
// nothing.
Ran RunProgram(std::string_view body, uint32_t argument = 0, uint32_t threads = kThreads,
               bool initialised = true, uint64_t schedule = 0) {
  const absl::StatusOr<Module> module = Parse(body);
  if (!module.ok()) return {module.status(), {}};
  std::vector<uint32_t> values(threads);
  for (uint32_t i = 0; i < threads; ++i) values[i] = i;
  GlobalMemory memory;
  memory.Add(values.data(), values.size() * sizeof(uint32_t), initialised);
  const absl::Status status =
      Launch(*module->Find("k"),
             {.block = {threads, 1, 1}, .dynamic_shared_bytes = 1024, .schedule = schedule},
             MakeArguments(values.data(), argument), &memory);
  return {status, values};
}

// The word that a program leaves, which gives `argument` in %r1 and its result in %r9.
uint32_t Result(const std::string& program, uint32_t argument) {
  const Ran ran = RunProgram(program + " st.global.u32 [%rd4], %r9;", argument, 1);
  EXPECT_TRUE(ran.status.ok()) << ran.status << " in " << program;
  return ran.values.empty() ? 0xdeadbeef : ran.values[0];
}

bool Says(const absl::Status& status, std::string_view what) {
  return !status.ok() && std::string(status.message()).find(what) != std::string::npos;
}

uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

TEST(PtxInterpreter, IntegersWrapShiftAndExtendAsOnADevice) {
  EXPECT_EQ(Result("add.s32 %r9, %r1, 1;", 0x7fffffff), 0x80000000u);
  EXPECT_EQ(Result("mul.lo.s32 %r9, %r1, %r1;", 0x10001), 0x20001u);
  EXPECT_EQ(Result("mul.hi.u32 %r9, %r1, -1;", 0x80000000), 0x7fffffffu);
  EXPECT_EQ(Result("mul.hi.s32 %r9, %r1, 2;", 0x80000000), 0xffffffffu);
  EXPECT_EQ(Result("shl.b32 %r9, %r1, 32;", 1), 0u);
  EXPECT_EQ(Result("shr.s32 %r9, %r1, 40;", 0x80000000), 0xffffffffu);
  EXPECT_EQ(Result("shr.u32 %r9, %r1, 31;", 0x80000000), 1u);
  EXPECT_EQ(Result("div.s32 %r9, %r1, 2;", static_cast<uint32_t>(-3)), static_cast<uint32_t>(-1));
  EXPECT_EQ(Result("rem.s32 %r9, %r1, 2;", static_cast<uint32_t>(-3)), static_cast<uint32_t>(-1));
  EXPECT_EQ(Result("min.s32 %r9, %r1, 0;", 0x80000000), 0x80000000u);
  EXPECT_EQ(Result("max.u32 %r9, %r1, 0;", 0x80000000), 0x80000000u);
  EXPECT_EQ(Result("cvt.s32.s8 %r9, %r1;", 0x180), 0xffffff80u);
  EXPECT_EQ(Result("cvt.u32.u8 %r9, %r1;", 0x180), 0x80u);
  EXPECT_EQ(Result("bfe.s32 %r9, %r1, 4, 4;", 0x00f0), 0xffffffffu);
  EXPECT_EQ(Result("bfe.u32 %r9, %r1, 4, 4;", 0x12f4), 0xfu);
  EXPECT_EQ(Result("bfi.b32 %r9, %r1, 0, 8, 4;", 0xab), 0xb00u);
  EXPECT_EQ(Result("prmt.b32 %r9, %r1, 0, 0x0123;", 0x11223344), 0x44332211u);
  EXPECT_EQ(Result("prmt.b32 %r9, %r1, 0, 0x8888;", 0x80), 0xffffffffu);
  EXPECT_EQ(Result("shf.l.wrap.b32 %r9, 0x80000000, %r1, 1;", 1), 3u);
  EXPECT_EQ(Result("lop3.b32 %r9, %r1, 0xff00, 0x0f0f, 0xe8;", 0xffff), 0xff0fu);
  EXPECT_EQ(Result("clz.b32 %r9, %r1;", 0xffff), 16u);
  EXPECT_EQ(Result("popc.b32 %r9, %r1;", 0xf0f), 8u);
  EXPECT_EQ(Result("dp4a.s32.s32 %r9, %r1, 0x01ff02fe, 10;", 0x01020304), 10u + 1 - 2 + 6 - 8);
}

TEST(PtxInterpreter, FloatsAreIeeeWithSubnormals) {
  EXPECT_EQ(Result("mov.b32 %f1, %r1; mul.rn.f32 %f2, %f1, 0f3F000000; mov.b32 %r9, %f2;", 3u), 2u);
  EXPECT_EQ(
      Result("mov.b32 %f1, %r1; add.rn.f32 %f2, %f1, 0f33800000; mov.b32 %r9, %f2;", BitsOf(1)),
      BitsOf(1));
  // (1 + 2^-12)^2 - 1: the 2^-24 survives only where the product is not rounded.
  EXPECT_EQ(Result("mov.b32 %f1, %r1; fma.rn.f32 %f2, %f1, %f1, 0fBF800000; mov.b32 %r9, %f2;",
                   BitsOf(1 + 0x1p-12f)),
            BitsOf(0x1p-11f + 0x1p-24f));
  EXPECT_EQ(Result("mov.b32 %f1, %r1; sqrt.rn.f32 %f2, %f1; mov.b32 %r9, %f2;", BitsOf(2)),
            0x3fb504f3u);
  for (uint32_t value : {0x80000000u, 0x7fc00000u, 0xbf800000u}) {
    EXPECT_EQ(Result("mov.b32 %f1, %r1; max.f32 %f2, %f1, 0f00000000; mov.b32 %r9, %f2;", value),
              0u);
  }
  EXPECT_EQ(Result("cvt.rn.f32.s32 %f1, %r1; mov.b32 %r9, %f1;", 0x1000001), BitsOf(16777216.0f));
  EXPECT_EQ(Result("mov.b32 %f1, %r1; setp.gtu.f32 %p1, %f1, 0f00000000; selp.b32 %r9, 7, 8, %p1;",
                   0x7fc00000),
            7u);
  EXPECT_EQ(Result("mov.b32 %f1, %r1; setp.gt.f32 %p1, %f1, 0f00000000; selp.b32 %r9, 7, 8, %p1;",
                   0x7fc00000),
            8u);
}

TEST(PtxInterpreter, LanesExchangeAcrossAWarp) {
  const Ran butterfly =
      RunProgram("shfl.sync.bfly.b32 %r9, %r2, 1, 31, -1; st.global.u32 [%rd4], %r9;");
  ASSERT_TRUE(butterfly.status.ok()) << butterfly.status;
  EXPECT_EQ(butterfly.values[6], 7u);
  const Ran down =
      RunProgram("shfl.sync.down.b32 %r9|%p1, %r2, 4, 0x181f, -1; st.global.u32 [%rd4], %r9;");
  ASSERT_TRUE(down.status.ok()) << down.status;
  EXPECT_EQ(down.values[3], 7u);
  EXPECT_EQ(down.values[5], 5u) << "read beyond its segment of eight";
  const Ran sum = RunProgram("redux.sync.add.s32 %r9, %r2, -1; st.global.u32 [%rd4], %r9;");
  ASSERT_TRUE(sum.status.ok()) << sum.status;
  EXPECT_EQ(sum.values[31], 496u);
}

TEST(PtxInterpreter, BlocksExchangeThroughSharedMemoryInAnySchedule) {
  for (uint64_t schedule : {0, 1, 77}) {
    const Ran ran = RunProgram(
        "mov.u32 %r3, dynamic; shl.b32 %r4, %r2, 2; add.s32 %r5, %r3, %r4; st.shared.u32 [%r5], "
        "%r2;"
        "bar.sync 0; xor.b32 %r6, %r4, 252; add.s32 %r7, %r3, %r6; ld.shared.u32 %r9, [%r7];"
        "st.global.u32 [%rd4], %r9;",
        0, 64, true, schedule);
    ASSERT_TRUE(ran.status.ok()) << ran.status;
    EXPECT_EQ(ran.values[0], 63u);
    EXPECT_EQ(ran.values[40], 23u);
  }
}

// A of ones in row r + 1 times B with column c of c: every sum is 32 (r + 1) c.
TEST(PtxInterpreter, MatrixProductsOfBytesAreExact) {
  const Ran ran = RunProgram(
      "shr.u32 %r3, %r2, 2; add.s32 %r4, %r3, 1; mul.lo.s32 %r10, %r4, 0x01010101;"
      "add.s32 %r5, %r3, 9; mul.lo.s32 %r11, %r5, 0x01010101; mul.lo.s32 %r12, %r3, 0x01010101;"
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r20, %r21, %r22, %r23},"
      " {%r10, %r11, %r10, %r11}, {%r12, %r12}, {%r1, %r1, %r1, %r1};"
      "add.s32 %r9, %r21, %r22; st.global.u32 [%rd4], %r9;",
      5);
  ASSERT_TRUE(ran.status.ok()) << ran.status;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t row = lane / 4;
    const uint32_t column = lane % 4 * 2;
    EXPECT_EQ(ran.values[lane], 10 + 32 * (row + 1) * (column + 1) + 32 * (row + 9) * column);
  }
}

TEST(PtxInterpreter, CopiesArriveOnlyWhenTheyAreWaitedFor) {
  const std::string copy =
      "mov.u32 %r3, dynamic; shl.b32 %r4, %r2, 2; add.s32 %r5, %r3, %r4;"
      "cp.async.ca.shared.global [%r5], [%rd4], 4; cp.async.commit_group;";
  const std::string read =
      "ld.shared.u32 %r9, [%r5]; add.s32 %r9, %r9, 1; st.global.u32 [%rd4], %r9;";
  const Ran waited = RunProgram(copy + "cp.async.wait_group 0;" + read);
  ASSERT_TRUE(waited.status.ok()) << waited.status;
  EXPECT_EQ(waited.values[9], 10u);
  EXPECT_TRUE(
      Says(RunProgram(copy + "cp.async.wait_group 1;" + read).status, "before it was written"));
  EXPECT_TRUE(Says(RunProgram(copy).status, "did not wait for"));
}

struct Refusal {
  const char* program;
  const char* says;
};

TEST(PtxInterpreter, RefusesWhatTheProfileDoesNotAllow) {
  const Refusal refusals[] = {
      {"div.approx.f32 %f1, %f2, %f3;", "no .approx"},
      {"ex2.approx.ftz.f32 %f1, %f2;", "no .approx"},
      {"add.rn.ftz.f32 %f1, %f2, %f3;", "no .ftz"},
      {"mul.rz.f32 %f1, %f2, %f3;", "no .rz"},
      {"add.rn.sat.f32 %f1, %f2, %f3;", "no .sat"},
      {"mul.f32 %f1, %f2, %f3;", "may contract"},
      {"max.f32 %f1, %f2, %f3;", "differs from"},
      {"min.f32 %f1, %f2, 0f00000000;", "differs from"},
      {"max.f32 %f1, %f2, 0f80000000;", "differs from"},
      {"add.rn.f64 %rd1, %rd2, %rd3;", "binary32"},
      {"red.global.add.f32 [%rd4], %f1;", "float atomic"},
      {"cvt.rn.f16.f32 %rs1, %f1;", "conversion"},
      {"cvt.rn.bf16.f32 %rs1, %f1;", "conversion"},
      {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r1, %r1, "
       "%r1},"
       " {%r1, %r1}, {%f1, %f2, %f3, %f4};",
       "not of signed bytes"},
      {"tanh.rn.f32 %f1, %f2;", "unknown instruction: tanh.rn.f32"},
      {"add.strange.s32 %r1, %r2, %r3;", "unknown modifier .strange"},
      {"add.s32 %r1, %r2, nobody;", "unknown operand"},
      {"bra $nowhere;", "no label"},
  };
  for (const Refusal& refusal : refusals) {
    EXPECT_TRUE(Says(Parse(refusal.program).status(), refusal.says))
        << refusal.program << ": " << Parse(refusal.program).status();
  }
  EXPECT_TRUE(Parse("add.rn.f32 %f1, %f2, %f3;").ok()) << "the control: this one is allowed";
}

TEST(PtxInterpreter, FindsWhatNoDeviceDefines) {
  const Refusal refusals[] = {
      {"ld.global.u32 %r9, [%rd4+128];", "outside every buffer"},
      {"st.global.u32 [%rd2+-4], %r2;", "outside every buffer"},
      {"ld.global.u32 %r9, [%rd4+2];", "misaligned"},
      {"mov.u32 %r3, dynamic; ld.shared.u32 %r9, [%r3];", "before it was written"},
      {"mov.u32 %r3, dynamic; st.shared.u32 [%r3+1024], %r2;", "outside shared memory"},
      {"mov.u32 %r3, dynamic; st.shared.u32 [%r3], %r2;", "a race in shared memory: two writes"},
      {"setp.eq.s32 %p1, %r2, 0; @%p1 ret; shfl.sync.bfly.b32 %r9, %r2, 1, 31, -1;", "never come"},
      {"setp.eq.s32 %p1, %r2, 0; @%p1 bra $a; bar.sync 0; ret; $a: bar.sync 1;",
       "different barriers"},
      {"st.global.u32 [%rd4], %r2; ld.global.nc.u32 %r9, [%rd4];", "written in this launch"},
      {"div.s32 %r9, %r2, %r1;", "division of an integer by zero"},
      {"trap;", "trap"},
  };
  for (const Refusal& refusal : refusals) {
    const absl::Status status = RunProgram(refusal.program).status;
    EXPECT_TRUE(Says(status, refusal.says)) << refusal.program << ": " << status;
  }
  // The exchange of the test above without its barrier: either order of threads shows it.
  const std::string exchange =
      "mov.u32 %r3, dynamic; shl.b32 %r4, %r2, 2; add.s32 %r5, %r3, %r4; st.shared.u32 [%r5], %r2;"
      "xor.b32 %r6, %r4, 124; add.s32 %r7, %r3, %r6; ld.shared.u32 %r9, [%r7];";
  EXPECT_FALSE(RunProgram(exchange).status.ok());
  EXPECT_FALSE(RunProgram(exchange, 0, kThreads, true, 1).status.ok());
  EXPECT_TRUE(Says(RunProgram("ld.global.u32 %r9, [%rd4];", 0, kThreads, false).status,
                   "before it was written"));
}

TEST(PtxInterpreter, NamesWhereItWentWrong) {
  const absl::Status status = RunProgram("ld.global.u32 %r9, [%rd4+128];").status;
  EXPECT_TRUE(Says(status, "k, block 0, thread 0, \"ld.global.u32 %r9, [%rd4+128]\"")) << status;
}

TEST(PtxInterpreter, BlocksOfALaunchMayNotWriteTheSamePlace) {
  const absl::StatusOr<Module> module = Parse("st.global.u32 [%rd4], %r2;");
  ASSERT_TRUE(module.ok()) << module.status();
  std::vector<uint32_t> values(8);
  GlobalMemory memory;
  memory.Add(values.data(), values.size() * 4, true);
  const Arguments arguments = MakeArguments(values.data(), uint32_t{0});
  const absl::Status twice =
      Launch(*module->Find("k"), {.grid = {2, 1, 1}, .block = {8, 1, 1}}, arguments, &memory);
  EXPECT_TRUE(Says(twice, "two blocks of a launch write the same place")) << twice;
  EXPECT_TRUE(Launch(*module->Find("k"), {.block = {8, 1, 1}}, arguments, &memory).ok())
      << "the next launch may";
}

}  // namespace
}  // namespace reenact::ptx
