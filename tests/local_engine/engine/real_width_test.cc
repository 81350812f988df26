// The invariance matrix on a random model of real width: 2048 wide, heads of 128, a vocabulary of
// 128,256, a context of 4096, two layers. Writes a file of 770 MB and takes minutes, so it runs
// under REENACT_LONG alone.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/engine/answer_comparison.h"
#include "local_engine/engine/invariance_matrix.h"
#include "local_engine/numerics/narrow_floats.h"
#include "tests/local_engine/model/random_model.h"
#include "tests/support/temp_folder.h"

namespace reenact::local_engine {
namespace {

constexpr RandomModelShape kShape = {.layer_count = 2,
                                     .hidden_dim = 2048,
                                     .feed_forward_dim = 8192,
                                     .head_count = 16,
                                     .kv_head_count = 4,
                                     .head_dim = 128,
                                     .vocabulary_size = 128256,
                                     .tied = true,
                                     .type = DataType::kBF16};

// A tensor at a time: the model is too large to be held twice.
class FolderWriter {
 public:
  explicit FolderWriter(const std::string& folder)
      : data_(folder + "/model.safetensors", std::ios::binary) {}

  void Declare(const std::string& name, std::vector<uint64_t> shape) {
    uint64_t size_bytes = 2;
    for (uint64_t dimension : shape) size_bytes *= dimension;
    header_ += ",\"" + name + ".weight\":{\"dtype\":\"BF16\",\"shape\":" + ShapeText(shape) +
               ",\"data_offsets\":[" + std::to_string(end_) + "," +
               std::to_string(end_ + size_bytes) + "]}";
    end_ += size_bytes;
    shapes_.push_back(std::move(shape));
  }

  void Write() {
    data_ << SafetensorsWithHeader(R"({"__metadata__":{"format":"pt"})" + header_ + "}", "");
    for (const std::vector<uint64_t>& shape : shapes_) {
      const bool norm = shape.size() == 1;
      const float width = norm ? 0.2f : 1.5f / std::sqrt(static_cast<float>(shape.back()));
      std::vector<uint16_t> row(shape.back());
      for (uint64_t i = 0; i < (norm ? 1 : shape[0]); ++i) {
        for (uint16_t& value : row) {
          const float uniform = static_cast<float>(random_() >> 8) * 0x1p-22f - 1.0f;
          value = narrow_to_bf16((norm ? 1.0f : 0.0f) + width * 1.7f * uniform);
        }
        data_.write(reinterpret_cast<const char*>(row.data()),
                    static_cast<std::streamsize>(2 * row.size()));
      }
    }
  }

 private:
  std::ofstream data_;
  std::string header_;
  uint64_t end_ = 0;
  std::vector<std::vector<uint64_t>> shapes_;
  std::minstd_rand random_{20261130};
};

void WriteRealWidth(const std::string& folder) {
  std::string config = ConfigOf(kShape, "LlamaForCausalLM", "");
  const std::string context = "\"max_position_embeddings\":1024";
  config.replace(config.find(context), context.size(), "\"max_position_embeddings\":4096");
  WriteBytes(folder + "/config.json", config);
  const uint64_t kv_dim = kShape.kv_head_count * kShape.head_dim;
  const uint64_t query_dim = kShape.head_count * kShape.head_dim;
  FolderWriter writer(folder);
  writer.Declare("model.embed_tokens", {kShape.vocabulary_size, kShape.hidden_dim});
  for (int layer = 0; layer < kShape.layer_count; ++layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".";
    writer.Declare(prefix + "input_layernorm", {kShape.hidden_dim});
    writer.Declare(prefix + "self_attn.q_proj", {query_dim, kShape.hidden_dim});
    writer.Declare(prefix + "self_attn.k_proj", {kv_dim, kShape.hidden_dim});
    writer.Declare(prefix + "self_attn.v_proj", {kv_dim, kShape.hidden_dim});
    writer.Declare(prefix + "self_attn.o_proj", {kShape.hidden_dim, query_dim});
    writer.Declare(prefix + "post_attention_layernorm", {kShape.hidden_dim});
    writer.Declare(prefix + "mlp.gate_proj", {kShape.feed_forward_dim, kShape.hidden_dim});
    writer.Declare(prefix + "mlp.up_proj", {kShape.feed_forward_dim, kShape.hidden_dim});
    writer.Declare(prefix + "mlp.down_proj", {kShape.hidden_dim, kShape.feed_forward_dim});
  }
  writer.Declare("model.norm", {kShape.hidden_dim});
  writer.Write();
}

class RealWidth : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (std::getenv("REENACT_LONG") == nullptr) return;
    folder_ = new testing::TempFolder;
    WriteRealWidth(folder_->path());
  }

  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  void SetUp() override {
    if (folder_ == nullptr) GTEST_SKIP() << "REENACT_LONG is not set";
  }

  static testing::TempFolder* folder_;
};

testing::TempFolder* RealWidth::folder_ = nullptr;

TEST_F(RealWidth, EveryRowOfTheMatrixHolds) {
  const MatrixSettings settings = {.model_path = folder_->path(),
                                   .batch_sizes = {2, 9},
                                   .chunk_sizes = {3, 33, 256},
                                   .lengths = {2, 33, 257},
                                   .prompt_tokens = 90,
                                   .output_tokens = 4,
                                   .residue_step = 13,
                                   .orders = 2,
                                   .thread_counts = {1, 2, 3},
                                   .isas = {"avx2", "avx512"}};
  for (Invariance invariance : kInvariances) {
    const absl::StatusOr<MatrixRow> row = RunInvariance(invariance, settings);
    if (absl::IsUnimplemented(row.status())) continue;  // An instruction set that is not there.
    ASSERT_TRUE(row.ok()) << InvarianceName(invariance) << ": " << row.status();
    std::printf("real width BF16  %-9s %9lld comparisons, %lld differences (%s)\n",
                InvarianceName(invariance), static_cast<long long>(row->comparisons),
                static_cast<long long>(row->differences), row->proof.c_str());
    std::fflush(stdout);
    EXPECT_EQ(row->differences, 0) << InvarianceName(invariance) << ": " << row->first_difference;
    EXPECT_TRUE(row->path_ran) << InvarianceName(invariance) << ": " << row->proof;
  }
}

Answer AnswerOf(const std::string& folder, const EngineOptions& options, const Request& request) {
  absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Load(folder, options);
  EXPECT_TRUE(engine.ok()) << engine.status();
  const absl::StatusOr<RequestId> id = (*engine)->Submit(request);
  EXPECT_TRUE(id.ok()) << id.status();
  absl::StatusOr<Answer> answer = (*engine)->RunToEnd(*id);
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer.ok() ? *std::move(answer) : Answer{};
}

TEST_F(RealWidth, TheFastBackendHasTheBitsOfTheReference) {
  Request request = {.prompt = {5, 128255, 77, 1000, 64000},
                     .max_tokens = 3,
                     .sampling = {.temperature = 0},
                     .ignore_end = true,
                     .logprobs = true,
                     .top_logprobs = 128256,
                     .kv_digest = true};
  const Answer reference =
      AnswerOf(folder_->path(), {.backend = BackendKind::kReference, .page_count = 4}, request);
  const Answer fast = AnswerOf(folder_->path(), {.page_count = 4}, request);
  const BitComparison comparison = CompareAnswers(reference, fast);
  std::printf("real width BF16  reference %lld comparisons, %lld differences\n",
              static_cast<long long>(comparison.comparisons),
              static_cast<long long>(comparison.differences));
  EXPECT_GT(comparison.comparisons, 3 * 128256);
  EXPECT_EQ(comparison.differences, 0) << comparison.first_difference;
}

// The whole context at once, in chunks, and by chunks of another size: the last logits and all KV.
TEST_F(RealWidth, AContextOf4096IsTheSameInAnyChunks) {
  std::vector<int32_t> prompt;
  for (int32_t i = 0; i < 4093; ++i) prompt.push_back((i * 7919 + 3) % 128256);
  Request request = {.prompt = std::move(prompt),
                     .max_tokens = 3,
                     .sampling = {.temperature = 0},
                     .ignore_end = true,
                     .logprobs = true,
                     .top_logprobs = 1000,
                     .kv_digest = true};
  const Answer expected = AnswerOf(folder_->path(), {}, request);
  for (const EngineOptions& options :
       {EngineOptions{.threads = 1, .max_step_rows = 4096, .max_chunk_rows = 4096},
        EngineOptions{.threads = 3, .mmap = true, .max_chunk_rows = 300}}) {
    const BitComparison comparison =
        CompareAnswers(expected, AnswerOf(folder_->path(), options, request));
    EXPECT_GT(comparison.comparisons, 3000);
    EXPECT_EQ(comparison.differences, 0) << comparison.first_difference;
  }
}

}  // namespace
}  // namespace reenact::local_engine
