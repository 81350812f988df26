// A recorded model call as it is asked again: its bytes, and the few members that were changed on
// purpose, each of which is named.

#ifndef REENACT_REPLAYER_RERUN_QUESTION_H_
#define REENACT_REPLAYER_RERUN_QUESTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/dialect.h"
#include "schema/record.h"

namespace reenact::rerun {

// What to change in a request. Each is left out where the dialect has no such member.
struct RequestEdits {
  std::optional<std::string> model;  // Instead of the recorded name.
  // Asks for logprobs and, in chats, `top_logprobs` alternatives, unless the request does already.
  bool logprobs = false;
  int64_t top_logprobs = 5;
  bool token_ids = false;        // return_token_ids, which vLLM, SGLang and our engine know.
  std::optional<uint64_t> seed;  // Sets it.
  std::optional<int64_t> max_tokens;
  // Nothing but a member that this asks for differs from the recorded bytes.
};

struct Question {
  schema::ModelDialect dialect = schema::ModelDialect::kUnknown;
  std::string provider;  // As recorded: "openai".
  std::string endpoint;  // As recorded: a URL, or empty.
  std::string name;      // "chat"
  std::string scope;
  schema::Headers headers;           // Recorded ones that change an answer: "anthropic-beta".
  std::string request;               // The bytes to send.
  std::vector<std::string> changes;  // "logprobs", "seed": members that are not as recorded.
};

// The recorded bytes where `edits` is empty; else the same bytes but for the members it names.
// A request that is no JSON object stays as it is.
Question QuestionOf(const schema::Event& call, const RequestEdits& edits);

// `object`, a JSON object's text, with one member set to `value`, a JSON text; all other bytes
// stay. Of a key that stands there twice, the last is set, which is the one that counts. Nothing
// when `object` is no object.
std::optional<std::string> WithMember(std::string_view object, std::string_view key,
                                      std::string_view value);

}  // namespace reenact::rerun

#endif  // REENACT_REPLAYER_RERUN_QUESTION_H_
