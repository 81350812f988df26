// The older completions API of OpenAI, which vLLM, SGLang and llama.cpp serve as well: a prompt in,
// text out, logprobs in parallel lists.

#ifndef REENACT_SCHEMA_OPENAI_COMPLETIONS_H_
#define REENACT_SCHEMA_OPENAI_COMPLETIONS_H_

#include <cstdint>
#include <memory>

#include "schema/internal/answer_reader.h"
#include "schema/json_view.h"
#include "schema/model_view.h"

namespace reenact::schema {

// Fills the request's half of `view`. Returns the number of choices asked for.
int64_t ReadCompletionsRequest(JsonValue request, ModelView* view,
                               internal::AnomalyList* anomalies);

std::unique_ptr<internal::AnswerReader> MakeCompletionsReader(int64_t choices_asked,
                                                              ModelView* view,
                                                              internal::AnomalyList* anomalies);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_OPENAI_COMPLETIONS_H_
