#include "local_engine/weights/gguf.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/numerics/q8_block.h"
#include "tests/local_engine/weights/file_refusal.h"
#include "tests/local_engine/weights/weight_files.h"

namespace reenact::local_engine {
namespace {

using Metadata = std::vector<std::pair<std::string, GgufValue>>;

Metadata SomeMetadata() {
  return {{"general.architecture", std::string("llama")},
          {"llama.block_count", uint64_t{5}},
          {"llama.rope.freq_base", 10000.0},
          {"tokenizer.ggml.tokens", std::vector<std::string>{"a", "bc", ""}}};
}

StoredTensor Q8Tensor() {
  StoredTensor tensor{"q", DataType::kQ8_0, {2, 32}, ""};
  for (int row = 0; row < 2; ++row) {
    Q8Block block{.scale_fp16 = narrow_to_fp16(0.5f), .values = {}};
    for (int i = 0; i < 32; ++i) block.values[i] = static_cast<int8_t>(i * (row + 1) - 30);
    tensor.data.append(reinterpret_cast<const char*>(&block), sizeof(block));
  }
  return tensor;
}

std::string WholeFile() {
  return GgufBytes(SomeMetadata(),
                   {Store("a", DataType::kF32, {2, 3}, {1, 2, 3, 4, 5, 6}), Q8Tensor()});
}

absl::Status GgufStatus(const std::string& bytes) {
  const AlignedCopy copy(bytes);
  return ReadGguf("m.gguf", copy.bytes()).status();
}

void ExpectGgufRefused(const std::string& bytes, const std::string& words) {
  ExpectFileRefused(GgufStatus(bytes), "m.gguf", words);
}

GgufWriter Head(uint64_t tensor_count, uint64_t key_count) {
  GgufWriter writer;
  writer.Raw("GGUF").Number(uint32_t{3}).Number(tensor_count).Number(key_count);
  return writer;
}

// A file of one tensor "t" with 64 bytes of data.
std::string OneTensor(const std::vector<uint64_t>& dimensions, uint32_t type, uint64_t offset) {
  GgufWriter writer = Head(1, 0);
  writer.Text("t").Number(static_cast<uint32_t>(dimensions.size()));
  for (uint64_t dimension : dimensions) writer.Number(dimension);
  return writer.Number(type).Number(offset).PadTo(32).Raw(std::string(64, '\1')).bytes();
}

TEST(Gguf, ReadsMetadataAndTensors) {
  const AlignedCopy copy(WholeFile());
  const absl::StatusOr<GgufFile> gguf = ReadGguf("m.gguf", copy.bytes());
  ASSERT_TRUE(gguf.ok()) << gguf.status();
  EXPECT_EQ(std::get<std::string>(gguf->metadata.at("general.architecture")), "llama");
  EXPECT_EQ(std::get<uint64_t>(gguf->metadata.at("llama.block_count")), 5u);
  EXPECT_EQ(std::get<std::vector<std::string>>(gguf->metadata.at("tokenizer.ggml.tokens"))[1],
            "bc");
  const Tensor* a = gguf->tensors.Find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->shape, (std::vector<uint64_t>{2, 3})) << "outermost first";
  const Tensor* q = gguf->tensors.Find("q");
  ASSERT_NE(q, nullptr);
  std::vector<float> row(32);
  WidenRow(*q, 1, row);
  EXPECT_EQ(row[0], -15.0f);
  EXPECT_EQ(row[31], 16.0f);
}

TEST(Gguf, DamageIsNamed) {
  ExpectGgufRefused("", "is no GGUF file");
  ExpectGgufRefused("GGML" + WholeFile().substr(4), "is no GGUF file");
  ExpectGgufRefused(Head(0, 1).Text("k").Number(uint32_t{77}).bytes(),
                    "key \"k\": unknown type 77");
  ExpectGgufRefused(Head(0, 1).Number(uint64_t{1} << 60).Raw("abc").bytes(), "the file ends");
  ExpectGgufRefused(Head(0, ~uint64_t{0}).bytes(), "the file ends");
  ExpectGgufRefused(Head(~uint64_t{0}, 0).bytes(), "claims 18446744073709551615 tensors");
  ExpectGgufRefused(
      Head(0, 1).Text("k").Number(uint32_t{9}).Number(uint32_t{4}).Number(~uint64_t{0}).bytes(),
      "key \"k\": claims 18446744073709551615 values");
  ExpectGgufRefused(
      Head(0, 1).Text("k").Number(uint32_t{9}).Number(uint32_t{9}).Number(uint64_t{0}).bytes(),
      "array of arrays");
  GgufWriter twice = Head(0, 2);
  for (int i = 0; i < 2; ++i) twice.Text("k").Number(uint32_t{4}).Number(uint32_t{1});
  ExpectGgufRefused(twice.bytes(), "key \"k\" is there twice");
  ExpectGgufRefused(OneTensor({1, 1, 1, 1, 1}, 0, 0), "tensor \"t\": has 5 dimensions");
  ExpectGgufRefused(OneTensor({16}, 0, 8), "tensor \"t\": offset 8 is no multiple");
  ExpectGgufRefused(OneTensor({17}, 0, 0), "tensor \"t\": 68 bytes at offset 0 lie outside");
  ExpectGgufRefused(OneTensor({1}, 0, ~uint64_t{31}), "lie outside");
  ExpectGgufRefused(OneTensor({uint64_t{1} << 40, uint64_t{1} << 40}, 0, 0), "too large");
  ExpectGgufRefused(OneTensor({0}, 0, 0), "holds no value");
  ExpectGgufRefused(OneTensor({31}, 8, 0), "must be a multiple of 32");
  GgufWriter overlapping = Head(2, 0);
  overlapping.Text("t").Number(uint32_t{1}).Number(uint64_t{16}).Number(uint32_t{0});
  overlapping.Number(uint64_t{0});
  overlapping.Text("u").Number(uint32_t{1}).Number(uint64_t{8}).Number(uint32_t{0});
  overlapping.Number(uint64_t{32}).PadTo(32).Raw(std::string(64, '\1'));
  ExpectGgufRefused(overlapping.bytes(), "tensor \"u\" overlaps tensor \"t\"");
  ExpectGgufRefused(
      Head(0, 1).Text("general.alignment").Number(uint32_t{4}).Number(uint32_t{33}).bytes(),
      "\"general.alignment\": is no power of two");
}

TEST(Gguf, AnUnsupportedTypeOrVersionIsRefusedByName) {
  const absl::Status status = GgufStatus(OneTensor({256}, 12, 0));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(std::string(status.message()).find("\"t\": type Q4_K"), std::string::npos) << status;
  std::string old = WholeFile();
  old[4] = 1;
  EXPECT_EQ(GgufStatus(old).code(), absl::StatusCode::kUnimplemented);
}

TEST(Gguf, EveryTruncationIsAnErrorOrOnlyPaddingIsLost) {
  const std::string whole = WholeFile();
  ASSERT_TRUE(GgufStatus(whole).ok());
  const size_t needed = whole.size() - 28;  // 68 bytes of data in 96.
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(GgufStatus(whole.substr(0, size)).ok(), size >= needed) << size;
  }
}

TEST(Gguf, AMutatedFileIsAnErrorOrReadsWithinItself) {
  const std::string whole = WholeFile();
  int refused = 0;
  for (size_t at = 0; at + 96 < whole.size(); ++at) {
    for (int byte : {0, 1, 2, 4, 8, 9, 31, 127, 128, 255}) {
      std::string mutated = whole;
      mutated[at] = static_cast<char>(byte);
      const AlignedCopy copy(mutated);
      const absl::StatusOr<GgufFile> gguf = ReadGguf("m.gguf", copy.bytes());
      refused += !gguf.ok();
      if (gguf.ok()) DigestOf(gguf->tensors);  // Reads every byte.
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace reenact::local_engine
