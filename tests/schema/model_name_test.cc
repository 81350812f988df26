#include "schema/model_name.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace reenact::schema {
namespace {

struct NameRow {
  const char* provider;
  const char* model;
  Pinning pinning;
};

constexpr Pinning kPinned = Pinning::kPinned;
constexpr Pinning kFloating = Pinning::kFloating;
constexpr Pinning kUndetermined = Pinning::kUndetermined;

std::ostream& operator<<(std::ostream& out, const NameRow& row) {
  return out << row.provider << " " << row.model;
}

class ModelNames : public testing::TestWithParam<NameRow> {};

TEST_P(ModelNames, AreClassifiedAsTheProviderDocuments) {
  const ModelNameClass result = ClassifyModelName(GetParam().provider, GetParam().model);
  EXPECT_EQ(ToString(result.pinning), ToString(GetParam().pinning))
      << GetParam() << ": " << result.evidence;
  EXPECT_FALSE(result.evidence.empty());
}

constexpr NameRow kOpenAi[] = {
    {"openai", "gpt-4o-2024-08-06", kPinned},
    {"openai", "gpt-4-0613", kPinned},
    {"openai", "gpt-4-1106-preview", kPinned},
    {"openai", "gpt-3.5-turbo-16k-0613", kPinned},
    {"openai", "ft:gpt-4o-mini-2024-07-18:acme::9x", kPinned},
    {"openai", "ft:gpt-4o-mini-2024-07-18:acme:refunds:9x:ckpt-step-100", kPinned},
    {"openai", "ft:gpt-4o-mini:acme", kUndetermined},
    {"openai", "ft:gpt-4o-mini:acme:a:9x:step-1", kUndetermined},
    {"openai", "chatgpt-4o-latest", kFloating},
    {"openai", "gpt-5.3-chat-latest", kFloating},
    {"openai", "gpt-4o", kFloating},
    {"openai", "gpt-5.5", kFloating},
    {"openai", "o3", kFloating},
    {"openai", "gpt-4-turbo-preview", kFloating},
    {"openai", "gpt-6-astra", kUndetermined},
    {"openai", "gpt-6.2-sol", kUndetermined},
    {"openai", "gpt-5.6-luna", kUndetermined},
    {"openai", "gpt-5.4", kUndetermined},
    {"openai", "gpt-5.1-codex", kUndetermined},
    // Years are no months and days; 1332 is no day of a year; "-latest" is a word of its own.
    {"openai", "gpt-4o-2024-11-20", kPinned},
    {"openai", "gpt-4-1332", kUndetermined},
    {"openai", "gpt-4o-2024-13-01", kUndetermined},
    {"openai", "gpt-4o-2411", kUndetermined},
    {"openai", "gpt-greatest", kUndetermined},
    {"openai", "fast-2025-08-07", kPinned},
    {"openai", "fast-latest", kFloating},
};

constexpr NameRow kAnthropic[] = {
    {"anthropic", "claude-sonnet-4-5-20250929", kPinned},
    {"anthropic", "claude-3-5-sonnet-20241022", kPinned},
    {"anthropic", "claude-opus-4-6", kPinned},
    {"anthropic", "claude-sonnet-4-6", kPinned},
    {"anthropic", "claude-opus-5", kPinned},
    {"anthropic", "claude-fable-5-1", kPinned},
    {"anthropic", "claude-3-5-sonnet-latest", kFloating},
    {"anthropic", "claude-sonnet-4-5", kFloating},
    {"anthropic", "claude-opus-4-1", kFloating},
    {"anthropic", "claude-sonnet-4-0", kFloating},
    {"anthropic", "claude-mythos-preview", kUndetermined},
    // A date is not a minor version, and a version is not a date.
    {"anthropic", "claude-haiku-4-5-20251001", kPinned},
    {"anthropic", "claude-haiku-4-20251301", kUndetermined},
};

constexpr NameRow kBedrock[] = {
    {"bedrock", "us.anthropic.claude-3-5-sonnet-20241022-v2:0", kPinned},
    {"bedrock", "us-gov.anthropic.claude-3-haiku-20240307-v1:0", kPinned},
    {"bedrock", "amazon.nova-pro-v1:0", kPinned},
    {"bedrock", "amazon.nova-pro-v1:0:300k", kPinned},
    {"bedrock", "anthropic.claude-sonnet-4-6", kPinned},
    {"bedrock", "anthropic.claude-opus-4-6-v1", kPinned},
    {"bedrock", "global.anthropic.claude-sonnet-4-5", kFloating},
    {"bedrock", "arn:aws:bedrock:us-east-1:1:application-inference-profile/abc", kUndetermined},
    {"bedrock", "arn:aws:bedrock:us-east-1:1:provisioned-model/abc", kUndetermined},
    {"bedrock", "meta.llama", kUndetermined},
};

constexpr NameRow kGoogle[] = {
    {"vertex", "claude-3-5-sonnet@20240620", kPinned},
    {"vertex", "gemini-2.0-flash-001", kPinned},
    {"vertex", "claude-sonnet-4@default", kFloating},
    {"vertex", "claude-sonnet-4@latest", kFloating},
    {"vertex", "gemini-2.5-flash", kFloating},
    {"gemini", "gemini-2.0-flash-001", kPinned},
    {"gemini", "models/gemini-2.0-flash-001", kPinned},
    {"gemini", "gemini-2.5-flash-preview-05-20", kPinned},
    {"gemini", "gemini-2.5-flash-preview-09-2025", kPinned},
    {"gemini", "gemini-1.5-pro-exp-0827", kPinned},
    {"gemini", "gemini-flash-latest", kFloating},
    {"gemini", "gemini-3-pro-preview", kFloating},
    {"gemini", "gemini-2.5-flash", kUndetermined},
    {"gemini", "gemini-3.5-flash", kUndetermined},
};

constexpr NameRow kOthers[] = {
    {"azure", "gpt-4o-2024-08-06", kUndetermined},  // A deployment may have any name.
    {"azure", "refunds-prod", kUndetermined},
    {"mistral", "mistral-large-2411", kPinned},
    {"mistral", "mistral-large-2431", kUndetermined},
    {"mistral", "mistral-large-latest", kFloating},
    {"mistral", "open-mistral-7b", kUndetermined},
    {"openrouter", "openai/gpt-4o-2024-08-06", kPinned},
    {"openrouter", "~anthropic/claude-sonnet-latest", kFloating},
    {"openrouter", "meta-llama/llama-3-70b:nitro", kFloating},
    {"openrouter", "meta-llama/llama-3-70b:floor", kFloating},
    {"openrouter", "openrouter/auto", kFloating},
    {"openrouter", "meta-llama/llama-3-70b", kUndetermined},
    {"vllm", "Qwen/Qwen3-8B@0123456789abcdef0123456789abcdef01234567", kPinned},
    {"vllm", "Qwen/Qwen3-8B", kUndetermined},
    {"ollama", "llama3:latest", kFloating},
    {"ollama", "llama3.2", kFloating},  // Means latest.
    {"ollama", "library/llama3.2:3b", kUndetermined},
    {"ollama", "llama3@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
     kPinned},
    {"sglang", "default", kUndetermined},
};

// The provider is not always known; and clients call other servers by "openai".
constexpr NameRow kByName[] = {
    {"", "gpt-4o", kFloating},
    {"", "gpt-4o-2024-08-06", kPinned},
    {"", "o1", kFloating},
    {"", "claude-sonnet-4-5", kFloating},
    {"", "claude-opus-4-6", kPinned},
    {"", "anthropic.claude-3-haiku-20240307-v1:0", kPinned},
    {"", "mistral-large-2411", kPinned},
    {"", "gemini-flash-latest", kFloating},
    {"", "claude-3-5-sonnet@20240620", kPinned},
    {"", "llama3:latest", kFloating},
    {"", "something", kUndetermined},
    {"", "", kUndetermined},
    {"openai", "mistral-large-2411", kPinned},
    {"openai", "claude-sonnet-4-5", kFloating},
    {"OpenAI", "GPT-4o", kFloating},
};

INSTANTIATE_TEST_SUITE_P(OpenAi, ModelNames, testing::ValuesIn(kOpenAi));
INSTANTIATE_TEST_SUITE_P(Anthropic, ModelNames, testing::ValuesIn(kAnthropic));
INSTANTIATE_TEST_SUITE_P(Bedrock, ModelNames, testing::ValuesIn(kBedrock));
INSTANTIATE_TEST_SUITE_P(Google, ModelNames, testing::ValuesIn(kGoogle));
INSTANTIATE_TEST_SUITE_P(Others, ModelNames, testing::ValuesIn(kOthers));
INSTANTIATE_TEST_SUITE_P(ByName, ModelNames, testing::ValuesIn(kByName));

TEST(ModelName, TheWholeOpenAiCatalogueIsClassified) {
  std::ifstream file(REENACT_SCHEMA_TEST_DATA "/openai_models.txt");
  std::map<std::string, int> counts;
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string name;
    std::string expected;
    words >> name >> expected;
    EXPECT_EQ(ToString(ClassifyModelName("openai", name).pinning), expected) << name;
    EXPECT_EQ(ToString(ClassifyModelName("", name).pinning), expected) << name;
    ++counts[expected];
  }
  EXPECT_EQ(counts["pinned"], 48);
  EXPECT_EQ(counts["floating"], 47);
  EXPECT_EQ(counts["undetermined"], 20);
}

TEST(ModelName, HostileNamesAreUndetermined) {
  EXPECT_EQ(ClassifyModelName("", std::string(1 << 20, '-')).pinning, kUndetermined);
  EXPECT_EQ(ClassifyModelName("bedrock", std::string(1 << 20, '.')).pinning, kUndetermined);
  EXPECT_EQ(ClassifyModelName("openai", std::string("gpt-4\0o", 7)).pinning, kUndetermined);
}

}  // namespace
}  // namespace reenact::schema
