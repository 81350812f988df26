// What a recorded model call says, whatever dialect it was spoken in: the one view that lists,
// timelines, diffs and statistics read. Derived from raw bytes; never stored as the record.

#ifndef REENACT_SCHEMA_MODEL_VIEW_H_
#define REENACT_SCHEMA_MODEL_VIEW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/dialect.h"
#include "schema/logprob.h"
#include "schema/record.h"

namespace reenact::schema {

struct ToolCall {
  std::optional<int64_t> index;
  std::string id;    // Empty where none was sent.
  std::string type;  // "function", "custom".
  std::string name;
  std::string arguments;  // Verbatim; may be no JSON.
};

struct Choice {
  int64_t index = 0;
  std::optional<std::string> content;  // Absent (null) is not empty.
  std::string reasoning;               // All spellings, joined.
  // What the provider wants back unread: signatures of reasoning, reasoning that it encrypted.
  std::vector<std::string> sealed_reasoning;
  std::string refusal;
  std::vector<ToolCall> tool_calls;
  std::string finish_reason;       // Empty where none was sent.
  std::string stopped_at;          // The stop sequence that was met, or its token id as digits.
  std::vector<int64_t> token_ids;  // Where offered, with or without logprobs.
  LogprobSeries logprobs;          // Of the content.
  LogprobSeries refusal_logprobs;
};

// How a provider said who answered.
enum class Presence : uint8_t { kAbsent, kNull, kEmpty, kValue };

struct Usage {
  std::optional<int64_t> prompt_tokens;  // All of them, cached ones too, whoever counts.
  std::optional<int64_t> completion_tokens;
  std::optional<int64_t> total_tokens;
  std::optional<int64_t> cached_tokens;
  std::optional<int64_t> cache_write_tokens;
  std::optional<int64_t> reasoning_tokens;
};

struct RequestMessage {
  std::string role;
  std::string text;  // Text parts joined; other parts as "[image_url]".
  std::string tool_call_id;
  std::vector<ToolCall> tool_calls;
};

struct ModelView {
  ModelDialect dialect = ModelDialect::kUnknown;

  // Request.
  std::string asked_model;
  bool stream = false;
  bool logprobs_asked = false;
  std::vector<RequestMessage> messages;

  // Answer (of the last attempt).
  std::string served_model;  // Empty: the answer named none. Never copied from asked_model.
  std::string response_id;
  Presence fingerprint_presence = Presence::kAbsent;
  std::string system_fingerprint;
  std::string service_tier;
  int32_t http_status = 0;
  std::vector<Choice> choices;  // By index.
  Usage usage;
  std::vector<int64_t> prompt_token_ids;  // Where offered.
  LogprobSeries prompt_logprobs;          // Of the prompt's tokens; the first has none (censored).
  // What else the answer says that has no place above, as written; bounded in number:
  // "timings.predicted_ms" = "81.25", "stop_details.category" = "cyber".
  Tags facts;
  std::string error_kind;  // "overloaded_error", "rate_limit_exceeded", "http_500"; empty: none.
  std::string error_message;
  bool end_marker = false;               // [DONE] was seen (streams) or the document was whole.
  std::optional<int64_t> first_byte_ns;  // From the beginning of the call.

  // The end state as it must be reported: the recorder's, corrected by what the bytes say. An error
  // inside a 200 is kProviderError; a stream that stops without finish reason or end mark is
  // kTruncated; a finish reason without end mark is complete.
  EndState end_state = EndState::kIncomplete;
  std::string end_detail;

  // Everything that a careful reader should know; bounded in number. Those of ParseSse and of
  // JsonDocument (of the request: "request:nan"), those of LogprobSeries, and
  //   of the body: "empty_body", "json_error", "json_error:event=3", "content_encoding:gzip",
  //     "ndjson", "unexpected_text", "unexpected_record:event=3", "incomplete_utf8";
  //   of its end: "no_terminal_event", "missing_done", "done_suffix", "records_after_done",
  //     "closed_after_end_mark", "finish_reason_absent:choice=1", "no_choices";
  //   of who answered: "id_changed", "model_changed", "system_fingerprint_changed";
  //   of tool calls: "index_collision", "tool_index_missing", "ambiguous_tool_delta" (a fragment
  //     that fits several calls; it is in the raw bytes only), "tool_call_id_changed",
  //     "arguments_not_string", "too_many_tool_calls";
  //   of choices: "choice_without_index", "content_parts", "message_in_stream",
  //     "too_many_choices".
  //   of dialects: "not_self_contained:previous_response_id" (the provider keeps part of the
  //     request), "event_name_missing" (official clients ignore such records), "unknown_event",
  //     "unknown_block", "block_without_start", "second_message_start", "blocked:SAFETY",
  //     "tool_input_invalid", "post_sampling_probs".
  // A place in another choice than the first is named: "logprobs_absent:choice=1,token=3".
  std::vector<std::string> anomalies;
};

// Never fails: what cannot be read is an anomaly, and fields stay empty. Does not depend on how the
// bytes were cut into reads. Of an unknown dialect only the status, the asked model and the end are
// known.
// Cost: linear in the bytes; about 1.5 µs a chunk of a stream.
ModelView ViewModelCall(const Event& event);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_MODEL_VIEW_H_
