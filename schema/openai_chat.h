// The OpenAI chat-completions dialect as OpenAI, Azure, vLLM, SGLang, llama.cpp, Ollama and their
// like speak it. Reads requests, whole answers, streams and errors into a ModelView; what departs
// from the documented form is read where it has one meaning, and always reported.

#ifndef REENACT_SCHEMA_OPENAI_CHAT_H_
#define REENACT_SCHEMA_OPENAI_CHAT_H_

#include <cstdint>
#include <memory>

#include "schema/internal/answer_reader.h"
#include "schema/json_view.h"
#include "schema/model_view.h"

namespace reenact::schema {

// Fills the request's half of `view`. Returns the number of choices asked for (1 by default).
int64_t ReadChatRequest(JsonValue request, ModelView* view, internal::AnomalyList* anomalies);

// Reads an answer that is one JSON document, be it a completion or an error.
void ReadChatDocument(JsonValue document, ModelView* view, internal::AnomalyList* anomalies);

// Needs view->logprobs_asked.
std::unique_ptr<internal::AnswerReader> MakeChatReader(int64_t choices_asked, ModelView* view,
                                                       internal::AnomalyList* anomalies);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_OPENAI_CHAT_H_
