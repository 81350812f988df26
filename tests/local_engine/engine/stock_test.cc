// Profile "stock" beside "n1" under a load that changes: many identical requests among others. n1,
// greedy or with a seed, gives one text and one series of bits; stock gives several, and each of
// them comes back exactly from its recorded schedule. REENACT_LONG: 1,000 requests in place of 60.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/engine.h"
#include "local_engine/engine/answer_comparison.h"
#include "local_engine/engine/identical_requests.h"
#include "tests/local_engine/engine/small_model.h"
#include "tests/support/temp_folder.h"

namespace reenact::local_engine {
namespace {

int RequestCount() {
  return std::getenv("REENACT_LONG") != nullptr ? 1000 : 60;
}

// Tokens that are not all alike: of equal keys and values, every split is the same.
std::vector<int32_t> Text(int32_t length) {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < length; ++i) tokens.push_back(5 + i * 7 % 53);
  return tokens;
}

std::unique_ptr<Engine> Load(const std::string& path, EngineOptions options) {
  absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Load(path, options);
  EXPECT_TRUE(engine.ok()) << engine.status();
  return engine.ok() ? *std::move(engine) : nullptr;
}

Answer RunAlone(Engine* engine, const Request& request) {
  const absl::StatusOr<RequestId> id = engine->Submit(request);
  EXPECT_TRUE(id.ok()) << id.status();
  if (!id.ok()) return {};
  absl::StatusOr<Answer> answer = engine->RunToEnd(*id);
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer.ok() ? *std::move(answer) : Answer{};
}

// The answers under a load that changes, beside strangers with prompts of their own.
std::vector<Answer> RunUnderLoad(Engine* engine, const Request& request, int count) {
  IdenticalRequests identical = {.request = request, .count = count};
  std::minstd_rand random(20261130);
  for (int i = 0; i < 20; ++i) {
    Request other = request;
    other.schedule.clear();
    other.prompt.assign(1 + random() % 40, 5 + static_cast<int32_t>(random() % 50));
    other.max_tokens = 1 + static_cast<int32_t>(random() % 30);
    identical.others.push_back(std::move(other));
  }
  absl::StatusOr<std::vector<Answer>> answers = AnswerUnderLoad(identical, engine);
  EXPECT_TRUE(answers.ok()) << answers.status();
  return answers.ok() ? *std::move(answers) : std::vector<Answer>{};
}

void Report(const char* model, const Engine& engine, size_t count, const AnswerVariants& variants) {
  const EngineCounters& counters = engine.counters();
  std::printf(
      "%s, %s: %zu requests, %zu texts, %zu series of bits, first divergence at token %d "
      "(%lld co-resident at most, %lld pages from the cache, %lld preemptions)\n",
      model, engine.identity().profile.c_str(), count, variants.texts, variants.logprob_patterns,
      variants.first_divergence, static_cast<long long>(counters.most_co_resident),
      static_cast<long long>(counters.cache_hit_pages),
      static_cast<long long>(counters.preemptions));
}

void ExpectReplays(const std::string& path, const Request& request,
                   const std::vector<Answer>& answers) {
  const std::unique_ptr<Engine> engine = Load(path, {.profile = Profile::kStock});
  ASSERT_NE(engine, nullptr);
  const absl::StatusOr<BitComparison> comparison = ReplaySchedules(request, answers, engine.get());
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  EXPECT_EQ(comparison->differences, 0) << comparison->first_difference;
  EXPECT_GT(comparison->comparisons, static_cast<int64_t>(100 * answers.size()));
}

void ExpectOneAnswerOfN1(const char* name, Engine* engine, const Request& request) {
  const std::vector<Answer> answers = RunUnderLoad(engine, request, RequestCount());
  const AnswerVariants one = VariantsOf(answers);
  Report(name, *engine, answers.size(), one);
  EXPECT_EQ(one.texts, 1u);
  EXPECT_EQ(one.largest_group, static_cast<size_t>(RequestCount()));
  EXPECT_EQ(one.logprob_patterns, 1u);
  EXPECT_GT(engine->counters().most_co_resident, 8);
}

void ExpectOneAnswerOfN1AndReplaysOfStock(const char* name, const std::string& path,
                                          const Request& request) {
  // Few pages: the crowd is preempted now and then.
  const int32_t page_count = 12 * (request.max_tokens / 32 + 2);
  const std::unique_ptr<Engine> n1 = Load(path, {.page_count = page_count});
  ASSERT_NE(n1, nullptr);
  ExpectOneAnswerOfN1(name, n1.get(), request);
  Request seeded = request;
  seeded.sampling.temperature = 0.8f;
  ExpectOneAnswerOfN1(name, n1.get(), seeded);

  const std::unique_ptr<Engine> stock =
      Load(path, {.profile = Profile::kStock, .page_count = page_count});
  ASSERT_NE(stock, nullptr);
  EXPECT_EQ(stock->identity().Fingerprint().rfind("stock-", 0), 0u);
  EXPECT_NE(stock->identity().Fingerprint().substr(6), n1->identity().Fingerprint().substr(3));
  const std::vector<Answer> unequal = RunUnderLoad(stock.get(), request, RequestCount());
  const AnswerVariants several = VariantsOf(unequal);
  Report(name, *stock, unequal.size(), several);
  EXPECT_GT(several.texts, 1u);
  EXPECT_GT(several.logprob_patterns, several.texts);
  EXPECT_GE(several.first_divergence, 0);
  ExpectReplays(path, request, unequal);
}

Request Greedy(std::vector<int32_t> prompt, int32_t max_tokens) {
  return {.prompt = std::move(prompt),
          .max_tokens = max_tokens,
          .sampling = {.temperature = 0},
          .seed = 1,
          .ignore_end = true,
          .logprobs = true,
          .kv_digest = true};
}

TEST(Stock, IdenticalRequestsToARandomModelDifferUnderLoadAndEachIsReplayed) {
  const testing::TempFolder folder;
  RandomModelShape shape = SmallShape();
  shape.hidden_dim = 64;
  shape.vocabulary_size = 2000;  // Many neighbours of the best token.
  WriteSmallModel(folder.path(), shape, "LlamaForCausalLM");
  ExpectOneAnswerOfN1AndReplaysOfStock("random", folder.path(), Greedy(Text(37), 100));
}

TEST(Stock, IdenticalRequestsToATrainedModelDifferUnderLoadAndEachIsReplayed) {
  const std::string folder = STORIES_FOLDER;
  if (!std::filesystem::exists(folder + "/model.safetensors")) {
    GTEST_SKIP() << "the model stories260k is not beside this checkout";
  }
  const std::unique_ptr<Engine> engine = Load(folder, {});
  ASSERT_NE(engine, nullptr);
  const auto prompt = engine->EncodeText("A bird");
  ASSERT_TRUE(prompt.ok()) << prompt.status();
  ExpectOneAnswerOfN1AndReplaysOfStock("stories260k", folder, Greedy(*prompt, 80));
}

class SmallStock : public ::testing::Test {
 protected:
  void SetUp() override { WriteSmallModel(folder_.path(), SmallShape(), "LlamaForCausalLM"); }

  testing::TempFolder folder_;
};

TEST_F(SmallStock, AScheduleIsRefusedWhereItMeansNothing) {
  const std::unique_ptr<Engine> n1 = Load(folder_.path(), {});
  Request request = Greedy({5, 6, 7}, 2);
  request.schedule = {{0, 3, {.step_rows = 3}}};
  EXPECT_TRUE(absl::IsInvalidArgument(n1->Submit(request).status()));
  const std::unique_ptr<Engine> stock = Load(folder_.path(), {.profile = Profile::kStock});
  request.sample_count = 2;
  EXPECT_TRUE(absl::IsInvalidArgument(stock->Submit(request).status()));
  request.sample_count = 1;
  request.schedule = {{1, 2, {.step_rows = 3}}};
  EXPECT_TRUE(absl::IsInvalidArgument(stock->Submit(request).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      Engine::Load(folder_.path(), {.profile = Profile::kStock, .backend = BackendKind::kReference})
          .status()));
  EXPECT_TRUE(RunAlone(n1.get(), Greedy({5}, 3)).completions[0].schedule.empty());
}

TEST_F(SmallStock, AScheduleThatEndsTooEarlyEndsItsSampleAndSaysWhere) {
  const std::unique_ptr<Engine> stock = Load(folder_.path(), {.profile = Profile::kStock});
  Request request = Greedy({5, 6, 7}, 6);
  request.schedule = {{0, 3, {.step_rows = 3}}, {3, 1, {.step_rows = 1}}};
  const Answer answer = RunAlone(stock.get(), request);
  EXPECT_EQ(answer.completions[0].finish, FinishReason::kError);
  EXPECT_EQ(answer.completions[0].status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(std::string(answer.completions[0].status.message()).find("position 4"),
            std::string::npos);
  EXPECT_EQ(answer.completions[0].tokens.size(), 2u);
}

// Another setting is another sum: without this, equal bits of a replay would prove nothing.
TEST(Stock, EachSettingHasASayInTheBits) {
  const testing::TempFolder folder;
  RandomModelShape shape = SmallShape();
  shape.hidden_dim = 512;  // The squares of fewer bf16 values often have an exact sum.
  WriteSmallModel(folder.path(), shape, "LlamaForCausalLM");
  const std::unique_ptr<Engine> stock = Load(folder.path(), {.profile = Profile::kStock});
  // Long: rounding to bf16 hides most of what another order of a norm does.
  Request request = Greedy(Text(400), 8);
  const StockSettings plain = {.step_rows = 1, .norm_block = 256};
  const auto answer_with = [&](const StockSettings& settings) {
    request.schedule = {{0, 407, settings}};
    return RunAlone(stock.get(), request);
  };
  const Answer expected = answer_with(plain);
  EXPECT_EQ(CompareAnswers(expected, answer_with(plain)).differences, 0);

  struct Change {
    const char* name;
    int32_t StockSettings::*member;
    int32_t value;
  };

  for (const auto& [name, member, value] :
       {Change{"split_k", &StockSettings::split_k, 4},
        Change{"norm_block", &StockSettings::norm_block, 1},
        Change{"kv_splits", &StockSettings::kv_splits, 4},
        Change{"cached_keys", &StockSettings::cached_keys, 32}}) {
    StockSettings changed = plain;
    changed.*member = value;
    EXPECT_GT(CompareAnswers(expected, answer_with(changed)).differences, 0) << name;
  }
}

TEST_F(SmallStock, TheBitsOfAScheduleObeyNoThreadsNoInstructionSetAndNoCompany) {
  Request request = Greedy(Text(50), 8);
  request.schedule = {{0, 40, {40, 1, 32, 1, 0}},
                      {40, 10, {10, 1, 256, 2, 0}},
                      {50, 4, {1, 4, 256, 4, 32}},
                      {0, 57, {20, 2, 32, 1, 32}}};
  const std::unique_ptr<Engine> first = Load(folder_.path(), {.profile = Profile::kStock});
  const Answer expected = RunAlone(first.get(), request);
  ASSERT_TRUE(expected.completions[0].status.ok()) << expected.completions[0].status;
  const std::unique_ptr<Engine> other =
      Load(folder_.path(),
           {.profile = Profile::kStock, .threads = 2, .isa = "plain", .max_chunk_rows = 7});
  EXPECT_EQ(CompareAnswers(expected, RunAlone(other.get(), request)).differences, 0);
  const std::vector<Answer> crowd = RunUnderLoad(first.get(), request, 80);
  for (const Answer& answer : crowd) EXPECT_EQ(CompareAnswers(expected, answer).differences, 0);
}

TEST(StockSchedule, JsonThatIsNoScheduleIsRefused) {
  for (const char* json :
       {"", "{}", "[1]", "[[0,1,1,1,1,1]]", "[[0,0,1,1,1,1,0]]", "[[0,1,1,0,1,1,0]]",
        "[[0,1,1,1,3,1,0]]", "[[0,1,1,1,1,1,-1]]", "[[0,1,1,1,1,1,1.5]]", "[[1,1,1,1,1,1,0]]",
        "[[0,1,1,1,1,1,0],[2,1,1,1,1,1,0]]", "[[0,2147483648,1,1,1,1,0]]"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(StockScheduleFromJson(json).status())) << json;
  }
  EXPECT_TRUE(StockScheduleFromJson("[[0,1,1,1,1,1,0],[1,1,1,1,1,1,0],[0,2,1,1,1,1,0]]").ok());
}

}  // namespace
}  // namespace reenact::local_engine
