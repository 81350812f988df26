// Input of strangers that is made to be slow or deep. A tokenizer.json that is broken in any way:
// tests/fuzz/tokenizer_json_fuzz.cc.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "local_engine/tokenizer/tokenizer.h"
#include "local_engine/tokenizer/tokenizer_json.h"
#include "tests/local_engine/tokenizer/small_tokenizer.h"

namespace reenact::local_engine {
namespace {

constexpr size_t kLarge = size_t{1} << 20;

std::string Repeat(const std::string& part, size_t size) {
  std::string text;
  while (text.size() < size) text += part;
  return text;
}

// What is quadratic takes hours for these.
TEST(UntrustedText, AMegabyteOfOneThingIsEncodedInTimeAndDecodesBack) {
  SmallTokenizer small = ByteLevelTokenizer();
  small.normalizer = R"({"type": "NFD"})";
  small.pre_tokenizer =
      R"({"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex":
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{M}]+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
    "behavior": "Isolated", "invert": false}, {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]})";
  const absl::StatusOr<Tokenizer> tokenizer = TokenizerFromJson(small.Json());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  // The marks have classes that alternate, so that every pair of neighbours is out of order.
  for (const char* part :
       {"l", "hello", " ", "\n", "A", "7", "<|end|", "'", " \n", "\u0301\u0323"}) {
    const std::string text = Repeat(part, kLarge);
    const absl::StatusOr<std::vector<uint32_t>> ids = tokenizer->Encode(text);
    ASSERT_TRUE(ids.ok()) << part << ids.status();
    EXPECT_EQ(tokenizer->Decode(*ids).size(), text.size()) << part;
  }
}

TEST(UntrustedTokenizer, NestingIsNoDepthOfStack) {
  std::string normalizer = "null";
  for (int i = 0; i < 20000; ++i) {
    normalizer = R"({"type": "Sequence", "normalizers": [)" + std::move(normalizer) + "]}";
    if (normalizer.size() > 400000) break;
  }
  EXPECT_FALSE(TokenizerFromJson(SmallTokenizer{.normalizer = normalizer}.Json()).ok());
  EXPECT_FALSE(TokenizerFromJson(std::string(kLarge, '[')).ok());
  const std::string nested = std::string(kLarge, '[') + std::string(kLarge, ']');
  EXPECT_EQ(TokenizerFromJson(SmallTokenizer{.normalizer = nested}.Json()).status().message(),
            "the tokenizer's JSON is nested too deeply");
  EXPECT_FALSE(TokenizerFromJson(R"({"model": {"vocab": {"a": 4294967295}}})").ok());
}

}  // namespace
}  // namespace reenact::local_engine
