#include "local_engine/tokenizer/tokenizer_json.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"

#include "local_engine/tokenizer/internal/stage_json.h"

namespace reenact::local_engine {

namespace {

using Json = nlohmann::json;

// Ten times what the largest vocabularies have: an id is an index, so a wild one costs memory.
constexpr uint64_t kLargestId = 4'000'000;

// What is nested deeper is not built: some of what is done with JSON values recurses.
constexpr int kDeepest = 64;

// The vocabulary and the merges are most of the file, by hundreds of thousands of strings. They are
// taken out while the parser runs, so that it never builds values for them.
class BulkReader {
 public:
  // Whether the parser is to keep what it reports.
  bool OnEvent(int depth, Json::parse_event_t event, const Json& value) {
    using Event = Json::parse_event_t;
    if (depth > kDeepest) {
      Fail("the tokenizer's JSON is nested too deeply");
      return false;
    }
    if (event == Event::key && depth == 1) top_ = value.get<std::string>();
    if (event == Event::key && depth == 2) second_ = value.get<std::string>();
    if (top_ != "model") return true;
    if (depth >= 3 && second_ == "vocab") return OnVocab(depth, event, value);
    if (depth >= 3 && second_ == "merges") return OnMerges(depth, event, value);
    return true;
  }

  const absl::Status& status() const { return status_; }

  std::vector<std::pair<std::string, uint32_t>>& vocab() { return vocab_; }

  const std::vector<std::pair<std::string, std::string>>& merges() const { return merges_; }

 private:
  bool OnVocab(int depth, Json::parse_event_t event, const Json& value) {
    using Event = Json::parse_event_t;
    if (event == Event::key) {
      piece_ = value.get<std::string>();
      return false;
    }
    if (event != Event::value) return true;
    if (depth != 3 || !value.is_number_unsigned() || value.get<uint64_t>() > kLargestId) {
      Fail("piece \"" + piece_ + "\" has no id from 0 to " + std::to_string(kLargestId));
      return true;
    }
    vocab_.emplace_back(std::move(piece_), value.get<uint32_t>());
    piece_.clear();
    return true;  // Of a key that is not kept: the value is not kept either.
  }

  // "a b", or ["a", "b"].
  bool OnMerges(int depth, Json::parse_event_t event, const Json& value) {
    using Event = Json::parse_event_t;
    if (event == Event::array_start && depth == 3) pair_.clear();
    if (event == Event::array_end && depth == 3) {
      if (pair_.size() != 2) {
        Fail("merge " + std::to_string(merges_.size()) + " is not of two pieces");
      } else {
        merges_.emplace_back(std::move(pair_[0]), std::move(pair_[1]));
      }
      return false;
    }
    if (event != Event::value) return true;
    if (!value.is_string() || depth > 4) {
      Fail("merge " + std::to_string(merges_.size()) + " is not of two pieces");
    } else if (depth == 4) {
      if (pair_.size() < 3) pair_.push_back(value.get<std::string>());
    } else {
      AddMergeLine(value.get<std::string>());
    }
    return false;
  }

  void AddMergeLine(const std::string& line) {
    if (line.rfind("#version", 0) == 0) return;
    const size_t space = line.find(' ');
    if (space == std::string::npos || line.find(' ', space + 1) != std::string::npos) {
      return Fail("merge \"" + line + "\" is not of two pieces");
    }
    merges_.emplace_back(line.substr(0, space), line.substr(space + 1));
  }

  void Fail(const std::string& what) {
    if (status_.ok()) status_ = absl::InvalidArgumentError(what);
  }

  std::string top_;
  std::string second_;
  std::string piece_;
  std::vector<std::string> pair_;
  std::vector<std::pair<std::string, uint32_t>> vocab_;
  std::vector<std::pair<std::string, std::string>> merges_;
  absl::Status status_;
};

const Json& Member(const Json& object, const char* name) {
  static const Json* const absent = new Json;
  const auto member = object.find(name);
  return member == object.end() ? *absent : *member;
}

// Absent and null are false.
absl::StatusOr<bool> Flag(const Json& object, const char* name) {
  const Json& member = Member(object, name);
  if (!member.is_null() && !member.is_boolean()) {
    return absl::InvalidArgumentError(std::string("\"") + name + "\" is neither true nor false");
  }
  return member.is_boolean() && member.get<bool>();
}

// Absent and null are empty.
absl::StatusOr<std::string> Text(const Json& object, const char* name) {
  const Json& member = Member(object, name);
  if (!member.is_null() && !member.is_string()) {
    return absl::InvalidArgumentError(std::string("\"") + name + "\" is not a string");
  }
  return member.is_string() ? member.get<std::string>() : std::string();
}

absl::Status ReadPieces(BulkReader* bulk, absl::flat_hash_map<std::string, uint32_t>* ids,
                        BpeConfig* model) {
  // A key that stands twice in JSON: the last one counts.
  for (auto& [piece, id] : bulk->vocab()) (*ids)[std::move(piece)] = id;
  for (const auto& [piece, id] : *ids) {
    if (piece.empty()) continue;  // Never found in any text.
    if (model->pieces.size() <= id) model->pieces.resize(id + 1);
    if (!model->pieces[id].empty()) {
      const auto both = std::minmax(piece, model->pieces[id]);
      return absl::InvalidArgumentError("pieces \"" + both.first + "\" and \"" + both.second +
                                        "\" share the id " + std::to_string(id));
    }
    model->pieces[id] = piece;
  }
  return absl::OkStatus();
}

absl::Status ReadMerges(const BulkReader& bulk,
                        const absl::flat_hash_map<std::string, uint32_t>& ids, BpeConfig* model) {
  model->merges.reserve(bulk.merges().size());
  const size_t prefix_size = model->continuing_subword_prefix.size();
  uint32_t rank = 0;
  for (const auto& [left, right] : bulk.merges()) {
    const auto left_id = ids.find(left);
    const auto right_id = ids.find(right);
    const auto merged_id =
        right.size() < prefix_size ? ids.end() : ids.find(left + right.substr(prefix_size));
    if (left_id == ids.end() || right_id == ids.end() || merged_id == ids.end()) {
      return absl::InvalidArgumentError("merge \"" + left + "\" \"" + right +
                                        "\" names what is not in the vocabulary");
    }
    model->merges.push_back({left_id->second, right_id->second, merged_id->second, rank++});
  }
  return absl::OkStatus();
}

absl::Status ReadModelSettings(const Json& json, BpeConfig* model) {
  const Json& type = Member(json, "type");
  const bool is_old_bpe = type.is_null() && json.contains("merges");  // Before types were written.
  if (!is_old_bpe && type != "BPE") {
    return absl::UnimplementedError("tokenizer model " + type.dump() + " is not supported");
  }
  const Json& dropout = Member(json, "dropout");
  if (!dropout.is_null() && dropout != 0.0) {
    return absl::UnimplementedError("a tokenizer model with dropout is not supported");
  }
  const std::pair<const char*, bool*> flags[] = {{"fuse_unk", &model->fuse_unk},
                                                 {"byte_fallback", &model->byte_fallback},
                                                 {"ignore_merges", &model->ignore_merges}};
  for (const auto& [name, flag] : flags) {
    absl::StatusOr<bool> value = Flag(json, name);
    if (!value.ok()) return value.status();
    *flag = *value;
  }
  std::string unk_token;
  const std::pair<const char*, std::string*> texts[] = {
      {"unk_token", &unk_token},
      {"continuing_subword_prefix", &model->continuing_subword_prefix},
      {"end_of_word_suffix", &model->end_of_word_suffix}};
  for (const auto& [name, text] : texts) {
    absl::StatusOr<std::string> value = Text(json, name);
    if (!value.ok()) return value.status();
    *text = *std::move(value);
  }
  if (!unk_token.empty()) model->unk_token = unk_token;
  return absl::OkStatus();
}

absl::Status ReadAddedToken(const Json& json, AddedToken* token) {
  const Json& id = Member(json, "id");
  const Json& content = Member(json, "content");
  if (!id.is_number_unsigned() || id.get<uint64_t>() > kLargestId || !content.is_string()) {
    return absl::InvalidArgumentError("an added token needs an id and a content");
  }
  token->id = id.get<uint32_t>();
  token->content = content.get<std::string>();
  const std::pair<const char*, bool*> flags[] = {{"single_word", &token->single_word},
                                                 {"lstrip", &token->lstrip},
                                                 {"rstrip", &token->rstrip},
                                                 {"normalized", &token->normalized},
                                                 {"special", &token->special}};
  for (const auto& [name, flag] : flags) {
    absl::StatusOr<bool> value = Flag(json, name);
    if (!value.ok()) return value.status();
    *flag = *value;
  }
  return absl::OkStatus();
}

// The original numbers added tokens itself: as the piece of the same content, or on from the last.
// A file that says otherwise would be read differently here and there, so it is not read at all.
absl::Status ReadAddedTokens(const Json& json,
                             const absl::flat_hash_map<std::string, uint32_t>& ids,
                             TokenizerConfig* config) {
  if (json.is_null()) return absl::OkStatus();
  if (!json.is_array()) return absl::InvalidArgumentError("\"added_tokens\" is not an array");
  uint64_t next_id = ids.size();
  for (const Json& member : json) {
    AddedToken token;
    if (!member.is_object()) return absl::InvalidArgumentError("an added token is not an object");
    absl::Status status = ReadAddedToken(member, &token);
    if (!status.ok()) return status;
    const auto piece = ids.find(token.content);
    const uint64_t expected_id = piece == ids.end() ? next_id : piece->second;
    if (token.id != expected_id) {
      return absl::InvalidArgumentError("added token \"" + token.content + "\" has id " +
                                        std::to_string(token.id) + ", and its place gives it " +
                                        std::to_string(expected_id));
    }
    next_id = std::max<uint64_t>(next_id, uint64_t{token.id} + 1);
    config->added_tokens.push_back(std::move(token));
  }
  return absl::OkStatus();
}

absl::Status ReadStages(const Json& json, TokenizerConfig* config) {
  absl::Status status = ReadNormalizers(Member(json, "normalizer").dump(), &config->normalizers);
  if (!status.ok()) return status;
  status = ReadPreTokenizers(Member(json, "pre_tokenizer").dump(), &config->pre_tokenizers);
  if (!status.ok()) return status;
  status = ReadPostProcessor(Member(json, "post_processor").dump(), &config->prefix_ids,
                             &config->suffix_ids);
  if (!status.ok()) return status;
  return ReadDecoders(Member(json, "decoder").dump(), &config->decoders);
}

}  // namespace

absl::StatusOr<TokenizerConfig> ReadTokenizerJson(std::string_view text) {
  BulkReader bulk;
  const Json json = Json::parse(
      text.begin(), text.end(),
      [&bulk](int depth, Json::parse_event_t event, const Json& value) {
        return bulk.OnEvent(depth, event, value);
      },
      /*allow_exceptions=*/false);
  if (!bulk.status().ok()) return bulk.status();
  if (!json.is_object()) return absl::InvalidArgumentError("the tokenizer is not a JSON object");
  const Json& model = Member(json, "model");
  if (!model.is_object()) return absl::InvalidArgumentError("the tokenizer has no model");
  TokenizerConfig config;
  absl::Status status = ReadModelSettings(model, &config.model);
  if (!status.ok()) return status;
  if (!Member(model, "vocab").is_object() || !Member(model, "merges").is_array()) {
    return absl::InvalidArgumentError("the tokenizer model needs \"vocab\" and \"merges\"");
  }
  absl::flat_hash_map<std::string, uint32_t> ids;
  ids.reserve(bulk.vocab().size());
  status = ReadPieces(&bulk, &ids, &config.model);
  if (!status.ok()) return status;
  status = ReadMerges(bulk, ids, &config.model);
  if (!status.ok()) return status;
  status = ReadAddedTokens(Member(json, "added_tokens"), ids, &config);
  if (!status.ok()) return status;
  status = ReadStages(json, &config);
  if (!status.ok()) return status;
  return config;
}

absl::StatusOr<Tokenizer> TokenizerFromJson(std::string_view json) {
  absl::StatusOr<TokenizerConfig> config = ReadTokenizerJson(json);
  if (!config.ok()) return config.status();
  return Tokenizer::Create(*std::move(config));
}

}  // namespace reenact::local_engine
