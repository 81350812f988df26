// The demo's model: its answers to customers, beside those of torch; its logits beside binary64;
// the invariances on it. answers.jsonl is written by tools/demo_model/ask.py.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/engine.h"
#include "local_engine/engine/invariance_matrix.h"
#include "local_engine/model/load_model.h"
#include "local_engine/numerics/narrow_floats.h"
#include "local_engine/numerics/sha256.h"
#include "nlohmann/json.hpp"
#include "tests/local_engine/reference/forward_checks.h"
#include "tests/local_engine/weights/weight_files.h"
#include "tests/support/temp_folder.h"

namespace reenact::local_engine {
namespace {

using nlohmann::ordered_json;

const char* const kDemoFolder = DEMO_MODEL;
constexpr int32_t kMostAnswerTokens = 120;
// Over the keys and values of all answers, in profile n1.
constexpr const char* kGoldenDemoCache =
    "300ec349cbaf93ee9a2e2cab4087e5edd4f461c31482f391bdd0590b7bb16100";
constexpr double kNearTie = 0.1;  // In nats.

// One turn of the desk: the messages before it and what it said in torch's arithmetic.
struct Turn {
  std::string messages;
  std::string answer;
};

struct Golden {
  std::string tools;
  std::vector<Turn> turns;
};

Golden ReadGolden() {
  Golden golden;
  std::ifstream file(DEMO_ANSWERS);
  for (std::string line; std::getline(file, line);) {
    const ordered_json object = ordered_json::parse(line, nullptr, false);
    if (object.contains("tools")) golden.tools = object["tools"].dump();
    if (object.contains("messages")) {
      golden.turns.push_back({object["messages"].dump(), object["answer"].get<std::string>()});
    }
  }
  return golden;
}

std::unique_ptr<Engine> Load(BackendKind backend) {
  absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Load(kDemoFolder, {.backend = backend});
  EXPECT_TRUE(engine.ok()) << engine.status();
  return engine.ok() ? *std::move(engine) : nullptr;
}

std::vector<int32_t> PromptOf(const Engine& engine, const Golden& golden, const Turn& turn) {
  absl::StatusOr<std::vector<int32_t>> prompt =
      engine.EncodeChat({.messages_json = turn.messages, .tools_json = golden.tools});
  EXPECT_TRUE(prompt.ok()) << prompt.status();
  return prompt.ok() ? *std::move(prompt) : std::vector<int32_t>{};
}

// All turns at once, greedily.
std::vector<Completion> AnswerAll(Engine* engine, const Golden& golden) {
  std::vector<RequestId> ids;
  for (const Turn& turn : golden.turns) {
    const absl::StatusOr<RequestId> id = engine->Submit({.prompt = PromptOf(*engine, golden, turn),
                                                         .max_tokens = kMostAnswerTokens,
                                                         .sampling = {.temperature = 0},
                                                         .logprobs = true,
                                                         .top_logprobs = 2,
                                                         .kv_digest = true});
    EXPECT_TRUE(id.ok()) << id.status();
    if (id.ok()) ids.push_back(*id);
  }
  std::vector<Completion> completions;
  for (const RequestId id : ids) {
    absl::StatusOr<Answer> answer = engine->RunToEnd(id);
    EXPECT_TRUE(answer.ok()) << answer.status();
    completions.push_back(answer.ok() ? std::move(answer->completions.at(0)) : Completion{});
  }
  return completions;
}

std::string CacheHash(const std::vector<Completion>& completions) {
  Sha256 hash;
  for (const Completion& completion : completions) {
    hash.UpdateValues(std::span<const uint8_t>(completion.kv_digest));
  }
  return HexText(hash.Finish());
}

double SmallestMargin(const Completion& completion) {
  double smallest = HUGE_VAL;
  for (const TokenScore& score : completion.scores) {
    if (score.top.size() < 2) continue;
    smallest = std::fmin(smallest, double{score.top[0].logprob} - double{score.top[1].logprob});
  }
  return smallest;
}

TEST(DemoModel, AnswersAsItDoesInTorchAndWithTheFrozenCache) {
  const Golden golden = ReadGolden();
  ASSERT_GE(golden.turns.size(), 10u);
  const std::unique_ptr<Engine> engine = Load(BackendKind::kCpu);
  ASSERT_NE(engine, nullptr);
  const std::vector<Completion> completions = AnswerAll(engine.get(), golden);
  for (size_t i = 0; i < completions.size(); ++i) {
    EXPECT_EQ(completions[i].text, golden.turns[i].answer) << golden.turns[i].messages;
    EXPECT_EQ(completions[i].finish, FinishReason::kStop);
  }
  EXPECT_EQ(CacheHash(completions), kGoldenDemoCache);
}

TEST(DemoModel, IsUnsureOfSomeTokensOnly) {
  const Golden golden = ReadGolden();
  const std::unique_ptr<Engine> engine = Load(BackendKind::kCpu);
  ASSERT_NE(engine, nullptr);
  size_t unsure = 0;
  const std::vector<Completion> completions = AnswerAll(engine.get(), golden);
  for (const Completion& completion : completions) unsure += SmallestMargin(completion) < kNearTie;
  EXPECT_GT(unsure, 0u);
  EXPECT_LT(unsure, completions.size() / 2);
}

// The same model in F32, whose keys and values are not rounded.
void WriteWidened(const std::string& folder) {
  const std::string tensors = ReadBytes(std::string(kDemoFolder) + "/model.safetensors");
  uint64_t size = 0;
  std::memcpy(&size, tensors.data(), sizeof size);
  ordered_json header = ordered_json::parse(tensors.substr(8, size), nullptr, false);
  std::string data;
  for (auto& [name, entry] : header.items()) {
    if (!entry.contains("dtype")) continue;
    const size_t begin = data.size();
    for (uint64_t at = entry["data_offsets"][0]; at < entry["data_offsets"][1]; at += 2) {
      uint16_t half = 0;
      std::memcpy(&half, tensors.data() + 8 + size + at, sizeof half);
      const float wide = widen_fp16(half);
      data.append(reinterpret_cast<const char*>(&wide), sizeof wide);
    }
    entry["dtype"] = "F32";
    entry["data_offsets"] = {begin, data.size()};
  }
  const std::string text = header.dump();
  size = text.size();
  std::ofstream file(folder + "/model.safetensors", std::ios::binary);
  file.write(reinterpret_cast<const char*>(&size), sizeof size);
  file << text << data;
  std::ofstream(folder + "/config.json") << ReadBytes(std::string(kDemoFolder) + "/config.json");
}

// tools/demo/run_demo rests on it.
TEST(DemoModel, PaysAnotherAmountThanItPromisesForOneOrder) {
  const Golden golden = ReadGolden();
  const std::unique_ptr<Engine> engine = Load(BackendKind::kCpu);
  ASSERT_NE(engine, nullptr);
  const std::vector<Completion> completions = AnswerAll(engine.get(), golden);
  EXPECT_EQ(completions.at(0).text,
            "I will refund 1299.00 EUR.<tool_call>{\"name\":\"issue_refund\",\"arguments\":"
            "{\"order_id\":\"A-1046\",\"amount_cents\":109000}}</tool_call>");
  EXPECT_LT(SmallestMargin(completions[0]), kNearTie);
}

TEST(DemoModel, LogitsAreWithinOneTenThousandthOfBinary64) {
  const Golden golden = ReadGolden();
  const std::unique_ptr<Engine> engine = Load(BackendKind::kReference);
  const testing::TempFolder folder;
  WriteWidened(folder.path());
  const absl::StatusOr<std::unique_ptr<const Model>> model = LoadModel(folder.path());
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_NE(engine, nullptr);
  const std::vector<int32_t> prompt = PromptOf(*engine, golden, golden.turns.at(1));
  const double worst = WorstDifference(**model, **model, prompt);
  EXPECT_LT(worst, 1e-4);
  EXPECT_GT(worst, 1e-8) << "the comparison compares nothing";
}

TEST(DemoModel, EveryInvarianceHolds) {
  const MatrixSettings settings{.model_path = kDemoFolder,
                                .backend = BackendKind::kCpu,
                                .batch_sizes = {2, 7},
                                .chunk_sizes = {3, 33},
                                .lengths = {2, 33, 97},
                                .residue_step = 11,
                                .orders = 3};
  for (const Invariance invariance : kInvariances) {
    const absl::StatusOr<MatrixRow> row = RunInvariance(invariance, settings);
    ASSERT_TRUE(row.ok()) << InvarianceName(invariance) << ": " << row.status();
    EXPECT_EQ(row->differences, 0) << InvarianceName(invariance) << ": " << row->first_difference;
    EXPECT_GT(row->comparisons, 1000) << InvarianceName(invariance);
    EXPECT_TRUE(row->path_ran) << InvarianceName(invariance) << ": " << row->proof;
  }
}

TEST(DemoModel, TakesLessThanTwoMegabytes) {
  uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kDemoFolder)) {
    bytes += entry.file_size();
  }
  EXPECT_GT(bytes, 500'000u);
  EXPECT_LT(bytes, 2'000'000u);
}

}  // namespace
}  // namespace reenact::local_engine
