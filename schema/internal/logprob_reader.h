// From the wire's logprobs to a LogprobSeries, and from the pieces of a stream to one series in
// which token i is token i.

#ifndef REENACT_SCHEMA_INTERNAL_LOGPROB_READER_H_
#define REENACT_SCHEMA_INTERNAL_LOGPROB_READER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/internal/anomaly_list.h"
#include "schema/json_view.h"
#include "schema/logprob.h"

namespace reenact::schema::internal {

// What one delta (or a whole message) brought.
struct LogprobPiece {
  // The choice's "logprobs"; may be null or absent. A list of entries under `list_name`; for
  // "content" also the parallel lists of the older completions API.
  JsonValue logprobs;
  std::string_view list_name;  // "content", "refusal"; "chosenCandidates" in Google's result.
  std::string_view text;       // The text that these tokens spell.
  size_t other_text_size = 0;  // Of reasoning and tool arguments, whose tokens share the list.
  JsonValue token_ids;         // vLLM's "token_ids"; may be absent.
};

// vLLM's "prompt_logprobs": for each token of the prompt its alternatives by token id, itself among
// them (the first one, where `token_ids` do not tell). The first token has none: it keeps its
// place, censored.
LogprobSeries ReadPromptLogprobs(JsonValue list, JsonValue token_ids);

// Joins pieces in order. A piece with text and without entries is a token (or several) whose
// logprobs the server kept to itself: it takes a place in the series, empty and censored, so that
// later tokens do not move, and is reported as "logprobs_absent:token=3". Servers also hold text
// back until a character is whole; text whose entries came earlier is not reported.
class LogprobMerger {
 public:
  // `asked`: the request wanted logprobs. Else a series begins with the first entry that arrives.
  explicit LogprobMerger(bool asked) : asked_(asked) {}

  void Add(const LogprobPiece& piece);
  // The series, and its findings. No entries at all: an empty series.
  LogprobSeries Take();

 private:
  void AddEntries(std::vector<TokenLogprob> entries, JsonValue token_ids);
  void AddAbsent(std::string_view text);
  void AddAbsentWithIds(JsonValue token_ids, std::string_view text);
  void PlaceHeldId();

  bool asked_;
  LogprobSeries series_;
  AnomalyList anomalies_;
  // Without text and without a logprob: the mark that ends an answer, unless something follows.
  std::optional<int64_t> held_id_;
  int64_t pending_absent_ = 0;  // Absent tokens before the first entry, when none were asked for.
  size_t entry_count_ = 0;      // Without the places of absent ones.
  size_t id_count_ = 0;
  size_t text_size_ = 0;     // Bytes of text so far, and how many of them the entries account for:
  size_t covered_size_ = 0;  // ahead while text is held back.
};

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_LOGPROB_READER_H_
