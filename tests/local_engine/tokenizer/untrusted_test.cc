// Input of strangers: texts made to be slow, and a tokenizer.json that is broken in every way.

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

std::string Mutate(std::string json, std::mt19937* random) {
  static const char* const kParts[] = {
      "null",  "-1",      "1e400",        "4294967296", "{}", "[]",      "\"\"", "[",
      "}",     "\\u0000", "\"Sequence\"", "\"Split\"",  "(?", "3999999", "\xff", "true",
      "\"▁\"", "a",       "\"Regex\""};
  const auto below = [random](size_t end) { return (*random)() % end; };
  for (size_t i = 1 + below(4); i > 0; --i) {
    const size_t at = below(json.size());
    const size_t size = below(std::min<size_t>(12, json.size() - at) + 1);
    switch (below(5)) {
      case 0:
        json[at] = static_cast<char>(below(256));
        break;
      case 1:
        json.erase(at, size);
        break;
      case 2:
        json.insert(at, json.substr(at, size));
        break;
      case 3:
        json.replace(at, size, kParts[below(std::size(kParts))]);
        break;
      default: {
        // One string for another: most stay JSON.
        const size_t from = json.find('"', below(json.size()));
        const size_t to = json.find('"', at);
        if (from == std::string::npos || to == std::string::npos) break;
        const size_t from_end = json.find('"', from + 1);
        const size_t to_end = json.find('"', to + 1);
        if (from_end == std::string::npos || to_end == std::string::npos) break;
        json.replace(to, to_end - to, json.substr(from, from_end - from));
      }
    }
    if (json.empty()) return "{}";
  }
  return json;
}

TEST(UntrustedTokenizer, ABrokenOneIsAnErrorOrWorks) {
  const std::string whole =
      SmallTokenizer{
          .added_tokens =
              R"([{"id": 7, "content": "<x>", "lstrip": true, "rstrip": true, "normalized": true},
                             {"id": 8, "content": "<s>", "special": true, "single_word": true}])",
          .normalizer =
              R"({"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Prepend", "prepend": "▁"},
                           {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}, {"type": "Strip", "strip_left": true}]})",
          .pre_tokenizer =
              R"json({"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "(?i:'s)|[^\\s\\p{L}]{1,3}|\\s+(?!\\S)"},
                              "behavior": "MergedWithNext", "invert": true}, {"type": "Digits", "individual_digits": true},
                              {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}, {"type": "ByteLevel", "add_prefix_space": true}]
})json",
          .post_processor =
              R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                               {"Sequence": {"id": "A", "type_id": 0}}], "special_tokens": {"<s>": {"id": "<s>", "ids": [8], "tokens": ["<s>"]}}})",
          .decoder =
              R"({"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                        {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 1}]})",
          .model_flags =
              R"("unk_token": "a", "fuse_unk": true, "byte_fallback": true, "continuing_subword_prefix": "", )"}

          .Json();
  ASSERT_TRUE(TokenizerFromJson(whole).ok()) << TokenizerFromJson(whole).status();
  std::mt19937 random(20240229);
  int accepted = 0;
  int refused = 0;
  for (int round = 0; round < 6000; ++round) {
    const absl::StatusOr<Tokenizer> tokenizer = TokenizerFromJson(Mutate(whole, &random));
    if (!tokenizer.ok()) {
      ++refused;
      EXPECT_FALSE(tokenizer.status().message().empty());
      continue;
    }
    ++accepted;
    const absl::StatusOr<std::vector<uint32_t>> ids =
        tokenizer->Encode("  ab <x> abc's 12 ▁é<s> \n\u0301日本 ");
    std::vector<uint32_t> decoded = ids.value_or(std::vector<uint32_t>());
    for (uint32_t id = 0; id < 12; ++id) decoded.push_back(id);
    tokenizer->Decode(decoded);
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 1000);
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
