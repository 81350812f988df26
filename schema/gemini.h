// Google's generateContent, streamed as events or as a list, and its countTokens and embedContent.

#ifndef REENACT_SCHEMA_GEMINI_H_
#define REENACT_SCHEMA_GEMINI_H_

#include <cstdint>
#include <memory>

#include "schema/internal/answer_reader.h"
#include "schema/json_view.h"
#include "schema/model_view.h"

namespace reenact::schema {

// Fills the request's half of `view`. Returns the number of choices asked for.
int64_t ReadGeminiRequest(JsonValue request, ModelView* view, internal::AnomalyList* anomalies);

std::unique_ptr<internal::AnswerReader> MakeGeminiReader(int64_t choices_asked, ModelView* view,
                                                         internal::AnomalyList* anomalies);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_GEMINI_H_
