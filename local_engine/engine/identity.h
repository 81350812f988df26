// The identity of a loaded model: what its answers are a function of.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_IDENTITY_H_
#define REENACT_LOCAL_ENGINE_ENGINE_IDENTITY_H_

#include <cstdint>
#include <string_view>

#include "absl/functional/function_ref.h"

#include "local_engine/engine.h"
#include "local_engine/model/load_model.h"
#include "local_engine/tokenizer/tokenizer.h"

namespace reenact::local_engine {

// Reads every byte of the weights, and tells `on_read` how many after some megabytes each; they do
// not stay in the process's memory. `tokenizer` may be null, `chat_template` empty.
EngineIdentity IdentityOf(const Model& model, Profile profile, const Tokenizer* tokenizer,
                          std::string_view chat_template,
                          absl::FunctionRef<void(int64_t bytes)> on_read);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_IDENTITY_H_
