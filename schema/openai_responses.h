// The Responses API: an answer is a list of items (messages, reasoning, calls of tools), read as
// one choice. Its streams name every step; the last event holds the whole answer and decides.

#ifndef REENACT_SCHEMA_OPENAI_RESPONSES_H_
#define REENACT_SCHEMA_OPENAI_RESPONSES_H_

#include <cstdint>
#include <memory>

#include "schema/internal/answer_reader.h"
#include "schema/json_view.h"
#include "schema/model_view.h"

namespace reenact::schema {

// Fills the request's half of `view`. Returns the number of choices asked for.
int64_t ReadResponsesRequest(JsonValue request, ModelView* view, internal::AnomalyList* anomalies);

std::unique_ptr<internal::AnswerReader> MakeResponsesReader(int64_t choices_asked, ModelView* view,
                                                            internal::AnomalyList* anomalies);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_OPENAI_RESPONSES_H_
