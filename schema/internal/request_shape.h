// What the body of a request looks like, where its path does not tell what it is.

#ifndef REENACT_SCHEMA_INTERNAL_REQUEST_SHAPE_H_
#define REENACT_SCHEMA_INTERNAL_REQUEST_SHAPE_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "schema/dialect.h"
#include "schema/json_view.h"

namespace reenact::schema::internal {

// What a body must have for a path that others use as well.
enum class Evidence : uint8_t {
  kNone,        // The path is enough.
  kChat,        // "model" and a list of "messages".
  kMessages,    // A chat with "max_tokens", which Anthropic's API demands.
  kPrompt,      // "model" and "prompt".
  kBarePrompt,  // "prompt": llama.cpp's own endpoint serves one model.
  kInput,       // "model" and "input".
  kBareInput,   // "input": a deployment of Azure's is one model.
  kModel,       // "model".
  kSampling,    // SGLang's own: "text" or "input_ids", and "sampling_params".
  kClaude,      // "anthropic_version": Claude at Amazon's and Google's.
  kProvider,    // Nothing in the body tells: the provider must be known.
};

// Parses the body when it is first asked. `body` must outlive it.
class RequestShape {
 public:
  explicit RequestShape(std::string_view body) : body_(body) {}

  bool Has(Evidence evidence);

  // By the body alone, for the provider named in lower case or "".
  ModelDialect DialectFor(std::string_view provider);

  // The root of the body; absent where it is no JSON.
  JsonValue root();

 private:
  bool HasAny(std::initializer_list<std::string_view> keys);

  std::string_view body_;
  bool parsed_ = false;
  std::unique_ptr<JsonDocument> document_;
};

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_REQUEST_SHAPE_H_
