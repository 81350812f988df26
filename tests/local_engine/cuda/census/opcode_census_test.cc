// The machine code of the kernels, opcode by opcode: none that rounds as no document says, none
// whose order is open.

#include "tests/local_engine/cuda/census/opcode_census.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"

#include "tests/local_engine/cuda/device_code.h"
#include "tests/local_engine/cuda/ptx/parser.h"

namespace reenact::device_code {
namespace {

std::vector<KernelCensus> CensusOf(const std::string& path) {
  const absl::StatusOr<std::string> bytes = ReadFile(path);
  std::vector<KernelCensus> kernels;
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  if (!bytes.ok()) return kernels;
  for (std::string_view cubin : Cubins(*bytes)) {
    const absl::StatusOr<std::vector<KernelCensus>> census = TakeCensus(cubin);
    EXPECT_TRUE(census.ok()) << path << ": " << census.status();
    if (census.ok()) kernels.insert(kernels.end(), census->begin(), census->end());
  }
  EXPECT_FALSE(kernels.empty()) << path << " has no machine code";
  return kernels;
}

// By kernel.
std::map<std::string, Reasons> ReasonsOf(const std::string& path) {
  std::map<std::string, Reasons> reasons;
  const absl::StatusOr<std::string> bytes = ReadFile(path);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  if (!bytes.ok()) return reasons;
  for (std::string_view text : PtxTexts(*bytes)) {
    const absl::StatusOr<ptx::Module> module = ptx::ParseModule(text);
    EXPECT_TRUE(module.ok()) << path << ": " << module.status();
    if (!module.ok()) continue;
    for (const auto& [name, kernel] : module->kernels) {
      reasons[name];
      for (const auto& [opcode, count] : kernel.opcode_counts) {
        const std::string base = opcode.substr(0, opcode.find('.'));
        if (base == "div" || base == "rem" || base == "sqrt") reasons[name].quotients += count;
        if (opcode == "cvt.f32.f16") reasons[name].widenings += count;
      }
    }
  }
  return reasons;
}

std::vector<std::string> DeviceCodeFiles() {
  std::vector<std::string> files;
  const char* names = std::getenv("REENACT_DEVICE_CODE");
  std::istringstream paths(names == nullptr ? "" : names);
  for (std::string path; std::getline(paths, path, ':');) files.push_back(path);
  return files;
}

// Products of many rows in binary32: the sums of classes that wait for their neighbours, each
// touched once in K / 32 links. All else stays in registers.
bool MayUseLocalMemory(const std::string& kernel) {
  return kernel.find("17TileProductKernel") != std::string::npos;
}

TEST(OpcodeCensus, KernelsOfTheProfileHaveNothingThatItDoesNotAllow) {
  const std::vector<std::string> files = DeviceCodeFiles();
  ASSERT_FALSE(files.empty()) << "REENACT_DEVICE_CODE names no objects";
  for (const std::string& file : files) {
    const std::map<std::string, Reasons> reasons = ReasonsOf(file);
    for (const KernelCensus& kernel : CensusOf(file)) {
      const auto found = reasons.find(kernel.name);
      ASSERT_NE(found, reasons.end()) << kernel.name << " has no PTX beside it";
      for (const std::string& objection : Objections(kernel, found->second)) {
        ADD_FAILURE() << kernel.name << ", sm_" << kernel.architecture << ": " << objection;
      }
      if (!MayUseLocalMemory(kernel.name)) {
        EXPECT_EQ(kernel.LocalAccesses(), 0)
            << kernel.name << ", sm_" << kernel.architecture << ": registers spill, or an array "
            << "that is indexed";
      }
    }
  }
}

// Empty when there is none.
std::string ObjectionTo(std::string_view kernel_name, int quotients) {
  static const std::vector<KernelCensus> kernels = CensusOf(PLANTED_CODE);
  for (const KernelCensus& kernel : kernels) {
    if (kernel.name.find(kernel_name) == std::string::npos) continue;
    std::string all;
    for (const std::string& objection : Objections(kernel, {.quotients = quotients}))
      all += objection + "; ";
    return all;
  }
  return "there is no such kernel";
}

TEST(OpcodeCensus, FindsEachPlantedKernel) {
  const std::map<std::string, std::string> planted = {
      {"ApproximateDivision", "MUFU"},
      {"ApproximateExponential", "MUFU"},
      {"FlushedSubnormals", "flush subnormals"},
      {"RoundedDown", "round otherwise"},
      {"FloatMaximum", "FMNMX"},
      {"11FloatAtomicP", "REDG of floats"},
      {"FloatAtomicInSharedMemory", "ATOMS.CAS"},
      {"FloatMatrices", "HMMA"},
      {"Doubles", "D"},
      {"IeeeDivision", "MUFU"},  // No division in the PTX would be a reason.
  };
  for (const auto& [kernel, what] : planted) {
    EXPECT_NE(ObjectionTo(kernel, 0).find(what), std::string::npos)
        << kernel << ": " << ObjectionTo(kernel, 0);
  }
}

TEST(OpcodeCensus, HasNoObjectionToDivisionAndIntegers) {
  EXPECT_EQ(ObjectionTo("IeeeDivision", 1), "");
  EXPECT_EQ(ObjectionTo("IntegerAtomic", 0), "");
  EXPECT_EQ(ObjectionTo("IndexedArray", 0), "");
}

TEST(OpcodeCensus, SeesLocalMemory) {
  for (const KernelCensus& kernel : CensusOf(PLANTED_CODE)) {
    const bool indexes = kernel.name.find("IndexedArray") != std::string::npos;
    EXPECT_EQ(kernel.LocalAccesses() > 0, indexes) << kernel.name;
  }
}

TEST(OpcodeCensus, RefusesWhatIsNoCubin) {
  EXPECT_FALSE(TakeCensus("").ok());
  EXPECT_FALSE(TakeCensus(std::string(200, '\xff')).ok());
}

}  // namespace
}  // namespace reenact::device_code
