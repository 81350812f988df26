// A GGUF file through all that is made of one: metadata and tensors, the configuration, the weights
// in their places. What is accepted lies within the file.

#include "local_engine/model/model_config.h"
#include "local_engine/model/model_weights.h"
#include "local_engine/weights/gguf.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/tensor_walk.h"
#include "tests/local_engine/weights/weight_files.h"

namespace reenact::fuzz::gguf {

using namespace reenact::local_engine;

void FuzzOne(std::string_view bytes) {
  const AlignedCopy file{std::string(bytes)};
  absl::StatusOr<GgufFile> gguf = ReadGguf("input", file.bytes());
  if (!gguf.ok()) {
    if (gguf.status().message().empty()) Broken("an error without words");
    return;
  }
  ReadEveryTensor(gguf->tensors, file.bytes());
  const absl::StatusOr<ModelConfig> config = ReadGgufConfig("input", *gguf);
  if (!config.ok()) return;
  if (!CheckConfig("input", *config).ok()) Broken("a configuration that does not pass its check");
  if (BindWeights("input", *config, gguf->tensors, TensorNames::kGguf).ok()) Reached();
}

std::vector<std::string> Seeds() {
  constexpr uint64_t kDim = 4;
  const auto matrix = [](const std::string& name, uint64_t rows, uint64_t columns) {
    return Store(name + ".weight", DataType::kF32, {rows, columns},
                 std::vector<float>(rows * columns, 0.5f));
  };
  const auto norm = [](const std::string& name) {
    return Store(name + ".weight", DataType::kF32, {kDim}, std::vector<float>(kDim, 1.0f));
  };
  const std::vector<StoredTensor> tensors = {matrix("token_embd", 5, kDim),
                                             norm("blk.0.attn_norm"),
                                             matrix("blk.0.attn_q", kDim, kDim),
                                             matrix("blk.0.attn_k", kDim, kDim),
                                             matrix("blk.0.attn_v", kDim, kDim),
                                             matrix("blk.0.attn_output", kDim, kDim),
                                             norm("blk.0.ffn_norm"),
                                             matrix("blk.0.ffn_gate", 6, kDim),
                                             matrix("blk.0.ffn_up", 6, kDim),
                                             matrix("blk.0.ffn_down", kDim, 6),
                                             norm("output_norm"),
                                             matrix("output", 5, kDim)};
  const std::vector<std::pair<std::string, GgufValue>> metadata = {
      {"general.architecture", std::string("llama")},
      {"llama.block_count", uint64_t{1}},
      {"llama.embedding_length", kDim},
      {"llama.feed_forward_length", uint64_t{6}},
      {"llama.attention.head_count", uint64_t{2}},
      {"llama.attention.head_count_kv", uint64_t{2}},
      {"llama.context_length", uint64_t{64}},
      {"llama.vocab_size", uint64_t{5}},
      {"llama.rope.dimension_count", uint64_t{2}},
      {"llama.attention.layer_norm_rms_epsilon", 1e-5},
      {"tokenizer.ggml.model", std::string("llama")},
      {"tokenizer.ggml.tokens", std::vector<std::string>{"<unk>", "<s>", "</s>", "a", "b"}}};
  const std::string whole = GgufBytes(metadata, tensors);
  // The offset of the last tensor stands behind its name, count of dimensions, both of them and
  // type.
  const std::string last = "output.weight";
  const size_t offset_at = whole.rfind(last) + last.size() + 4 + 16 + 4;
  std::string overlapping = whole;
  overlapping.replace(offset_at, 8, std::string(8, '\0'));
  std::string beyond = whole;
  beyond.replace(offset_at, 8, "\xe0\xff\xff\xff\xff\xff\xff\x7f");
  std::string many = whole;
  many.replace(8, 8, "\xff\xff\xff\xff\xff\xff\xff\x0f");  // Tensors.
  return {whole,
          overlapping,
          beyond,
          many,
          whole.substr(0, whole.size() / 2),
          GgufBytes(metadata, {}),
          GgufBytes({}, {{"q", DataType::kQ8_0, {1, 32}, std::string(34, '\1')}})};
}

std::vector<std::string> Tokens() {
  return {"GGUF",
          "llama",
          "qwen2",
          "qwen3",
          "general.architecture",
          "general.alignment",
          "llama.rope.scaling.type",
          "llama.attention.sliding_window",
          "tokenizer.ggml.tokens",
          "rope_freqs.weight",
          "blk.0.attn_q.weight",
          std::string("\x09\0\0\0", 4),
          std::string("\x08\0\0\0", 4),
          std::string(8, '\0'),
          "\xff\xff\xff\xff\xff\xff\xff\x7f"};
}

const bool added = AddTarget({"gguf", FuzzOne, Seeds, Tokens});

}  // namespace reenact::fuzz::gguf
