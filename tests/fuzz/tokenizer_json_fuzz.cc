// A tokenizer.json: refused with words, or a tokenizer that encodes and decodes, streams what it
// decodes, and is the same when read twice. The text that it encodes is the end of the input.

#include "local_engine/tokenizer/tokenizer_json.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/local_engine/tokenizer/small_tokenizer.h"

namespace reenact::fuzz::tokenizer_json {

using namespace reenact::local_engine;

namespace {

constexpr std::string_view kText =
    "  ab <x> abc's 12 \xe2\x96\x81\xc3\xa9<s> \n\xcc\x81\xe6\x97\xa5 ";
constexpr uint32_t kSomeIds = 40;

}  // namespace

void FuzzOne(std::string_view bytes) {
  const absl::StatusOr<Tokenizer> tokenizer = TokenizerFromJson(bytes);
  if (!tokenizer.ok()) {
    if (tokenizer.status().message().empty()) Broken("an error without words");
    return;
  }
  const absl::StatusOr<Tokenizer> twice = TokenizerFromJson(bytes);
  if (!twice.ok() || twice->Digest() != tokenizer->Digest()) Broken("another one when read twice");
  const absl::StatusOr<std::vector<uint32_t>> encoded = tokenizer->Encode(kText);
  std::vector<uint32_t> ids = encoded.value_or(std::vector<uint32_t>());
  for (uint32_t id = 0; id < kSomeIds; ++id) ids.push_back(id);
  const std::string text = tokenizer->Decode(ids);
  DecodeStream stream = tokenizer->NewStream();
  std::string streamed;
  for (const uint32_t id : ids) streamed += stream.Push(id);
  streamed += stream.Finish();
  if (streamed != text) Broken("the stream decodes to another text");
  for (uint32_t id = 0; id < kSomeIds; ++id) {
    tokenizer->PieceOf(id);
    tokenizer->BytesOf(id);
  }
  if (encoded.ok() && !encoded->empty()) Reached();
}

std::vector<std::string> Seeds() {
  const SmallTokenizer sentencepiece = {
      .added_tokens =
          R"([{"id": 7, "content": "<x>", "lstrip": true, "rstrip": true, "normalized": true},
              {"id": 8, "content": "<s>", "special": true, "single_word": true}])",
      .normalizer =
          R"({"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Prepend", "prepend": "▁"},
              {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}, {"type": "Strip", "strip_left": true}]})",
      .pre_tokenizer =
          R"json({"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "(?i:'s)|[^\\s\\p{L}]{1,3}|\\s+(?!\\S)"},
              "behavior": "MergedWithNext", "invert": true}, {"type": "Digits", "individual_digits": true},
              {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}]})json",
      .post_processor =
          R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
              {"Sequence": {"id": "A", "type_id": 0}}], "special_tokens": {"<s>": {"id": "<s>", "ids": [8], "tokens": ["<s>"]}}})",
      .decoder =
          R"({"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
              {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 1}]})",
      .model_flags = R"("unk_token": "a", "fuse_unk": true, "byte_fallback": true, )",
      .vocab = R"({"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4, "▁": 5, "<0xE6>": 6})"};
  SmallTokenizer byte_level = ByteLevelTokenizer();
  byte_level.pre_tokenizer =
      R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": true})";
  byte_level.decoder = R"({"type": "ByteLevel"})";
  SmallTokenizer nested;  // Stages within stages.
  std::string stages = R"({"type": "NFC"})";
  for (int i = 0; i < 300; ++i) {
    stages = R"({"type": "Sequence", "normalizers": [)" + stages + "]}";
  }
  nested.normalizer = stages;
  SmallTokenizer growing;  // Each replacement makes room for more of them.
  growing.normalizer = R"({"type": "Sequence", "normalizers": [)";
  for (int i = 0; i < 4; ++i) {
    growing.normalizer +=
        R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aaaaaaaa"}, )";
  }
  growing.normalizer += R"({"type": "NFC"}]})";
  const std::string whole = sentencepiece.Json();
  return {
      whole,         SmallTokenizer{}.Json(), byte_level.Json(), whole.substr(0, whole.size() / 2),
      nested.Json(), growing.Json()};
}

std::vector<std::string> Tokens() {
  return {"null",
          "-1",
          "1e400",
          "4294967296",
          "{}",
          "[]",
          "\"\"",
          "[",
          "]",
          "{",
          "}",
          "\\u0000",
          "\"Sequence\"",
          "\"Split\"",
          "\"Regex\"",
          "(?",
          "(?i:",
          "\\\\p{L}",
          "(a*)*",
          "{1,3}",
          "3999999",
          "\xff",
          "true",
          "\"\xe2\x96\x81\"",
          "\"ByteLevel\"",
          "\"NFD\"",
          "\"ignore_merges\": true",
          "\"Replace\"",
          "\"<0x0A>\": 9",
          "\"Isolated\"",
          "\"Removed\"",
          "\"Contiguous\""};
}

const bool added = AddTarget({"tokenizer_json", FuzzOne, Seeds, Tokens});

}  // namespace reenact::fuzz::tokenizer_json
