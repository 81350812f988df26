// A real, trained model: stories260K, as a Hugging Face folder and as GGUF.

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/model/load_model.h"
#include "local_engine/numerics/sha256.h"
#include "local_engine/reference/forward.h"
#include "local_engine/reference/sampler.h"
#include "nlohmann/json.hpp"
#include "tests/local_engine/reference/forward_checks.h"
#include "tests/local_engine/reference/golden_stories.h"
#include "tests/local_engine/weights/weight_files.h"

namespace reenact::local_engine {
namespace {

constexpr int32_t kBegin = 1;
constexpr int32_t kMostTokens = 257;  // After the one that begins the text.

// The pieces of tokenizer.json, joined; the mark of a space becomes one.
std::string Decode(const std::vector<int32_t>& tokens, const std::string& tokenizer_path) {
  const nlohmann::json tokenizer = nlohmann::json::parse(ReadBytes(tokenizer_path), nullptr, false);
  std::vector<std::string> pieces(512);
  for (const auto& [piece, id] : tokenizer["model"]["vocab"].items()) {
    pieces[id.get<size_t>()] = piece;
  }
  std::string text;
  for (int32_t token : tokens) {
    const std::string& piece = pieces[static_cast<size_t>(token)];
    if (piece.size() == 6 && piece.starts_with("<0x")) {
      text += static_cast<char>(std::stoi(piece.substr(3, 2), nullptr, 16));
    } else {
      text += piece;
    }
  }
  const std::string mark = "\u2581";
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
    text.replace(at, mark.size(), " ");
  }
  return text.starts_with(" ") ? text.substr(1) : text;
}

struct GreedyRun {
  std::vector<int32_t> tokens;  // Without the first.
  std::string logits_hash;
  std::string cache_hash;
};

GreedyRun RunGreedily(const Model& model) {
  const ReferenceModel reference(model, kMostTokens);
  ReferenceCache cache;
  GreedyRun run;
  Sha256 hash;
  for (int32_t token = kBegin; cache.length < kMostTokens;) {
    const absl::StatusOr<std::vector<float>> logits = reference.Forward(token, &cache);
    EXPECT_TRUE(logits.ok()) << logits.status();
    if (!logits.ok()) break;
    hash.UpdateValues(std::span<const float>(*logits));
    token = ArgMax(*logits);
    if (token == kBegin || token == model.config.end_token_ids.at(0)) break;
    run.tokens.push_back(token);
  }
  run.logits_hash = HexText(hash.Finish());
  run.cache_hash = HexText(cache.Digest());
  return run;
}

class Stories : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kFolder + "/model.safetensors")) {
      GTEST_SKIP() << "the model stories260k is not beside this checkout";
    }
  }

  static std::unique_ptr<const Model> Load(const std::string& name) {
    absl::StatusOr<std::unique_ptr<const Model>> model = LoadModel(kFolder + name);
    EXPECT_TRUE(model.ok()) << model.status();
    return model.ok() ? *std::move(model) : nullptr;
  }

  inline static const std::string kFolder = STORIES_FOLDER;
};

TEST_F(Stories, GreedyTextIsThatOfTwoOtherEngines) {
  const std::unique_ptr<const Model> model = Load("");
  ASSERT_NE(model, nullptr);
  const GreedyRun run = RunGreedily(*model);
  EXPECT_EQ(Decode(run.tokens, kFolder + "/tokenizer.json") + "\n",
            ReadBytes(kFolder + "/expected-greedy-empty-prompt.txt"));
  EXPECT_EQ(run.logits_hash, kGoldenStoriesLogits);
  EXPECT_EQ(run.cache_hash, kGoldenStoriesCache);
}

TEST_F(Stories, GgufGivesTheBitsOfTheHuggingFaceFolder) {
  const std::unique_ptr<const Model> model = Load("/model-f32.gguf");
  ASSERT_NE(model, nullptr);
  const GreedyRun run = RunGreedily(*model);
  EXPECT_EQ(run.logits_hash, kGoldenStoriesLogits);
  EXPECT_EQ(run.cache_hash, kGoldenStoriesCache);
}

// The same sequence for both files, of the model's own words: the binary64 of the folder decides.
TEST_F(Stories, LogitsOfFolderAndGgufAreWithinOneTenThousandthOfBinary64) {
  const std::unique_ptr<const Model> folder = Load("");
  ASSERT_NE(folder, nullptr);
  const std::vector<int32_t> tokens = RunGreedily(*folder).tokens;
  ASSERT_GT(tokens.size(), 200u);
  for (const char* name : {"", "/model-f32.gguf"}) {
    const std::unique_ptr<const Model> tested = Load(name);
    ASSERT_NE(tested, nullptr);
    const double worst = WorstDifference(*tested, *folder, tokens);
    EXPECT_LT(worst, 1e-4) << name;
    EXPECT_GT(worst, 1e-7) << name << ": the comparison compares nothing";
  }
}

TEST_F(Stories, QuantisedWeightsStillTellAStory) {
  const std::unique_ptr<const Model> model = Load("/model-q8_0.gguf");
  ASSERT_NE(model, nullptr);
  const GreedyRun run = RunGreedily(*model);
  const std::string text = Decode(run.tokens, kFolder + "/tokenizer.json");
  EXPECT_TRUE(text.starts_with("Once upon a time, there was a little")) << text;
  EXPECT_EQ(run.logits_hash, kGoldenQuantisedStoriesLogits);
}

}  // namespace
}  // namespace reenact::local_engine
