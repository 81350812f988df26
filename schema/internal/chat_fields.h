// The parts that whole answers and chunks of a stream have in common: who answered, usage, error
// objects, reasoning in its spellings, text that may be a list of parts.

#ifndef REENACT_SCHEMA_INTERNAL_CHAT_FIELDS_H_
#define REENACT_SCHEMA_INTERNAL_CHAT_FIELDS_H_

#include <string>
#include <string_view>

#include "schema/internal/anomaly_list.h"
#include "schema/json_view.h"
#include "schema/model_view.h"

namespace reenact::schema::internal {

// Takes id, model, fingerprint and service tier. Called for each chunk: the first one that has a
// value decides (Azure's first frame has empty ones), except for the tier, where the last does. A
// value that changes within one answer is reported ("model_changed").
void ReadIdentity(JsonValue object, ModelView* view, AnomalyList* anomalies);

// Nothing happens unless `usage` is an object; then all fields are replaced (vLLM repeats it,
// cumulated, on every chunk).
void ReadUsage(JsonValue usage, Usage* out);

// JavaScript's idea of truth, which is what official clients ask of "error".
bool IsTruthy(JsonValue value);
// Takes the kind and the message of an error object, a string, or either of them nested in
// {"error":..}. The first error of an answer stays.
void ReadError(JsonValue error, ModelView* view);

// A string, or the texts of a list of parts; other parts as "[image_url]".
std::string ReadText(JsonValue content);

// Everything that a message or a delta holds of reasoning: "reasoning", "reasoning_content" and
// "reasoning_details". Servers in transition send one text under two names; it is taken once.
std::string ReadReasoning(JsonValue message);

// Repeats the findings of a choice's logprobs among those of the whole answer, with the choice
// named where it is not the first: "logprobs_absent:choice=1,token=3".
void NoteLogprobFindings(const Choice& choice, AnomalyList* anomalies);

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_CHAT_FIELDS_H_
