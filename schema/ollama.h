// Ollama's own interface: /api/chat, /api/generate and /api/embed, streamed as lines of JSON.

#ifndef REENACT_SCHEMA_OLLAMA_H_
#define REENACT_SCHEMA_OLLAMA_H_

#include <cstdint>
#include <memory>

#include "schema/internal/answer_reader.h"
#include "schema/json_view.h"
#include "schema/model_view.h"

namespace reenact::schema {

// Fills the request's half of `view`. Returns the number of choices asked for.
int64_t ReadOllamaRequest(JsonValue request, ModelView* view, internal::AnomalyList* anomalies);

std::unique_ptr<internal::AnswerReader> MakeOllamaReader(int64_t choices_asked, ModelView* view,
                                                         internal::AnomalyList* anomalies);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_OLLAMA_H_
