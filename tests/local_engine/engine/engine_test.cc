// What an engine promises beside its bits, on small random models.

#include "local_engine/engine.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/engine/answer_comparison.h"
#include "tests/local_engine/engine/small_model.h"
#include "tests/local_engine/engine/tested_backends.h"
#include "tests/support/temp_folder.h"

namespace reenact::local_engine {
namespace {

class EngineTest : public ::testing::TestWithParam<BackendKind> {
 protected:
  void SetUp() override { WriteSmallModel(folder_.path(), SmallShape(), "LlamaForCausalLM"); }

  std::unique_ptr<Engine> Load(EngineOptions options = {}) {
    options.backend = GetParam();
    absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Load(folder_.path(), options);
    EXPECT_TRUE(engine.ok()) << engine.status();
    return engine.ok() ? *std::move(engine) : nullptr;
  }

  static Answer Run(Engine* engine, const Request& request) {
    const absl::StatusOr<RequestId> id = engine->Submit(request);
    EXPECT_TRUE(id.ok()) << id.status();
    absl::StatusOr<Answer> answer = engine->RunToEnd(*id);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *std::move(answer) : Answer{};
  }

  static Request Seeded() {
    return {.prompt = {5, 6, 7, 8},
            .max_tokens = 12,
            .sampling = {.temperature = 1.5f},
            .biases = {{.token_id = 60, .bias = -1000}},
            .seed = 11,
            .ignore_end = true,
            .logprobs = true};
  }

  testing::TempFolder folder_;
};

TEST_P(EngineTest, ASeedThatIsMissingIsGeneratedAndRecorded) {
  const std::unique_ptr<Engine> engine = Load({.generate_seed = [] { return uint64_t{77}; }});
  Request request = Seeded();
  request.seed.reset();
  const Answer generated = Run(engine.get(), request);
  EXPECT_EQ(generated.seed, 77u);
  EXPECT_TRUE(generated.seed_generated);
  request.seed = generated.seed;
  const Answer again = Run(engine.get(), request);
  EXPECT_FALSE(again.seed_generated);
  EXPECT_EQ(CompareAnswers(generated, again).differences, 0);
  request.seed = 78;
  EXPECT_GT(CompareAnswers(generated, Run(engine.get(), request)).differences, 0);
}

TEST_P(EngineTest, MaxPositionsIsWhatTheLargestRequestMayHave) {
  const std::unique_ptr<Engine> engine = Load({.max_positions = 100, .page_count = 2});
  EXPECT_EQ(engine->max_positions(), 65);  // Two pages, and a last token that needs none.
  Request request{.prompt = {5}, .max_tokens = 65};
  EXPECT_TRUE(absl::IsInvalidArgument(engine->Submit(request).status()));
  request.max_tokens = 64;
  EXPECT_TRUE(engine->Submit(request).ok());
}

TEST_P(EngineTest, SeedsOfTheSystemDiffer) {
  const std::unique_ptr<Engine> engine = Load();
  Request request = Seeded();
  request.seed.reset();
  const uint64_t seed = Run(engine.get(), request).seed;
  EXPECT_NE(seed, Run(engine.get(), request).seed);
  EXPECT_LT(seed, uint64_t{1} << 53);
}

TEST_P(EngineTest, SamplesShareThePagesOfTheirPromptAndDiffer) {
  const std::unique_ptr<Engine> engine = Load();
  Request request = Seeded();
  request.prompt.assign(70, 9);
  request.sample_count = 3;
  const Answer answer = Run(engine.get(), request);
  ASSERT_EQ(answer.completions.size(), 3u);
  EXPECT_EQ(answer.completions[0].cached_positions, 0);
  EXPECT_EQ(answer.completions[1].cached_positions, 64);
  EXPECT_EQ(answer.completions[2].cached_positions, 64);
  EXPECT_NE(answer.completions[0].tokens, answer.completions[1].tokens);
  EXPECT_NE(answer.completions[1].tokens, answer.completions[2].tokens);
}

TEST_P(EngineTest, ForcedTokensGiveTheLogprobsOfTheSampledOnesAndGoOnAsTheyDid) {
  const std::unique_ptr<Engine> engine = Load();
  const Answer sampled = Run(engine.get(), Seeded());
  for (size_t count : {size_t{1}, size_t{5}, size_t{12}}) {
    Request forced = Seeded();
    const std::vector<int32_t>& tokens = sampled.completions[0].tokens;
    forced.forced_tokens.assign(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(count));
    const BitComparison comparison = CompareAnswers(sampled, Run(engine.get(), forced));
    EXPECT_EQ(comparison.differences, 0) << comparison.first_difference;
  }
}

TEST_P(EngineTest, ACancelledRequestEndsAndItsNeighbourIsUnharmed) {
  const std::unique_ptr<Engine> engine = Load();
  const Answer alone = Run(engine.get(), Seeded());
  Request doomed = Seeded();
  std::vector<FinishReason> ends;
  doomed.on_delta = [&](const Delta& delta) {
    if (delta.finish.has_value()) ends.push_back(*delta.finish);
  };
  const absl::StatusOr<RequestId> cancelled = engine->Submit(doomed);
  const absl::StatusOr<RequestId> kept = engine->Submit(Seeded());
  ASSERT_TRUE(cancelled.ok() && kept.ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(engine->Step().ok());
  EXPECT_FALSE(engine->IsFinished(*cancelled));
  EXPECT_TRUE(absl::IsFailedPrecondition(engine->Take(*cancelled).status()));
  ASSERT_TRUE(engine->Cancel(*cancelled).ok());
  const absl::StatusOr<Answer> answer = engine->Take(*cancelled);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->completions[0].finish, FinishReason::kCancelled);
  EXPECT_EQ(answer->completions[0].tokens.size(), 3u);
  EXPECT_EQ(ends, std::vector<FinishReason>{FinishReason::kCancelled});
  const absl::StatusOr<Answer> other = engine->RunToEnd(*kept);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(CompareAnswers(alone, *other).differences, 0);
  EXPECT_TRUE(absl::IsNotFound(engine->Cancel(*cancelled)));
}

TEST_P(EngineTest, LoadingReportsEveryByteOfTheWeights) {
  std::vector<std::pair<int64_t, int64_t>> reports;
  Load({.on_load_progress = [&](int64_t done, int64_t total) {
    reports.emplace_back(done, total);
  }});
  ASSERT_GT(reports.size(), 5u);
  for (size_t i = 1; i < reports.size(); ++i) {
    EXPECT_GT(reports[i].first, reports[i - 1].first);
    EXPECT_EQ(reports[i].second, reports[0].second);
  }
  EXPECT_EQ(reports.back().first, reports.back().second);
  // Two layers of four matrices 16 * 16 and three 16 * 24, about; embedding and head 61 * 16.
  EXPECT_GT(reports.back().second, 4 * 2 * (61 * 16 + 3 * 16 * 24));
}

TEST_P(EngineTest, ALongPrefillReportsItsChunksAndWhatTheCacheGave) {
  const std::unique_ptr<Engine> engine = Load({.max_chunk_rows = 30});
  std::vector<std::pair<int32_t, int32_t>> reports;
  Request request = Seeded();
  request.prompt.assign(70, 9);
  request.on_prefill_progress = [&](int32_t done, int32_t total) {
    reports.emplace_back(done, total);
  };
  Run(engine.get(), request);
  using Reports = std::vector<std::pair<int32_t, int32_t>>;
  EXPECT_EQ(reports, (Reports{{30, 70}, {60, 70}, {70, 70}}));
  reports.clear();
  Run(engine.get(), request);
  EXPECT_EQ(reports, (Reports{{70, 70}}));
  reports.clear();
  request.max_tokens = 0;
  request.prompt_logprobs = true;
  Run(engine.get(), request);
  EXPECT_EQ(reports, (Reports{{30, 69}, {60, 69}, {69, 69}}));
}

TEST_P(EngineTest, AStopTokenABiasAndTopKOfOne) {
  const std::unique_ptr<Engine> engine = Load();
  Request request = Seeded();
  request.sampling.temperature = 0;
  const Answer greedy = Run(engine.get(), request);
  request.sampling = {.temperature = 2, .top_k = 1};
  EXPECT_EQ(CompareAnswers(greedy, Run(engine.get(), request)).differences, 0);
  request.biases = {{.token_id = 30, .bias = 1000}};
  EXPECT_EQ(Run(engine.get(), request).completions[0].tokens, std::vector<int32_t>(12, 30));
  request.stop_tokens = {30};
  const Answer stopped = Run(engine.get(), request);
  EXPECT_EQ(stopped.completions[0].tokens, std::vector<int32_t>(1, 30));
  EXPECT_EQ(stopped.completions[0].finish, FinishReason::kStop);
}

TEST_P(EngineTest, LogprobsAreOrderedAndHoldTheirMass) {
  const std::unique_ptr<Engine> engine = Load();
  Request request = Seeded();
  request.top_logprobs = 61;
  const Answer answer = Run(engine.get(), request);
  ASSERT_EQ(answer.completions[0].scores.size(), 12u);
  for (const TokenScore& score : answer.completions[0].scores) {
    ASSERT_EQ(score.top.size(), 61u);
    double mass = 0;
    for (size_t i = 0; i < score.top.size(); ++i) {
      mass += std::exp(score.top[i].logprob);
      EXPECT_GE(score.top[i > 0 ? i - 1 : 0].logprob, score.top[i].logprob);
    }
    EXPECT_NEAR(mass, 1.0, 1e-5);
  }
}

TEST_P(EngineTest, TheFingerprintFollowsTheModelAndNotTheOptions) {
  const std::string one = Load()->identity().Fingerprint();
  EXPECT_EQ(one.substr(0, 3), "n1-");
  EXPECT_EQ(one.size(), 19u);
  EXPECT_EQ(Load({.max_positions = 64, .max_chunk_rows = 3, .prefix_cache = false})
                ->identity()
                .Fingerprint(),
            one);
  const RandomModelShape shape = SmallShape();
  std::vector<StoredTensor> tensors = RandomTensors(shape).All();
  tensors[3].data[0] = static_cast<char>(tensors[3].data[0] ^ 1);
  WriteFolder(folder_.path(), ConfigOf(shape, "LlamaForCausalLM", ""), tensors);
  EXPECT_NE(Load()->identity().Fingerprint(), one);
  WriteSmallModel(folder_.path(), shape, "LlamaForCausalLM", R"(,"rope_theta":500.0)");
  EXPECT_NE(Load()->identity().Fingerprint(), one);
}

// facts: a memory bug must not look like nondeterminism, nor reach a neighbour.
TEST_P(EngineTest, AValueThatIsNotFiniteEndsItsOwnSampleWithItsName) {
  const RandomModelShape shape = SmallShape();
  std::vector<StoredTensor> tensors = RandomTensors(shape).All();
  const float infinity = std::numeric_limits<float>::infinity();
  for (size_t k = 0; k < shape.hidden_dim; ++k) {  // The embedding of token 60.
    tensors[0].data.replace((60 * shape.hidden_dim + k) * sizeof(float), sizeof(float),
                            reinterpret_cast<const char*>(&infinity), sizeof(float));
  }
  WriteFolder(folder_.path(), ConfigOf(shape, "LlamaForCausalLM", ""), tensors);
  const std::unique_ptr<Engine> engine = Load({.poison_pages = true});
  const Answer alone = Run(engine.get(), Seeded());
  Request bad = Seeded();
  bad.prompt.push_back(60);
  const absl::StatusOr<RequestId> bad_id = engine->Submit(bad);
  const absl::StatusOr<RequestId> good_id = engine->Submit(Seeded());
  ASSERT_TRUE(bad_id.ok() && good_id.ok());
  const absl::StatusOr<Answer> failed = engine->RunToEnd(*bad_id);
  ASSERT_TRUE(failed.ok());
  EXPECT_EQ(failed->completions[0].finish, FinishReason::kError);
  EXPECT_EQ(failed->completions[0].status.code(), absl::StatusCode::kInternal);
  EXPECT_NE(failed->completions[0].status.message().find("layer 0"), std::string::npos)
      << failed->completions[0].status;
  EXPECT_EQ(CompareAnswers(alone, *engine->RunToEnd(*good_id)).differences, 0);
}

TEST_P(EngineTest, ARequestOutOfItsRangeIsRefusedByName) {
  const std::unique_ptr<Engine> engine = Load({.max_positions = 64});
  const auto expect_refused = [&](const std::string& what, const auto& change) {
    Request request = Seeded();
    change(&request);
    const absl::Status status = engine->Submit(request).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << what;
    EXPECT_NE(status.message().find(what), std::string::npos) << status;
  };
  expect_refused("no token", [](Request* r) { r->prompt.clear(); });
  expect_refused("prompt token 61", [](Request* r) { r->prompt = {61}; });
  expect_refused("prompt token -1", [](Request* r) { r->prompt = {-1}; });
  expect_refused("64 positions", [](Request* r) { r->max_tokens = 61; });
  expect_refused("forced tokens", [](Request* r) { r->forced_tokens.assign(13, 1); });
  expect_refused("temperature", [](Request* r) { r->sampling.temperature = -1; });
  expect_refused("temperature", [](Request* r) { r->sampling.temperature = std::nanf(""); });
  expect_refused("top_p", [](Request* r) { r->sampling.top_p = 1.5f; });
  expect_refused("top_k", [](Request* r) { r->sampling.top_k = -1; });
  expect_refused("biased twice", [](Request* r) { r->biases = {{1, 1}, {1, 2}}; });
  expect_refused("stop text", [](Request* r) { r->stop_texts = {""}; });
  expect_refused("samples", [](Request* r) { r->sample_count = 0; });
  expect_refused("top_logprobs", [](Request* r) { r->top_logprobs = 62; });
}

TEST_P(EngineTest, WithoutATokenizerThereAreTokensOnly) {
  const std::unique_ptr<Engine> engine = Load();
  EXPECT_TRUE(absl::IsFailedPrecondition(engine->EncodeText("hello").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(engine->EncodeChat({}).status()));
  EXPECT_EQ(Run(engine.get(), Seeded()).completions[0].text, "");
}

TEST_P(EngineTest, APromptOfOneTokenMayBeScoredAlone) {
  const std::unique_ptr<Engine> engine = Load();
  const Answer answer =
      Run(engine.get(), {.prompt = {5}, .max_tokens = 0, .prompt_logprobs = true});
  EXPECT_TRUE(answer.prompt_scores.empty());
  EXPECT_EQ(answer.completions[0].finish, FinishReason::kLength);
}

INSTANTIATE_TEST_SUITE_P(Backends, EngineTest, ::testing::ValuesIn(kTestedBackends), BackendName);

}  // namespace
}  // namespace reenact::local_engine
