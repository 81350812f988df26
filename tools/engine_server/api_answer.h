// What the engine makes of a request, as OpenAI's API answers it: whole, or as a stream of records.
//
// Beside the fields of the API there are `seed`, which gives the same answer again, and, where
// return_token_ids asked for them, prompt_token_ids and token_ids. A logprob is the model's own, of
// the raw logits, written so that reading it as a double and rounding to binary32 gives its bits.
// The token that ends an answer counts in the usage and in token_ids; it has no place in text and
// logprobs.

#ifndef REENACT_TOOLS_ENGINE_SERVER_API_ANSWER_H_
#define REENACT_TOOLS_ENGINE_SERVER_API_ANSWER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "local_engine/engine.h"
#include "tools/engine_server/api_error.h"
#include "tools/engine_server/api_request.h"
#include "tools/engine_server/engine_thread.h"

namespace reenact::engine_server {

struct AnswerHead {
  std::string id;
  int64_t created_s = 0;
  std::string model;
  int64_t seed = 0;
};

class ApiAnswer {
 public:
  // `request` and `engine` outlive it. The request has its prompt.
  ApiAnswer(const ApiRequest& request, const local_engine::Engine& engine, AnswerHead head);
  ~ApiAnswer();

  // The records that open a stream.
  std::string Begin();

  // What an event adds to the answer, and the records for it; empty when nothing is certain yet.
  std::string Add(const TokenEvent& event);

  // The records that end a stream: with the usage where it was asked for, or with an error.
  std::string End(const local_engine::Answer& answer);
  static std::string EndWith(const ApiError& error);

  // The whole answer, after all events.
  std::string Whole(const local_engine::Answer& answer);

 private:
  struct Parts;

  std::unique_ptr<Parts> parts_;
};

}  // namespace reenact::engine_server

#endif  // REENACT_TOOLS_ENGINE_SERVER_API_ANSWER_H_
