// The parts that whole answers and chunks of a stream have in common: who answered, usage, error
// objects, reasoning in its spellings, text that may be a list of parts.

#ifndef REENACT_SCHEMA_INTERNAL_CHAT_FIELDS_H_
#define REENACT_SCHEMA_INTERNAL_CHAT_FIELDS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

// What a whole document says went wrong: {"error":..}, SGLang's error object, or, with a status
// that says so, a "message" (many gateways) or a "detail" (FastAPI).
void ReadTopLevelError(JsonValue document, ModelView* view);

// A prompt, or what is to be embedded: a text, a list of texts, token ids in place of a text. One
// message of this role each.
void ReadInputs(JsonValue input, std::string_view role, ModelView* view);

// A string, or the texts of a list of parts; other parts as "[image_url]".
std::string ReadText(JsonValue content);

// Everything that a message or a delta holds of reasoning: "reasoning", "reasoning_content" and
// "reasoning_details". Servers in transition send one text under two names; it is taken once.
std::string ReadReasoning(JsonValue message);

// The stop sequence that a server says it met, or its token's id: "stop_reason" (vLLM) or
// "matched_stop" (SGLang).
std::string ReadStop(JsonValue choice);
// Appends what is a list of numbers.
void AppendTokenIds(JsonValue list, std::vector<int64_t>* ids);

// What vLLM, SGLang, llama.cpp and Azure put at the top of an answer or of a choice: the prompt's
// tokens and logprobs, timings, metrics, the settings that were in force, filter results.
void ReadServerExtras(JsonValue object, ModelView* view, AnomalyList* anomalies);

// Puts the scalars of `value` into view->facts, each under its path below `name`
// ("timings.prompt_ms"); one that is there already is replaced. Nothing for an absent value, or
// null.
void NoteFacts(std::string_view name, JsonValue value, ModelView* view);

// Repeats the findings of a choice's logprobs among those of the whole answer, with the choice
// named where it is not the first: "logprobs_absent:choice=1,token=3".
void NoteLogprobFindings(const Choice& choice, AnomalyList* anomalies);

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_CHAT_FIELDS_H_
