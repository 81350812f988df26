// The identity of a loaded model: what its answers are a function of.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_IDENTITY_H_
#define REENACT_LOCAL_ENGINE_ENGINE_IDENTITY_H_

#include <string_view>

#include "local_engine/engine.h"
#include "local_engine/model/load_model.h"
#include "local_engine/numerics/sha256.h"
#include "local_engine/tokenizer/tokenizer.h"

namespace reenact::local_engine {

// `weights`: their digest. `tokenizer` may be null, `chat_template` empty.
EngineIdentity IdentityOf(const Model& model, const Sha256Digest& weights, Profile profile,
                          const Tokenizer* tokenizer, std::string_view chat_template);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_IDENTITY_H_
