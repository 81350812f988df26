#include "local_engine/tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "local_engine/numerics/sha256.h"
#include "local_engine/tokenizer/embedded_vocabulary.h"
#include "local_engine/tokenizer/internal/utf8_text.h"
#include "local_engine/tokenizer/tokenizer_json.h"
#include "tests/local_engine/tokenizer/small_tokenizer.h"

namespace reenact::local_engine {
namespace {

using Ids = std::vector<uint32_t>;

Tokenizer Make(const SmallTokenizer& small) {
  absl::StatusOr<Tokenizer> tokenizer = TokenizerFromJson(small.Json());
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return *std::move(tokenizer);
}

Ids Encode(const Tokenizer& tokenizer, const std::string& text, EncodeOptions options = {}) {
  absl::StatusOr<Ids> ids = tokenizer.Encode(text, options);
  EXPECT_TRUE(ids.ok()) << ids.status();
  return ids.value_or(Ids());
}

std::string Refusal(const SmallTokenizer& small) {
  return std::string(TokenizerFromJson(small.Json()).status().message());
}

TEST(Tokenizer, TheLowestRankIsMergedFirstThenTheLeftmost) {
  const SmallTokenizer small = {.vocab = R"({"a": 0, "b": 1, "ab": 2, "ba": 3, "aa": 4})",
                                .merges = R"(["b a", "a b", "a a"])"};
  const Tokenizer tokenizer = Make(small);
  EXPECT_EQ(Encode(tokenizer, "aba"), (Ids{0, 3}));
  EXPECT_EQ(Encode(tokenizer, "aaa"), (Ids{4, 0}));
}

TEST(Tokenizer, ByteLevelEncodesEveryByteAndDecodesItBack) {
  const Tokenizer tokenizer = Make(ByteLevelTokenizer());
  EXPECT_EQ(Encode(tokenizer, "hello"), Ids{259});
  EXPECT_EQ(Encode(tokenizer, "é"), (Ids{0xc3, 0xa9}));
  const std::string text("hello \0\x7f wörld 日本 👩‍💻\r\n", 36);
  EXPECT_EQ(tokenizer.Decode(Encode(tokenizer, text)), text);
}

TEST(Tokenizer, APartOfACharacterHasItsBytesOfItsOwn) {
  const Tokenizer tokenizer = Make(ByteLevelTokenizer());
  EXPECT_EQ(tokenizer.BytesOf(0xc3), "\xc3");
  EXPECT_EQ(tokenizer.BytesOf(' '), " ");
  EXPECT_EQ(tokenizer.BytesOf(259), "hello");
  EXPECT_EQ(tokenizer.BytesOf(260), "<|end|>");
  EXPECT_EQ(tokenizer.BytesOf(9999), "");
  SmallTokenizer fallback = {.decoder = R"({"type": "Sequence", "decoders": [
      {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
      {"type": "ByteFallback"}, {"type": "Fuse"},
      {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})"};
  fallback.vocab = R"({"a": 0, "▁a": 1, "<0xE2>": 2})";
  fallback.merges = "[]";
  const Tokenizer other = Make(fallback);
  EXPECT_EQ(other.BytesOf(1), " a");
  EXPECT_EQ(other.BytesOf(2), "\xe2");
}

TEST(Tokenizer, ControlTokensInTextCanBeLeftAsText) {
  const Tokenizer tokenizer = Make(ByteLevelTokenizer());
  EXPECT_EQ(Encode(tokenizer, "a<|end|>"), (Ids{'a', 260}));
  const Ids plain = Encode(tokenizer, "a<|end|>", {.parse_special_tokens = false});
  EXPECT_EQ(plain.size(), 8u);
  EXPECT_EQ(tokenizer.Decode(plain, /*skip_special_tokens=*/true), "a<|end|>");
  EXPECT_EQ(tokenizer.Decode({'a', 260, 'b'}, /*skip_special_tokens=*/true), "ab");
}

TEST(Tokenizer, AddedTokensTakeWhiteSpaceAndWantWholeWordsAsTheyAreTold) {
  const auto with = [](const std::string& flag) {
    return Make({.added_tokens = R"([{"id": 7, "content": "<x>", ")" + flag + R"(": true}])",
                 .vocab = R"({"a": 0, " ": 1, "<": 2, "x": 3, ">": 4, "b": 5, "c": 6})",
                 .merges = "[]"});
  };
  EXPECT_EQ(Encode(with("special"), "a <x> a"), (Ids{0, 1, 7, 1, 0}));
  EXPECT_EQ(Encode(with("lstrip"), "a <x> a"), (Ids{0, 7, 1, 0}));
  EXPECT_EQ(Encode(with("rstrip"), "a <x> a"), (Ids{0, 1, 7, 0}));
  EXPECT_EQ(Encode(with("single_word"), "a<x> <x>"), (Ids{0, 2, 3, 4, 1, 7}));
}

TEST(Tokenizer, NormalizedAddedTokensAreLookedForInNormalizedText) {
  const SmallTokenizer small = {
      .added_tokens = R"([{"id": 7, "content": "XY", "normalized": true}])",
      .normalizer = R"({"type": "Lowercase"})"};
  EXPECT_EQ(Encode(Make(small), "axYa"), (Ids{0, 7, 0}));
}

TEST(Tokenizer, UnknownCharactersBecomeBytesOrOneUnknownToken) {
  std::string vocab = R"({"<unk>": 0, "a": 1)";
  const char* kHex = "0123456789ABCDEF";
  for (int byte = 0; byte < 256; ++byte) {
    vocab += std::string(", \"<0x") + kHex[byte / 16] + kHex[byte % 16] +
             ">\": " + std::to_string(byte + 2);
  }
  SmallTokenizer small = {
      .decoder =
          R"({"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]})",
      .model_flags = R"("unk_token": "<unk>", "byte_fallback": true, )",
      .vocab = vocab + "}",
      .merges = "[]"};
  const Tokenizer bytes = Make(small);
  EXPECT_EQ(Encode(bytes, "aé"), (Ids{1, 0xc3 + 2, 0xa9 + 2}));
  // A run of bytes is text as a whole or not at all.
  EXPECT_EQ(bytes.Decode({0xc3 + 2, 0xa9 + 2, 1}), "éa");
  EXPECT_EQ(bytes.Decode({0xc3 + 2, 0xa9 + 2, 0xc3 + 2, 1}), "\ufffd\ufffd\ufffda");
  small.model_flags = R"("unk_token": "<unk>", "fuse_unk": true, )";
  EXPECT_EQ(Encode(Make(small), "aéüa"), (Ids{1, 0, 1}));
  small.model_flags = R"("unk_token": "<unk>", )";
  EXPECT_EQ(Encode(Make(small), "aéüa"), (Ids{1, 0, 0, 1}));
}

TEST(Tokenizer, TheTemplateGoesAroundTheTextOnDemand) {
  const SmallTokenizer small = {.added_tokens = R"([{"id": 7, "content": "<s>", "special": true}])",
                                .post_processor = R"({"type": "TemplateProcessing", "single": [
        {"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "<s>", "type_id": 0}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [7], "tokens": ["<s>"]}}})"};
  EXPECT_EQ(Encode(Make(small), "abc"), (Ids{7, 4, 7}));
  EXPECT_EQ(Encode(Make(small), "abc", {.add_special_tokens = false}), Ids{4});
}

TEST(Tokenizer, WhatIsNotSupportedIsRefusedByName) {
  const std::string strange = R"({"type": "Strange"})";
  EXPECT_EQ(Refusal({.normalizer = strange}), "normalizer Strange is not supported");
  EXPECT_EQ(
      Refusal({.pre_tokenizer = R"({"type": "Sequence", "pretokenizers": [)" + strange + "]}"}),
      "pre-tokenizer Strange is not supported");
  EXPECT_EQ(Refusal({.post_processor = strange}), "post-processor Strange is not supported");
  EXPECT_EQ(Refusal({.decoder = strange}), "decoder Strange is not supported");
  EXPECT_EQ(TokenizerFromJson(R"({"model": {"type": "Unigram", "vocab": []}})").status().message(),
            "tokenizer model \"Unigram\" is not supported");
  EXPECT_NE(Refusal({.model_flags = "\"dropout\": 0.1, "}).find("dropout"), std::string::npos);
}

TEST(Tokenizer, ContradictionsAreNamed) {
  EXPECT_EQ(Refusal({.vocab = R"({"a": 0, "b": 0})", .merges = "[]"}),
            "pieces \"a\" and \"b\" share the id 0");
  EXPECT_EQ(Refusal({.merges = R"(["a x"])"}),
            "merge \"a\" \"x\" names what is not in the vocabulary");
  EXPECT_EQ(Refusal({.added_tokens = R"([{"id": 9, "content": "x"}])"}),
            "added token \"x\" has id 9, and its place gives it 7");
  EXPECT_EQ(Refusal({.added_tokens = R"([{"id": 7, "content": "x"}, {"id": 7, "content": "x"}])"})
                .find("added token \"x\""),
            0u);
  EXPECT_EQ(Make({}).Encode("a\xff").status().message(), "the text is not UTF-8 at byte 1");
}

// A stream is only of use if it gives text early, and only right if it gives the same text.
TEST(DecodeStream, NeverSplitsACharacterAndGivesEachAsSoonAsItIsWhole) {
  const Tokenizer tokenizer = Make(ByteLevelTokenizer());
  DecodeStream stream = tokenizer.NewStream();
  EXPECT_EQ(stream.Push(0xf0), "");
  EXPECT_EQ(stream.Push(0x9f), "");
  EXPECT_EQ(stream.Push(0x98), "");
  EXPECT_EQ(stream.Push(0x80), "😀");
  EXPECT_EQ(stream.Push(0xe6), "");
  EXPECT_EQ(stream.Push('h'), "\ufffdh");
  EXPECT_EQ(stream.Push(260), "<|end|>");
  EXPECT_EQ(stream.Push(0xc3), "");
  EXPECT_EQ(stream.Finish(), "\ufffd");
}

TEST(DecodeStream, StripHoldsBackOnlyWhatMayStillGo) {
  const Tokenizer tokenizer =
      Make({.decoder = R"({"type": "Sequence", "decoders": [{"type": "Fuse"},
                     {"type": "Strip", "content": " ", "start": 1, "stop": 1}]})"});
  DecodeStream stream = tokenizer.NewStream();
  EXPECT_EQ(stream.Push(6), "");
  EXPECT_EQ(stream.Push(6), "");
  EXPECT_EQ(stream.Push(0), " a");
  EXPECT_EQ(stream.Push(6), "");
  EXPECT_EQ(stream.Push(6), " ");
  EXPECT_EQ(stream.Finish(), "");
}

TEST(Tokenizer, TheDigestFollowsTheMeaningAndNotTheSpelling) {
  SmallTokenizer small;
  const Sha256Digest digest = Make(small).Digest();
  small.merges = R"([["a", "b"], ["ab", "c"]])";
  small.vocab = R"({"abc": 4, "▁": 5, "a": 0, "b": 1, "c": 2, "\u0061b": 3, " ": 6})";
  EXPECT_EQ(Make(small).Digest(), digest);
  const std::pair<std::string SmallTokenizer::*, std::string> changes[] = {
      {&SmallTokenizer::merges, R"(["ab c", "a b"])"},
      {&SmallTokenizer::vocab, R"({"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4, "_": 5, " ": 6})"},
      {&SmallTokenizer::model_flags, R"("ignore_merges": true, )"},
      {&SmallTokenizer::added_tokens, R"([{"id": 7, "content": "x"}])"},
      {&SmallTokenizer::normalizer, R"({"type": "NFC"})"},
      {&SmallTokenizer::pre_tokenizer, R"({"type": "Digits", "individual_digits": true})"},
      {&SmallTokenizer::decoder, R"({"type": "Fuse"})"}};
  for (const auto& [member, value] : changes) {
    SmallTokenizer changed;
    changed.*member = value;
    EXPECT_NE(Make(changed).Digest(), digest) << value;
  }
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The same model with its scores, as its GGUF file has them, gives the ids that its merges give.
TEST(EmbeddedVocabulary, ScoresGiveTheIdsThatMergesGive) {
  const std::string folder = REENACT_SHARED_DATA "/stories260k";
  const std::string json = ReadFile(folder + "/tokenizer.json");
  const std::string binary = ReadFile(folder + "/llama2c.tokenizer.bin");
  if (json.empty() || binary.empty()) GTEST_SKIP() << folder << " is not here";
  const absl::StatusOr<TokenizerConfig> config = ReadTokenizerJson(json);
  ASSERT_TRUE(config.ok()) << config.status();
  EmbeddedVocabulary vocabulary{.model = "llama", .pieces = config->model.pieces};
  // Its length of the longest piece, then for each piece its score, its size and its bytes.
  const auto at_byte = [&binary](size_t at, auto* value) {
    binary.copy(reinterpret_cast<char*>(value), 4, at);
  };
  size_t at = 4;
  for (size_t id = 0; id < vocabulary.pieces.size(); ++id) {
    int32_t size = 0;
    vocabulary.scores.emplace_back();
    at_byte(at, &vocabulary.scores.back());
    at_byte(at + 4, &size);
    at += 8 + static_cast<size_t>(size);
    vocabulary.types.push_back(id == 0    ? EmbeddedVocabulary::kUnknown
                               : id < 3   ? EmbeddedVocabulary::kControl
                               : id < 259 ? EmbeddedVocabulary::kByte
                                          : EmbeddedVocabulary::kNormal);
  }
  ASSERT_EQ(at, binary.size());
  vocabulary.unknown_id = 0;
  vocabulary.bos_id = 1;
  absl::StatusOr<TokenizerConfig> embedded = ConfigFromEmbedded(vocabulary);
  ASSERT_TRUE(embedded.ok()) << embedded.status();
  const absl::StatusOr<Tokenizer> from_scores = Tokenizer::Create(*std::move(embedded));
  const absl::StatusOr<Tokenizer> from_merges = TokenizerFromJson(json);
  ASSERT_TRUE(from_scores.ok() && from_merges.ok()) << from_scores.status();
  for (const char* text :
       {"Once upon a time, there was a little girl named Lily.", "  two  spaces", "日本 é 😀",
        "the thethe there then", "<s>a</s> b", "\n\tx", "aaaaaaaa bbbbbbb oooooo"}) {
    const Ids ids = Encode(*from_merges, text);
    EXPECT_EQ(Encode(*from_scores, text), ids) << text;
    EXPECT_EQ(from_scores->Decode(ids), from_merges->Decode(ids));
    EXPECT_EQ(ids.front(), 1u);
  }
}

TEST(EmbeddedVocabulary, UnknownNamesAreRefused) {
  EXPECT_EQ(ConfigFromEmbedded({.model = "gpt2", .pre = "strange"}).status().message(),
            "the pre-tokenizer \"strange\" of a GGUF file is not supported");
  EXPECT_EQ(ConfigFromEmbedded({.model = "bert"}).status().message(),
            "tokenizer model \"bert\" of a GGUF file is not supported");
}

}  // namespace
}  // namespace reenact::local_engine
