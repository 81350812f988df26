#include "local_engine/tokenizer/embedded_vocabulary.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <unordered_map>

#include "absl/status/status.h"

#include "local_engine/tokenizer/internal/utf8_text.h"

namespace reenact::local_engine {

namespace {

using PieceIds = std::unordered_map<std::string_view, uint32_t>;

// Every way to cut a piece in two is looked up, so a very long one would cost its square.
constexpr size_t kLongestScoredPiece = 1024;
constexpr const char* kSpaceMark = "\xe2\x96\x81";  // ▁

// What the names of tokenizer.ggml.pre stand for. The patterns are those of the models' own
// tokenizer.json.
struct NamedPattern {
  std::string_view name;
  std::string_view pattern;
  bool ignore_merges;
  bool composes;  // NFC
};

constexpr NamedPattern kPatterns[] = {
    {"llama-bpe",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     true, false},
    {"qwen2",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     false, true},
    {"gpt-2", "", false, false},
    {"gpt-4o",
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
     R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     true, false},
    {"tekken",
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
     R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     true, false},
};

PieceIds IndexPieces(const std::vector<std::string>& pieces) {
  PieceIds ids;
  ids.reserve(pieces.size());
  for (uint32_t id = 0; id < pieces.size(); ++id) ids.emplace(pieces[id], id);
  return ids;
}

int32_t TypeOf(const std::vector<int32_t>& types, size_t id) {
  return types.empty() ? EmbeddedVocabulary::kNormal : types[id];
}

absl::Status ReadMergeLines(const EmbeddedVocabulary& vocabulary, BpeConfig* model) {
  const PieceIds ids = IndexPieces(vocabulary.pieces);
  uint32_t rank = 0;
  for (const std::string& line : vocabulary.merges) {
    const size_t space = line.find(' ', 1);
    if (space == std::string::npos) {
      return absl::InvalidArgumentError("merge \"" + line + "\" is not of two pieces");
    }
    const std::string left = line.substr(0, space);
    const std::string right = line.substr(space + 1);
    const std::string both = left + right;
    const auto left_id = ids.find(left);
    const auto right_id = ids.find(right);
    const auto merged_id = ids.find(both);
    if (left_id == ids.end() || right_id == ids.end() || merged_id == ids.end()) {
      return absl::InvalidArgumentError("merge \"" + line +
                                        "\" names what is not in the vocabulary");
    }
    model->merges.push_back({left_id->second, right_id->second, merged_id->second, rank++});
  }
  return absl::OkStatus();
}

absl::Status UseByteLevel(const EmbeddedVocabulary& vocabulary, TokenizerConfig* config) {
  const auto* pattern =
      std::find_if(std::begin(kPatterns), std::end(kPatterns),
                   [&](const NamedPattern& known) { return known.name == vocabulary.pre; });
  if (pattern == std::end(kPatterns)) {
    return absl::UnimplementedError("the pre-tokenizer \"" + vocabulary.pre +
                                    "\" of a GGUF file is not supported");
  }
  PreTokenizerStage byte_level{.kind = PreTokenizerStage::Kind::kByteLevel};
  if (pattern->pattern.empty()) {
    byte_level.use_regex = true;
  } else {
    config->pre_tokenizers.push_back({.kind = PreTokenizerStage::Kind::kSplit,
                                      .pattern = {std::string(pattern->pattern), true}});
  }
  config->pre_tokenizers.push_back(byte_level);
  if (pattern->composes) config->normalizers.push_back({.kind = NormalizerStage::Kind::kNfc});
  config->model.ignore_merges = pattern->ignore_merges;
  config->decoders = {{.kind = DecoderStage::Kind::kByteLevel}};
  return ReadMergeLines(vocabulary, &config->model);
}

absl::Status UseSentencePiece(const EmbeddedVocabulary& vocabulary, TokenizerConfig* config) {
  absl::StatusOr<std::vector<MergeRule>> merges =
      MergesFromScores(vocabulary.pieces, vocabulary.scores, vocabulary.types);
  if (!merges.ok()) return merges.status();
  config->model.merges = *std::move(merges);
  config->model.byte_fallback = true;
  config->model.fuse_unk = true;
  if (vocabulary.unknown_id.has_value()) {
    config->model.unk_token = vocabulary.pieces[*vocabulary.unknown_id];
  }
  if (vocabulary.add_space_prefix) {
    config->normalizers.push_back({.kind = NormalizerStage::Kind::kPrepend, .content = kSpaceMark});
  }
  config->normalizers.push_back(
      {.kind = NormalizerStage::Kind::kReplace, .pattern = {" ", false}, .content = kSpaceMark});
  config->decoders = {{.kind = DecoderStage::Kind::kReplace, .pattern = kSpaceMark, .content = " "},
                      {.kind = DecoderStage::Kind::kByteFallback},
                      {.kind = DecoderStage::Kind::kFuse}};
  if (vocabulary.add_space_prefix) {
    config->decoders->push_back(
        {.kind = DecoderStage::Kind::kStrip, .content = " ", .start = 1, .stop = 0});
  }
  return absl::OkStatus();
}

absl::Status CheckSizes(const EmbeddedVocabulary& vocabulary) {
  const size_t count = vocabulary.pieces.size();
  if (!vocabulary.types.empty() && vocabulary.types.size() != count) {
    return absl::InvalidArgumentError(std::to_string(vocabulary.types.size()) + " types for " +
                                      std::to_string(count) + " pieces");
  }
  for (const auto& id : {vocabulary.unknown_id, vocabulary.bos_id, vocabulary.eos_id}) {
    if (id.has_value() && *id >= count) {
      return absl::InvalidArgumentError("id " + std::to_string(*id) + " has no piece");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<MergeRule>> MergesFromScores(const std::vector<std::string>& pieces,
                                                        const std::vector<float>& scores,
                                                        const std::vector<int32_t>& types) {
  if (scores.size() != pieces.size()) {
    return absl::InvalidArgumentError(std::to_string(scores.size()) + " scores for " +
                                      std::to_string(pieces.size()) + " pieces");
  }
  std::vector<float> ladder;
  for (size_t id = 0; id < pieces.size(); ++id) {
    if (std::isnan(scores[id])) {
      return absl::InvalidArgumentError("the score of id " + std::to_string(id) + " is no number");
    }
    if (FirstInvalidByte(pieces[id]) != std::string_view::npos) {
      return absl::InvalidArgumentError("the piece with id " + std::to_string(id) +
                                        " is not UTF-8");
    }
    ladder.push_back(scores[id]);
  }
  std::sort(ladder.begin(), ladder.end(), std::greater<>());
  ladder.erase(std::unique(ladder.begin(), ladder.end()), ladder.end());
  const PieceIds ids = IndexPieces(pieces);
  std::vector<MergeRule> rules;
  for (uint32_t id = 0; id < pieces.size(); ++id) {
    if (TypeOf(types, id) != EmbeddedVocabulary::kNormal || pieces[id].empty()) continue;
    const auto rank = static_cast<uint32_t>(
        std::lower_bound(ladder.begin(), ladder.end(), scores[id], std::greater<>()) -
        ladder.begin());
    const std::string_view piece = pieces[id];
    for (size_t at = CharLength(piece[0]); at < piece.size(); at += CharLength(piece[at])) {
      const auto left = ids.find(piece.substr(0, at));
      const auto right = ids.find(piece.substr(at));
      if (left == ids.end() || right == ids.end()) continue;
      rules.push_back({left->second, right->second, id, rank});
    }
  }
  return rules;
}

absl::StatusOr<TokenizerConfig> ConfigFromEmbedded(const EmbeddedVocabulary& vocabulary) {
  absl::Status status = CheckSizes(vocabulary);
  if (!status.ok()) return status;
  TokenizerConfig config;
  config.model.pieces = vocabulary.pieces;
  if (vocabulary.model == "gpt2") {
    status = UseByteLevel(vocabulary, &config);
  } else if (vocabulary.model == "llama") {
    status = UseSentencePiece(vocabulary, &config);
  } else {
    status = absl::UnimplementedError("tokenizer model \"" + vocabulary.model +
                                      "\" of a GGUF file is not supported");
  }
  if (!status.ok()) return status;
  for (uint32_t id = 0; id < vocabulary.pieces.size(); ++id) {
    const int32_t type = TypeOf(vocabulary.types, id);
    const bool is_control =
        type == EmbeddedVocabulary::kControl || type == EmbeddedVocabulary::kUnknown;
    if (!is_control && type != EmbeddedVocabulary::kUserDefined) continue;
    config.added_tokens.push_back(
        {.content = vocabulary.pieces[id], .id = id, .special = is_control});
  }
  if (vocabulary.bos_id.has_value()) config.prefix_ids = {*vocabulary.bos_id};
  if (vocabulary.eos_id.has_value()) config.suffix_ids = {*vocabulary.eos_id};
  return config;
}

}  // namespace reenact::local_engine
