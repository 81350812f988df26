// A safetensors file: every tensor that is accepted lies within the file, and can be read.

#include "local_engine/weights/safetensors.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/tensor_walk.h"
#include "tests/local_engine/weights/weight_files.h"

namespace reenact::fuzz::safetensors {

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
  const auto pair = [](const std::string& shape, const std::string& offsets) {
    return SafetensorsWithHeader(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                                 R"("b":{"dtype":"F32","shape":)" +
                                     shape + R"(,"data_offsets":)" + offsets + "}}",
                                 std::string(16, 'x'));
  };
  const std::string whole = SafetensorsBytes(tensors);
  return {whole,
          SafetensorsBytes({tensors[0]}),
          SafetensorsWithHeader("{}", ""),
          whole.substr(0, whole.size() - 3),
          whole.substr(0, whole.size() / 3),
          pair("[2]", "[4,12]"),  // Overlapping.
          pair("[4611686018427387904,4]", "[8,16]"),
          pair("[2]", "[8,18446744073709551615]")};
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

const bool added = AddTarget({"safetensors", FuzzOne, Seeds, Tokens});

}  // namespace reenact::fuzz::safetensors
