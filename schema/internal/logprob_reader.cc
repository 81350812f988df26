#include "schema/internal/logprob_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <utility>

namespace reenact::schema::internal {
namespace {

constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";
constexpr std::string_view kIdAsToken = "token_id:";  // vLLM's return_tokens_as_token_ids.

std::optional<std::string> ReadBytes(JsonValue value, AnomalyList* anomalies) {
  if (!value.is_array()) return std::nullopt;
  std::string bytes;
  bytes.reserve(value.size());
  for (size_t i = 0; i < value.size(); ++i) {
    const std::optional<int64_t> byte = value[i].AsInt64();
    if (!byte || *byte < 0 || *byte > 255) {
      anomalies->Note("bytes_invalid");
      return std::nullopt;
    }
    bytes.push_back(static_cast<char>(*byte));
  }
  return bytes;
}

void SetLogprob(JsonValue value, TokenAlternative* token, AnomalyList* anomalies) {
  const std::optional<double> logprob = value.AsDouble();
  if (!logprob || std::isnan(*logprob)) {
    // Serialisers turn minus infinity into null: no number, but no probability either.
    anomalies->Note("logprob_not_a_number");
    token->logprob = kCensoredLogprob;
    token->censored = true;
    return;
  }
  token->logprob = *logprob;
  token->censored = *logprob <= kCensoredLogprob;
  if (*logprob > kLargestLogprob) anomalies->Note("impossible_logprob");
}

// llama.cpp's post_sampling_probs: probabilities in place of their logarithms.
void SetProbability(double probability, TokenAlternative* token, AnomalyList* anomalies) {
  anomalies->Note("post_sampling_probs");
  token->logprob = probability > 0 ? std::log(probability) : kCensoredLogprob;
  token->censored = !(probability > 0);
  if (token->logprob > kLargestLogprob) anomalies->Note("impossible_logprob");
}

// Of the names, the one that is used.
JsonValue FirstOf(JsonValue value, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (value[name].is_present()) return value[name];
  }
  return {};
}

// "\xf0\x9f" as bytes; nothing where it is anything else.
std::optional<std::string> DecodeHexEscapes(std::string_view text) {
  std::string bytes;
  for (; text.size() >= 4 && text.starts_with("\\x"); text.remove_prefix(4)) {
    unsigned byte = 0;
    const auto [stop, error] = std::from_chars(text.data() + 2, text.data() + 4, byte, 16);
    if (error != std::errc() || stop != text.data() + 4) return std::nullopt;
    bytes.push_back(static_cast<char>(byte));
  }
  if (!text.empty()) return std::nullopt;
  return bytes;
}

// How the older completions API writes a part of a character.
void ReadEscapedBytes(TokenAlternative* token) {
  constexpr std::string_view kPrefix = "bytes:";
  if (!token->token.starts_with(kPrefix) || token->bytes) return;
  token->bytes = DecodeHexEscapes(std::string_view(token->token).substr(kPrefix.size()));
}

TokenAlternative ReadAlternative(JsonValue value, AnomalyList* anomalies) {
  TokenAlternative token;
  token.token = FirstOf(value, {"token", "decoded_token"}).AsString();
  token.bytes = ReadBytes(value["bytes"], anomalies);
  token.id = FirstOf(value, {"id", "tokenId"}).AsInt64();
  const JsonValue logprob = FirstOf(value, {"logprob", "logProbability"});
  const std::optional<double> probability = value["prob"].AsDouble();
  if (!logprob.is_present() && probability) {
    SetProbability(*probability, &token, anomalies);
  } else {
    SetLogprob(logprob, &token, anomalies);
  }
  if (token.token.starts_with(kIdAsToken)) {
    const char* begin = token.token.data() + kIdAsToken.size();
    const char* end = token.token.data() + token.token.size();
    int64_t id = 0;
    const auto [stop, error] = std::from_chars(begin, end, id);
    if (error == std::errc() && stop == end) {
      token.id = id;
      token.bytes.reset();  // They spell the placeholder.
      anomalies->Note("tokens_as_ids");
    }
  }
  if (token.bytes && token.bytes->find(kReplacementCharacter) != std::string::npos) {
    anomalies->Note("bytes_unreliable");
  }
  return token;
}

std::vector<TokenLogprob> ReadEntries(JsonValue list, AnomalyList* anomalies) {
  std::vector<TokenLogprob> entries;
  entries.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const JsonValue value = list[i];
    TokenLogprob entry;
    entry.chosen = ReadAlternative(value, anomalies);
    const JsonValue top = FirstOf(value, {"top_logprobs", "top_probs"});
    entry.top.reserve(top.size());
    for (size_t k = 0; k < top.size(); ++k) {
      entry.top.push_back(ReadAlternative(top[k], anomalies));
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

// The lists of the older completions API, which some servers send in chat answers too:
// {"tokens":[..],"token_logprobs":[..],"top_logprobs":[{token: logprob}]}.
std::vector<TokenLogprob> ReadParallelLists(JsonValue logprobs, AnomalyList* anomalies) {
  const JsonValue tokens = logprobs["tokens"];
  const JsonValue values = logprobs["token_logprobs"];
  const JsonValue top = logprobs["top_logprobs"];
  if (tokens.size() != values.size()) {
    anomalies->Note("misaligned:tokens=" + std::to_string(tokens.size()) +
                    ",logprobs=" + std::to_string(values.size()));
  }
  std::vector<TokenLogprob> entries;
  for (size_t i = 0; i < std::min(tokens.size(), values.size()); ++i) {
    TokenLogprob entry;
    entry.chosen.token = tokens[i].AsString();
    ReadEscapedBytes(&entry.chosen);
    if (i == 0 && values[i].is_null()) {
      // An echoed prompt begins with a token that nothing came before.
      entry.chosen.logprob = kCensoredLogprob;
      entry.chosen.censored = true;
    } else {
      SetLogprob(values[i], &entry.chosen, anomalies);
    }
    const JsonValue alternatives = top[i];
    for (size_t k = 0; k < alternatives.size(); ++k) {
      TokenAlternative alternative;
      alternative.token = alternatives.KeyAt(k);
      ReadEscapedBytes(&alternative);
      SetLogprob(alternatives[k], &alternative, anomalies);
      entry.top.push_back(std::move(alternative));
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

// Google's: the chosen tokens in one list, the best ones at each place in another.
void AddTopCandidates(JsonValue lists, std::vector<TokenLogprob>* entries, AnomalyList* anomalies) {
  if (lists.size() > 0 && lists.size() != entries->size()) {
    anomalies->Note("misaligned:chosen=" + std::to_string(entries->size()) +
                    ",top=" + std::to_string(lists.size()));
    return;
  }
  for (size_t i = 0; i < lists.size(); ++i) {
    const JsonValue candidates = lists[i]["candidates"];
    for (size_t k = 0; k < candidates.size(); ++k) {
      (*entries)[i].top.push_back(ReadAlternative(candidates[k], anomalies));
    }
  }
}

// A lower bound of the text that an entry stands for.
size_t CoveredSize(const TokenLogprob& entry) {
  const std::string& text = entry.chosen.bytes ? *entry.chosen.bytes : entry.chosen.token;
  size_t size = text.size();
  // A part of a character that was sent as U+FFFD is one to three bytes of it.
  for (size_t at = text.find(kReplacementCharacter); at != std::string::npos;
       at = text.find(kReplacementCharacter, at + kReplacementCharacter.size())) {
    size -= kReplacementCharacter.size() - 1;
  }
  return size;
}

}  // namespace

LogprobSeries ReadPromptLogprobs(JsonValue list, JsonValue token_ids) {
  LogprobSeries series;
  AnomalyList anomalies;
  for (size_t i = 0; i < list.size(); ++i) {
    const JsonValue alternatives = list[i];
    TokenLogprob token;
    token.chosen.id = token_ids[i].AsInt64();
    token.chosen.logprob = kCensoredLogprob;
    token.chosen.censored = true;
    size_t chosen = 0;
    for (size_t k = 0; k < alternatives.size(); ++k) {
      TokenAlternative alternative = ReadAlternative(alternatives[k], &anomalies);
      const std::string id = alternatives.KeyAt(k);
      int64_t number = 0;
      const auto [stop, error] = std::from_chars(id.data(), id.data() + id.size(), number);
      if (error == std::errc() && stop == id.data() + id.size()) alternative.id = number;
      if (token.chosen.id && alternative.id == token.chosen.id) chosen = k;
      token.top.push_back(std::move(alternative));
    }
    if (!token.top.empty()) token.chosen = token.top[chosen];
    series.tokens.push_back(std::move(token));
  }
  if (token_ids.size() > 0 && token_ids.size() != list.size()) {
    anomalies.Note("misaligned:ids=" + std::to_string(token_ids.size()) +
                   ",logprobs=" + std::to_string(list.size()));
  }
  series.anomalies = anomalies.Take();
  return series;
}

void LogprobMerger::Add(const LogprobPiece& piece) {
  const bool is_content = piece.list_name == "content";
  std::vector<TokenLogprob> entries = ReadEntries(piece.logprobs[piece.list_name], &anomalies_);
  if (entries.empty() && is_content && piece.logprobs["tokens"].is_array()) {
    entries = ReadParallelLists(piece.logprobs, &anomalies_);
  }
  AddTopCandidates(piece.logprobs["topCandidates"], &entries, &anomalies_);
  text_size_ += piece.text.size();
  id_count_ += piece.token_ids.size();
  if (!entries.empty()) {
    text_size_ += piece.other_text_size;
    for (const TokenLogprob& entry : entries) covered_size_ += CoveredSize(entry);
    AddEntries(std::move(entries), piece.token_ids);
  } else if (piece.token_ids.size() > 0) {
    AddAbsentWithIds(piece.token_ids, piece.text);
  } else if (covered_size_ < text_size_) {
    PlaceHeldId();
    AddAbsent(piece.text);
  }
  covered_size_ = std::max(covered_size_, text_size_);
}

void LogprobMerger::AddEntries(std::vector<TokenLogprob> entries, JsonValue token_ids) {
  PlaceHeldId();
  for (; pending_absent_ > 0; --pending_absent_) {
    anomalies_.NoteAt("logprobs_absent", "token", static_cast<int64_t>(series_.tokens.size()));
    series_.tokens.push_back({.chosen = {.logprob = kCensoredLogprob, .censored = true}});
  }
  const bool ids_fit = token_ids.size() == entries.size();
  for (size_t i = 0; i < entries.size(); ++i) {
    if (ids_fit && !entries[i].chosen.id) entries[i].chosen.id = token_ids[i].AsInt64();
    series_.tokens.push_back(std::move(entries[i]));
  }
  entry_count_ += entries.size();
}

void LogprobMerger::AddAbsent(std::string_view text) {
  if (!asked_ && entry_count_ == 0) {
    ++pending_absent_;
    return;
  }
  anomalies_.NoteAt("logprobs_absent", "token", static_cast<int64_t>(series_.tokens.size()));
  series_.tokens.push_back(
      {.chosen = {.token = std::string(text), .logprob = kCensoredLogprob, .censored = true}});
}

void LogprobMerger::PlaceHeldId() {
  if (!held_id_) return;
  const int64_t id = *std::exchange(held_id_, std::nullopt);
  AddAbsent("");
  series_.tokens.back().chosen.id = id;
}

void LogprobMerger::AddAbsentWithIds(JsonValue token_ids, std::string_view text) {
  PlaceHeldId();
  if (text.empty() && entry_count_ > 0 && token_ids.size() == 1) {
    held_id_ = token_ids[0].AsInt64();
    if (held_id_) return;
  }
  for (size_t i = 0; i < token_ids.size(); ++i) {
    const size_t before = series_.tokens.size();
    AddAbsent(i == 0 ? text : std::string_view());
    if (series_.tokens.size() > before) series_.tokens.back().chosen.id = token_ids[i].AsInt64();
  }
}

LogprobSeries LogprobMerger::Take() {
  if (entry_count_ == 0) {
    // Nothing to align: the answer came without logprobs.
    const bool missed = asked_ && text_size_ > 0;
    series_.tokens.clear();
    if (missed) series_.anomalies.emplace_back("logprobs_absent");
    return std::move(series_);
  }
  if (held_id_) --id_count_;
  if (id_count_ > 0 && id_count_ != series_.tokens.size()) {
    anomalies_.Note("misaligned:ids=" + std::to_string(id_count_) +
                    ",logprobs=" + std::to_string(series_.tokens.size()));
  }
  series_.anomalies = anomalies_.Take();
  return std::move(series_);
}

}  // namespace reenact::schema::internal
