#include "local_engine/model/load_model.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/model/model_config.h"
#include "local_engine/model/model_weights.h"
#include "local_engine/weights/gguf.h"
#include "local_engine/weights/mapped_file.h"
#include "local_engine/weights/safetensors.h"

namespace reenact::local_engine {
namespace {

absl::StatusOr<std::unique_ptr<const Model>> Bind(const std::string& path, TensorNames names,
                                                  std::unique_ptr<Model> model) {
  absl::StatusOr<ModelWeights> weights = BindWeights(path, model->config, model->tensors, names);
  if (!weights.ok()) return weights.status();
  model->weights = *std::move(weights);
  return model;
}

absl::StatusOr<std::unique_ptr<const Model>> LoadFolder(const std::string& folder) {
  const std::string config_path = folder + "/config.json";
  const absl::StatusOr<std::shared_ptr<const MappedFile>> text = MappedFile::Open(config_path);
  if (!text.ok()) return text.status();
  const auto* characters = reinterpret_cast<const char*>((*text)->bytes().data());
  absl::StatusOr<ModelConfig> config =
      ReadConfigJson(config_path, std::string_view(characters, (*text)->bytes().size()));
  if (!config.ok()) return config.status();
  absl::StatusOr<TensorSet> tensors = OpenSafetensorsFolder(folder);
  if (!tensors.ok()) return tensors.status();
  auto model = std::make_unique<Model>();
  model->config = *std::move(config);
  model->tensors = *std::move(tensors);
  return Bind(folder, TensorNames::kHuggingFace, std::move(model));
}

absl::StatusOr<std::unique_ptr<const Model>> LoadGguf(const std::string& path) {
  absl::StatusOr<GgufFile> gguf = OpenGguf(path);
  if (!gguf.ok()) return gguf.status();
  absl::StatusOr<ModelConfig> config = ReadGgufConfig(path, *gguf);
  if (!config.ok()) return config.status();
  auto model = std::make_unique<Model>();
  model->config = *std::move(config);
  model->tensors = std::move(gguf->tensors);
  return Bind(path, TensorNames::kGguf, std::move(model));
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Model>> LoadModel(const std::string& path) {
  return path.ends_with(".gguf") ? LoadGguf(path) : LoadFolder(path);
}

}  // namespace reenact::local_engine
