// The engine on a real, trained model: text, streams, stops, and the golden hash of the reference.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/engine.h"
#include "tests/local_engine/engine/tested_backends.h"
#include "tests/local_engine/reference/golden_stories.h"
#include "tests/local_engine/weights/weight_files.h"

namespace reenact::local_engine {
namespace {

bool IsWholeUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const size_t size = byte < 0x80 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    if ((byte & 0xc0) == 0x80 || at + size > text.size()) return false;
    for (size_t i = 1; i < size; ++i) {
      if ((static_cast<unsigned char>(text[at + i]) & 0xc0) != 0x80) return false;
    }
    at += size;
  }
  return true;
}

class EngineStories : public ::testing::TestWithParam<BackendKind> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kFolder + "/model.safetensors")) {
      GTEST_SKIP() << "the model stories260k is not beside this checkout";
    }
  }

  static std::unique_ptr<Engine> Load(const std::string& name) {
    absl::StatusOr<std::unique_ptr<Engine>> engine =
        Engine::Load(kFolder + name, {.backend = GetParam()});
    EXPECT_TRUE(engine.ok()) << engine.status();
    return engine.ok() ? *std::move(engine) : nullptr;
  }

  static Answer Run(Engine* engine, Request request, const std::string& prompt) {
    const absl::StatusOr<std::vector<int32_t>> tokens = engine->EncodeText(prompt);
    EXPECT_TRUE(tokens.ok()) << tokens.status();
    request.prompt = *tokens;
    const absl::StatusOr<RequestId> id = engine->Submit(std::move(request));
    EXPECT_TRUE(id.ok()) << id.status();
    absl::StatusOr<Answer> answer = engine->RunToEnd(*id);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *std::move(answer) : Answer{};
  }

  inline static const std::string kFolder = STORIES_FOLDER;
};

TEST_P(EngineStories, GreedyTextAndCacheAreThoseOfTheReferenceFromEitherFile) {
  for (const char* name : {"", "/model-f32.gguf"}) {
    const std::unique_ptr<Engine> engine = Load(name);
    ASSERT_NE(engine, nullptr);
    std::string streamed;
    const Answer answer = Run(engine.get(),
                              {.max_tokens = 257,
                               .sampling = {.temperature = 0},
                               .stop_tokens = {1},
                               .kv_digest = true,
                               .on_delta = [&](const Delta& delta) { streamed += delta.text; }},
                              "");
    const Completion& completion = answer.completions[0];
    EXPECT_EQ(completion.text + "\n", ReadBytes(kFolder + "/expected-greedy-empty-prompt.txt"))
        << name;
    EXPECT_EQ(streamed, completion.text);
    EXPECT_EQ(HexText(completion.kv_digest), kGoldenStoriesCache) << name;
  }
}

TEST_P(EngineStories, AStopTextEndsTheTextBeforeItAcrossTokens) {
  const std::unique_ptr<Engine> engine = Load("");
  ASSERT_NE(engine, nullptr);
  std::string streamed;
  const Answer answer = Run(engine.get(),
                            {.max_tokens = 60,
                             .sampling = {.temperature = 0},
                             .stop_texts = {"Lily never", "named Lily. She"},
                             .on_delta = [&](const Delta& delta) { streamed += delta.text; }},
                            "Once upon a time");
  EXPECT_EQ(answer.completions[0].text, ", there was a little girl ");
  EXPECT_EQ(answer.completions[0].stop_text, "named Lily. She");
  EXPECT_EQ(answer.completions[0].finish, FinishReason::kStop);
  EXPECT_EQ(streamed, answer.completions[0].text);
}

TEST_P(EngineStories, AStreamNeverSplitsACharacter) {
  const std::unique_ptr<Engine> engine = Load("");
  ASSERT_NE(engine, nullptr);
  std::string streamed;
  size_t wide = 0;
  // Bytes that begin and continue characters are made likely: tokens 3 + byte.
  Request request{.max_tokens = 200,
                  .sampling = {.temperature = 3},
                  .seed = 5,
                  .ignore_end = true,
                  .on_delta = [&](const Delta& delta) {
                    EXPECT_TRUE(IsWholeUtf8(delta.text)) << delta.text;
                    streamed += delta.text;
                  }};
  for (int32_t byte : {0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0x98, 0x80}) {
    request.biases.push_back({.token_id = 3 + byte, .bias = 30});
  }
  const Answer answer = Run(engine.get(), request, "Once");
  for (char c : answer.completions[0].text) wide += (c & 0x80) != 0 ? 1 : 0;
  EXPECT_EQ(streamed, answer.completions[0].text);
  EXPECT_GT(wide, 20u);
}

TEST_P(EngineStories, TheModelHasATokenizerAndNoTemplate) {
  const std::unique_ptr<Engine> engine = Load("");
  ASSERT_NE(engine, nullptr);
  EXPECT_NE(engine->identity().tokenizer, Sha256Digest{});
  EXPECT_EQ(engine->identity().chat_template, Sha256Digest{});
  EXPECT_TRUE(absl::IsFailedPrecondition(engine->EncodeChat({}).status()));
  EXPECT_EQ(engine->PieceOf(1), "<s>");
}

INSTANTIATE_TEST_SUITE_P(Backends, EngineStories, ::testing::ValuesIn(kTestedBackends),
                         BackendName);

}  // namespace
}  // namespace reenact::local_engine
