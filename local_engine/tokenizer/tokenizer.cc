#include "local_engine/tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"

#include "local_engine/tokenizer/internal/added_tokens.h"
#include "local_engine/tokenizer/internal/bpe_model.h"
#include "local_engine/tokenizer/internal/normalizer.h"
#include "local_engine/tokenizer/internal/pre_tokenizer.h"
#include "local_engine/tokenizer/internal/text_stages.h"
#include "local_engine/tokenizer/internal/utf8_text.h"
#include "local_engine/tokenizer/internal/vocabulary_content.h"

namespace reenact::local_engine {

struct Tokenizer::Parts {
  TokenizerConfig config;  // Without the model, which has its own.
  BpeModel model;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  AddedTokenFinder before_normalization;
  AddedTokenFinder after_normalization;
  absl::flat_hash_map<uint32_t, const AddedToken*> added_by_id;
  absl::flat_hash_map<std::string, uint32_t> added_by_content;
  absl::flat_hash_set<std::string> special_contents;

  // The working state of one Encode.
  struct Encoding {
    std::vector<uint32_t> ids;
    BpeModel::Scratch scratch;
    std::vector<Section> sections;
    WordList words;
  };

  absl::Status IndexAddedTokens();
  absl::Status EncodePlain(std::string text, bool begins_input, bool parse_special,
                           Encoding* encoding) const;
  absl::Status EncodeWords(std::string_view text, bool begins_input, Encoding* encoding) const;

  const std::string& PieceOf(uint32_t id) const {
    const auto added = added_by_id.find(id);
    return added != added_by_id.end() ? added->second->content : model.PieceOf(id);
  }

  bool IsSpecial(uint32_t id) const {
    const std::string& piece = PieceOf(id);
    return !piece.empty() && special_contents.contains(piece);
  }
};

namespace {

absl::Status CheckCharacter(std::string_view text, std::string_view what) {
  if (text.empty() || FirstInvalidByte(text) != std::string_view::npos ||
      CharLength(text[0]) != text.size()) {
    return absl::InvalidArgumentError("the " + std::string(what) + " \"" + std::string(text) +
                                      "\" is not one character");
  }
  return absl::OkStatus();
}

absl::Status CheckStages(const TokenizerConfig& config) {
  for (const PreTokenizerStage& stage : config.pre_tokenizers) {
    if (stage.kind != PreTokenizerStage::Kind::kMetaspace) continue;
    // Elsewhere it would matter from which place of the input a changed word came.
    if (stage.prepend_scheme == PrependScheme::kFirst &&
        (!config.normalizers.empty() || &stage != &config.pre_tokenizers.front())) {
      return absl::UnimplementedError(
          "Metaspace with prepend_scheme \"first\" after another stage is not supported");
    }
    absl::Status status = CheckCharacter(stage.replacement, "replacement of Metaspace");
    if (!status.ok()) return status;
  }
  if (!config.decoders.has_value()) return absl::OkStatus();
  for (const DecoderStage& stage : *config.decoders) {
    absl::Status status;
    if (stage.kind == DecoderStage::Kind::kMetaspace) {
      status = CheckCharacter(stage.content, "replacement of Metaspace");
    } else if (stage.kind == DecoderStage::Kind::kStrip) {
      status = CheckCharacter(stage.content, "content of Strip");
    } else if (stage.kind == DecoderStage::Kind::kReplace && stage.pattern.empty()) {
      status = absl::InvalidArgumentError("a pattern is empty");
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

// Special tokens go first: of two that are written the same after normalization, the first stands.
absl::Status Tokenizer::Parts::IndexAddedTokens() {
  for (const bool special : {true, false}) {
    for (const AddedToken& token : config.added_tokens) {
      if (token.special != special) continue;
      const auto named = "added token \"" + token.content + "\"";
      if (FirstInvalidByte(token.content) != std::string_view::npos) {
        return absl::InvalidArgumentError("an added token is not UTF-8");
      }
      if (!added_by_content.emplace(token.content, token.id).second) {
        return absl::InvalidArgumentError(named + " stands twice");
      }
      if (!added_by_id.emplace(token.id, &token).second) {
        return absl::InvalidArgumentError(named + " shares its id " + std::to_string(token.id));
      }
      const std::optional<uint32_t> piece = model.Find(token.content);
      if (piece.value_or(token.id) != token.id) {
        return absl::InvalidArgumentError(named + " has id " + std::to_string(token.id) +
                                          ", and as a piece " + std::to_string(*piece));
      }
      if (special) special_contents.insert(token.content);
      std::string content = token.content;
      if (token.normalized) {
        absl::Status status = normalizer.Normalize(&content);
        if (!status.ok()) return status;
      }
      absl::Status status =
          (token.normalized ? after_normalization : before_normalization).Add(content, &token);
      if (!status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Tokenizer> Tokenizer::Create(TokenizerConfig config) {
  absl::Status status = CheckStages(config);
  if (!status.ok()) return status;
  absl::StatusOr<BpeModel> model = BpeModel::Create(std::move(config.model));
  if (!model.ok()) return model.status();
  absl::StatusOr<Normalizer> normalizer = Normalizer::Create(config.normalizers);
  if (!normalizer.ok()) return normalizer.status();
  absl::StatusOr<PreTokenizer> pre_tokenizer = PreTokenizer::Create(config.pre_tokenizers);
  if (!pre_tokenizer.ok()) return pre_tokenizer.status();
  std::unique_ptr<Parts> parts(new Parts{std::move(config), *std::move(model),
                                         *std::move(normalizer), *std::move(pre_tokenizer)});
  status = parts->IndexAddedTokens();
  if (!status.ok()) return status;
  return Tokenizer(std::move(parts));
}

Tokenizer::Tokenizer(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}

Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

absl::Status Tokenizer::Parts::EncodeWords(std::string_view text, bool begins_input,
                                           Encoding* encoding) const {
  WordList& words = encoding->words;
  words.text.clear();
  words.ends.clear();
  words.begins_input = begins_input;
  words.Add(text);
  absl::Status status = pre_tokenizer.Apply(&words);
  if (!status.ok()) return status;
  size_t begin = 0;
  for (const size_t end : words.ends) {
    const std::string_view word = std::string_view(words.text).substr(begin, end - begin);
    status = model.Encode(word, &encoding->scratch, &encoding->ids);
    if (!status.ok()) return status;
    begin = end;
  }
  return absl::OkStatus();
}

// A stretch between two added tokens that are found before normalization.
absl::Status Tokenizer::Parts::EncodePlain(std::string text, bool begins_input, bool parse_special,
                                           Encoding* encoding) const {
  absl::Status status = normalizer.Normalize(&text);
  if (!status.ok()) return status;
  if (after_normalization.empty()) return EncodeWords(text, begins_input, encoding);
  std::vector<Section> sections;
  after_normalization.Cut(text, parse_special, &sections);
  for (const Section& section : sections) {
    if (section.token != nullptr) {
      encoding->ids.push_back(section.token->id);
      continue;
    }
    status = EncodeWords(std::string_view(text).substr(section.begin, section.end - section.begin),
                         begins_input && section.begin == 0, encoding);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<uint32_t>> Tokenizer::Encode(std::string_view text,
                                                        EncodeOptions options) const {
  if (text.size() > kLargestText) {
    return absl::InvalidArgumentError("a text of " + std::to_string(text.size()) +
                                      " bytes is too large to encode");
  }
  const size_t invalid = FirstInvalidByte(text);
  if (invalid != std::string_view::npos) {
    return absl::InvalidArgumentError("the text is not UTF-8 at byte " + std::to_string(invalid));
  }
  Parts::Encoding encoding;
  const TokenizerConfig& config = parts_->config;
  if (options.add_special_tokens) encoding.ids = config.prefix_ids;
  parts_->before_normalization.Cut(text, options.parse_special_tokens, &encoding.sections);
  for (const Section& section : encoding.sections) {
    if (section.token != nullptr) {
      encoding.ids.push_back(section.token->id);
      continue;
    }
    absl::Status status =
        parts_->EncodePlain(std::string(text.substr(section.begin, section.end - section.begin)),
                            section.begin == 0, options.parse_special_tokens, &encoding);
    if (!status.ok()) return status;
  }
  if (options.add_special_tokens) {
    encoding.ids.insert(encoding.ids.end(), config.suffix_ids.begin(), config.suffix_ids.end());
  }
  return std::move(encoding.ids);
}

std::string Tokenizer::Decode(const std::vector<uint32_t>& ids, bool skip_special_tokens) const {
  DecodeStream stream = NewStream(skip_special_tokens);
  std::string text;
  for (const uint32_t id : ids) text += stream.Push(id);
  text += stream.Finish();
  return text;
}

DecodeStream Tokenizer::NewStream(bool skip_special_tokens) const {
  return DecodeStream(*this, skip_special_tokens);
}

std::optional<uint32_t> Tokenizer::Find(std::string_view piece) const {
  const auto added = parts_->added_by_content.find(std::string(piece));
  if (added != parts_->added_by_content.end()) return added->second;
  return parts_->model.Find(piece);
}

const std::string& Tokenizer::PieceOf(uint32_t id) const {
  return parts_->PieceOf(id);
}

std::string Tokenizer::BytesOf(uint32_t id) const {
  const std::string& piece = parts_->PieceOf(id);
  if (parts_->IsSpecial(id)) return piece;
  return BytesOfPiece(piece, parts_->config.decoders);
}

bool Tokenizer::IsSpecial(uint32_t id) const {
  return parts_->IsSpecial(id);
}

uint32_t Tokenizer::id_end() const {
  auto end = static_cast<uint32_t>(parts_->model.config().pieces.size());
  for (const AddedToken& token : parts_->config.added_tokens) end = std::max(end, token.id + 1);
  return end;
}

Sha256Digest Tokenizer::Digest() const {
  Sha256 hash;
  WriteContent(parts_->config, parts_->model,
               [&hash](std::string_view bytes) { hash.Update(bytes.data(), bytes.size()); });
  return hash.Finish();
}

DecodeStream::DecodeStream(const Tokenizer& tokenizer, bool skip_special_tokens)
    : parts_(tokenizer.parts_.get()),
      skip_special_tokens_(skip_special_tokens),
      text_(std::make_unique<std::string>()),
      first_(MakeTextStages(parts_->config.decoders, text_.get())) {}

DecodeStream::DecodeStream(DecodeStream&&) noexcept = default;
DecodeStream& DecodeStream::operator=(DecodeStream&&) noexcept = default;
DecodeStream::~DecodeStream() = default;

std::string DecodeStream::Push(uint32_t id) {
  const std::string& piece = parts_->PieceOf(id);
  if (piece.empty() || (skip_special_tokens_ && parts_->IsSpecial(id))) return {};
  first_->Fragment(piece);
  first_->EndToken();
  return std::exchange(*text_, {});
}

std::string DecodeStream::Finish() {
  first_->Finish();
  return std::exchange(*text_, {});
}

}  // namespace reenact::local_engine
