// The model that an `engine` verb works on: its flags, and loading it.

#ifndef REENACT_TOOLS_REENACT_ENGINE_ENGINE_MODEL_H_
#define REENACT_TOOLS_REENACT_ENGINE_ENGINE_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/engine.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {

struct ModelFlags {
  std::string path;
  local_engine::BackendKind device = local_engine::BackendKind::kAuto;
  int32_t context = 4096;
  int32_t threads = 0;
  bool mmap = false;
  bool verify_weights = false;
  std::string profile = "n1";
};

// --model, which is required, and how it is loaded.
void AddModelFlags(CLI::App* verb, ModelFlags* flags);

// --device, --verify-weights and --profile, for verbs whose engine is LoadEngine's.
void AddEngineFlags(CLI::App* verb, ModelFlags* flags);

// Where digests of weights are kept: $XDG_CACHE_HOME/reenact, else ~/.cache/reenact; empty where
// there is neither.
std::string DigestCacheFolder();

// Whether there is a model to load: a Hugging Face folder or a .gguf file. The error says what is
// there instead.
absl::Status CheckModelPath(const std::string& path);

// What the flags say, over `options`.
local_engine::EngineOptions ToEngineOptions(const ModelFlags& flags,
                                            local_engine::EngineOptions options = {});

// Loads it, with progress where `context` wants it, and says where it is not on a device and why.
// Errors: those of CheckModelPath and
// Engine::Load.
absl::StatusOr<std::unique_ptr<local_engine::Engine>> LoadEngine(
    const ModelFlags& flags, const Context& context, local_engine::EngineOptions options = {});

// The field "engine" of a document: fingerprint, and each part of the identity.
void WriteIdentity(const local_engine::EngineIdentity& identity, JsonWriter* json);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_ENGINE_ENGINE_MODEL_H_
