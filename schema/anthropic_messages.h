// Anthropic's Messages, in both API versions, and its count_tokens: an answer is a list of blocks,
// read as one choice. Also what Bedrock and Vertex serve of it.

#ifndef REENACT_SCHEMA_ANTHROPIC_MESSAGES_H_
#define REENACT_SCHEMA_ANTHROPIC_MESSAGES_H_

#include <cstdint>
#include <memory>

#include "schema/internal/answer_reader.h"
#include "schema/json_view.h"
#include "schema/model_view.h"

namespace reenact::schema {

// Fills the request's half of `view`. Returns the number of choices asked for.
int64_t ReadAnthropicRequest(JsonValue request, ModelView* view, internal::AnomalyList* anomalies);

std::unique_ptr<internal::AnswerReader> MakeAnthropicReader(int64_t choices_asked, ModelView* view,
                                                            internal::AnomalyList* anomalies);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_ANTHROPIC_MESSAGES_H_
