// A conversation with a model as its requests hold it: what tools have told the model, and the
// request that follows an answer. In the dialects in which a request is the whole conversation.

#ifndef REENACT_REPLAYER_RERUN_CONVERSATION_H_
#define REENACT_REPLAYER_RERUN_CONVERSATION_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "schema/dialect.h"
#include "schema/model_view.h"

namespace reenact::rerun {

// What a tool answered, as the model is told it.
struct ToolMessage {
  std::string call_id;
  std::string content;    // A JSON text: a string, or a list of parts.
  bool is_error = false;  // Anthropic's dialect alone tells.
};

// Those of `next` that `request` does not have yet, in order.
std::vector<ToolMessage> NewToolMessages(schema::ModelDialect dialect, std::string_view request,
                                         std::string_view next);

// Whether `next` goes on where `call` and its answer ended: it has the messages of `call`, and then
// one of the assistant that asks for the same first tool, if any. Ids do not count.
bool Continues(const schema::ModelView& call, const schema::ModelView& next);

// `request` with the answer and what its tools said behind its messages; all other bytes stay.
// Errors: Unimplemented where such a request is not the whole conversation: the provider keeps part
// of it, or the dialect has no tools; InvalidArgument where it has no messages.
absl::StatusOr<std::string> RequestAfter(schema::ModelDialect dialect, std::string_view request,
                                         const schema::Choice& answer,
                                         const std::vector<ToolMessage>& tools);

}  // namespace reenact::rerun

#endif  // REENACT_REPLAYER_RERUN_CONVERSATION_H_
