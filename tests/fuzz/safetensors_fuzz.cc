// A safetensors file: every tensor that is accepted lies within the file, and can be read.

#include "local_engine/weights/safetensors.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/tensor_walk.h"
#include "tests/local_engine/weights/weight_files.h"

namespace reenact::fuzz {

using namespace reenact::local_engine;

void FuzzOne(std::string_view bytes) {
  const AlignedCopy file{std::string(bytes)};
  TensorSet tensors;
  const absl::Status status = ReadSafetensors("input", file.bytes(), &tensors);
  if (!status.ok()) {
    if (status.message().empty()) Broken("an error without words");
    return;
  }
  ReadEveryTensor(tensors, file.bytes());
  if (!tensors.tensors().empty()) Reached();
}

std::vector<std::string> Seeds() {
  const std::vector<StoredTensor> tensors = {
      Store("model.embed_tokens.weight", DataType::kF32, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
      Store("lm_head.weight", DataType::kBF16, {2, 2}, {1, 2, 3, 4}),
      Store("n", DataType::kF16, {2}, {1, 2}),
      {"q", DataType::kI8, {1, 4}, "abcd"}};
  return {SafetensorsBytes(tensors), SafetensorsBytes({tensors[0]}),
          SafetensorsWithHeader("{}", "")};
}

std::vector<std::string> Tokens() {
  return {"\"dtype\":",
          "\"shape\":",
          "\"data_offsets\":",
          "\"F32\"",
          "\"F16\"",
          "\"BF16\"",
          "\"I8\"",
          "\"__metadata__\":",
          "{",
          "}",
          "[",
          "]",
          ",",
          "\"",
          "[0,0]",
          "18446744073709551615",
          "-1",
          "1e3",
          std::string("\x08\0\0\0\0\0\0\0", 8),
          "\xff\xff\xff\xff\xff\xff\xff\x7f"};
}

}  // namespace reenact::fuzz
