#include "tools/reenact/engine/engine_model.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>

#include "local_engine/numerics/sha256.h"
#include "tools/reenact/io/progress.h"

namespace reenact::tools {

using local_engine::BackendKind;
using local_engine::Engine;
using local_engine::EngineIdentity;
using local_engine::EngineOptions;

void AddModelFlags(CLI::App* verb, ModelFlags* flags) {
  verb->add_option("--model", flags->path, "a Hugging Face folder, or a .gguf file")
      ->required()
      ->type_name("DIR|FILE");
  verb->add_option("--context", flags->context,
                   "at most so many tokens in prompt and answer; no more than the model has")
      ->check(InRange(1, 1 << 24))
      ->type_name("N")
      ->capture_default_str();
  verb->add_option("--threads", flags->threads, "to compute with; 0: as many as serve the model")
      ->check(InRange(0, 1024))
      ->type_name("N")
      ->capture_default_str();
  verb->add_flag("--mmap", flags->mmap,
                 "leave the weights in their file: starts faster, takes less memory, computes "
                 "slower");
}

void AddEngineFlags(CLI::App* verb, ModelFlags* flags) {
  verb->add_option_function<std::string>(
          "--device",
          [flags](const std::string& name) {
            flags->device = name == "cpu"    ? BackendKind::kCpu
                            : name == "cuda" ? BackendKind::kCuda
                                             : BackendKind::kAuto;
          },
          "cuda: an NVIDIA device, or an error; cpu; auto: the device where it can hold the model. "
          "The bits are the same")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->type_name("NAME")
      ->default_str("auto");
  verb->add_flag("--verify-weights", flags->verify_weights,
                 "read all weights for their digest, whatever is known of these files");
  verb->add_option("--profile", flags->profile,
                   "n1: the same bits whatever else runs; stock: as production kernels compute, "
                   "whose bits follow the load")
      ->check(CLI::IsMember({"n1", "stock"}))
      ->type_name("NAME")
      ->capture_default_str();
}

std::string DigestCacheFolder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  // The specification ignores paths that are not absolute.
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/reenact";
  const char* home = std::getenv("HOME");
  return home == nullptr || home[0] != '/' ? "" : std::string(home) + "/.cache/reenact";
}

absl::Status CheckModelPath(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    return absl::NotFoundError("there is no model at " + path +
                               ": --model is a Hugging Face folder or a .gguf file");
  }
  if (std::filesystem::is_directory(status)) {
    if (std::filesystem::exists(path + "/config.json", error)) return absl::OkStatus();
    return absl::NotFoundError(path +
                               " has no config.json: a model's folder holds config.json, "
                               "model.safetensors and tokenizer.json");
  }
  if (path.ends_with(".gguf")) return absl::OkStatus();
  return absl::InvalidArgumentError(
      path + " is no .gguf file; for safetensors, --model is the folder that it lies in");
}

EngineOptions ToEngineOptions(const ModelFlags& flags, EngineOptions options) {
  options.backend = flags.device;
  options.max_positions = flags.context;
  options.threads = flags.threads;
  options.mmap = flags.mmap;
  options.profile =
      flags.profile == "stock" ? local_engine::Profile::kStock : local_engine::Profile::kN1;
  options.digest_cache = DigestCacheFolder();
  options.verify_weights = flags.verify_weights;
  return options;
}

absl::StatusOr<std::unique_ptr<Engine>> LoadEngine(const ModelFlags& flags, const Context& context,
                                                   EngineOptions options) {
  if (absl::Status status = CheckModelPath(flags.path); !status.ok()) return status;
  options = ToEngineOptions(flags, std::move(options));
  std::optional<Progress> progress(std::in_place, context.progress, "loading, MB");
  options.on_load_progress = [&progress](int64_t done_bytes, int64_t total_bytes) {
    progress->Show(done_bytes / 1'000'000, total_bytes / 1'000'000);
  };
  absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Load(flags.path, options);
  progress.reset();  // Clears its line.
  if (engine.ok() && !(*engine)->device().message.empty()) {
    Note(context, (*engine)->device().message);
  }
  return engine;
}

void WriteIdentity(const EngineIdentity& identity, JsonWriter* json) {
  json->Key("engine");
  json->BeginObject();
  json->TextField("fingerprint", identity.Fingerprint());
  json->TextField("profile", identity.profile);
  json->TextField("engine_version", identity.engine_version);
  json->TextField("cache_type", identity.cache_type);
  json->TextField("weights", local_engine::HexText(identity.weights));
  json->TextField("configuration", local_engine::HexText(identity.configuration));
  json->TextField("rotary_tables", local_engine::HexText(identity.rotary_tables));
  json->TextField("tokenizer", local_engine::HexText(identity.tokenizer));
  json->TextField("chat_template", local_engine::HexText(identity.chat_template));
  json->EndObject();
}

}  // namespace reenact::tools
