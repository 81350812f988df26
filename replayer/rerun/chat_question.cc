#include "replayer/rerun/chat_question.h"

#include "absl/strings/str_cat.h"

namespace reenact::rerun {

Question ChatQuestion(std::string_view messages, const ChatSettings& settings) {
  // The model's name is the only text that has to be quoted, which WithMember's edits know how to.
  schema::Event call;
  call.boundary = schema::Boundary::kModel;
  call.name = "chat";
  call.provider = "openai";
  call.request.bytes = absl::StrCat("{\"messages\":", std::string(messages));
  if (settings.temperature)
    absl::StrAppend(&call.request.bytes, ",\"temperature\":", *settings.temperature);
  call.request.bytes += "}";
  RequestEdits edits{.model = settings.model,
                     .logprobs = settings.top_logprobs > 0,
                     .top_logprobs = settings.top_logprobs};
  if (settings.seed) edits.seed = static_cast<uint64_t>(*settings.seed);
  edits.max_tokens = settings.max_tokens;
  Question question = QuestionOf(call, edits);
  question.dialect = schema::ModelDialect::kOpenAiChat;
  question.changes.clear();  // There is no record that they would change.
  return question;
}

}  // namespace reenact::rerun
