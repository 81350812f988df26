#include "local_engine/engine/load_text.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/tokenizer/embedded_vocabulary.h"
#include "local_engine/tokenizer/tokenizer_json.h"
#include "local_engine/weights/gguf.h"
#include "local_engine/weights/mapped_file.h"
#include "nlohmann/json.hpp"

namespace reenact::local_engine {
namespace {

using Json = nlohmann::json;

absl::Status Named(const std::string& file, const absl::Status& status) {
  return {status.code(), file + ": " + std::string(status.message())};
}

// The whole text of a file; nothing where there is no such file, or it is empty.
absl::StatusOr<std::string> ReadIfThere(const std::string& path) {
  const absl::StatusOr<std::shared_ptr<const MappedFile>> file = MappedFile::Open(path);
  if (absl::IsNotFound(file.status())) return std::string();
  if (!file.ok()) return file.status();
  return std::string(reinterpret_cast<const char*>((*file)->bytes().data()),
                     (*file)->bytes().size());
}

// A special token is its text, or an object that holds it.
std::string TokenText(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && value.contains("content") && value["content"].is_string()) {
    return value["content"].get<std::string>();
  }
  return "";
}

// One template, or a list of named ones of which the default is meant.
std::string TemplateText(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return "";
  for (const Json& entry : value) {
    const bool named = entry.is_object() && entry.contains("name") && entry.contains("template");
    if (named && entry["name"] == "default" && entry["template"].is_string()) {
      return entry["template"].get<std::string>();
    }
  }
  return "";
}

absl::Status ReadTokenizerConfig(const std::string& path, ModelText* text) {
  const absl::StatusOr<std::string> content = ReadIfThere(path);
  if (!content.ok()) return content.status();
  if (content->empty()) return absl::OkStatus();
  const Json config = Json::parse(*content, nullptr, false);
  if (!config.is_object()) return absl::InvalidArgumentError(path + ": not a JSON object");
  for (const auto& [key, value] : config.items()) {
    const std::string token = key.ends_with("_token") ? TokenText(value) : "";
    if (!token.empty()) text->special_tokens.emplace_back(key, token);
  }
  if (config.contains("chat_template")) {
    text->template_source = TemplateText(config["chat_template"]);
  }
  return absl::OkStatus();
}

absl::StatusOr<ModelText> LoadFolderText(const std::string& folder) {
  ModelText text;
  const std::string tokenizer_path = folder + "/tokenizer.json";
  const absl::StatusOr<std::string> tokenizer_json = ReadIfThere(tokenizer_path);
  if (!tokenizer_json.ok()) return tokenizer_json.status();
  if (!tokenizer_json->empty()) {
    absl::StatusOr<Tokenizer> tokenizer = TokenizerFromJson(*tokenizer_json);
    if (!tokenizer.ok()) return Named(tokenizer_path, tokenizer.status());
    text.tokenizer.emplace(*std::move(tokenizer));
  }
  absl::Status status = ReadTokenizerConfig(folder + "/tokenizer_config.json", &text);
  if (!status.ok()) return status;
  const absl::StatusOr<std::string> jinja = ReadIfThere(folder + "/chat_template.jinja");
  if (!jinja.ok()) return jinja.status();
  if (!jinja->empty()) text.template_source = *jinja;
  return text;
}

class Metadata {
 public:
  explicit Metadata(const GgufFile& gguf) : values_(gguf.metadata) {}

  template <typename T>
  const T* Find(const std::string& key) const {
    const auto found = values_.find("tokenizer." + key);
    return found == values_.end() ? nullptr : std::get_if<T>(&found->second);
  }

  template <typename T>
  T Or(const std::string& key, T otherwise) const {
    const T* value = Find<T>(key);
    return value == nullptr ? otherwise : *value;
  }

  std::optional<uint32_t> Id(const std::string& key) const {
    const auto* value = Find<uint64_t>(key);
    if (value == nullptr) return std::nullopt;
    return static_cast<uint32_t>(*value);
  }

 private:
  const std::map<std::string, GgufValue>& values_;
};

EmbeddedVocabulary VocabularyOf(const Metadata& metadata) {
  EmbeddedVocabulary vocabulary;
  vocabulary.model = metadata.Or<std::string>("ggml.model", "");
  vocabulary.pre = metadata.Or<std::string>("ggml.pre", "");
  vocabulary.pieces = metadata.Or<std::vector<std::string>>("ggml.tokens", {});
  for (double score : metadata.Or<std::vector<double>>("ggml.scores", {})) {
    vocabulary.scores.push_back(static_cast<float>(score));
  }
  for (int64_t type : metadata.Or<std::vector<int64_t>>("ggml.token_type", {})) {
    vocabulary.types.push_back(static_cast<int32_t>(type));
  }
  vocabulary.merges = metadata.Or<std::vector<std::string>>("ggml.merges", {});
  vocabulary.add_space_prefix = metadata.Or("ggml.add_space_prefix", true);
  vocabulary.unknown_id = metadata.Id("ggml.unknown_token_id");
  // Files that do not say: those with scores, and those of Llama 3, begin a text with their token.
  const bool begins = vocabulary.model == "llama" || vocabulary.pre == "llama-bpe";
  if (metadata.Or("ggml.add_bos_token", begins)) {
    vocabulary.bos_id = metadata.Id("ggml.bos_token_id");
  }
  if (metadata.Or("ggml.add_eos_token", false)) {
    vocabulary.eos_id = metadata.Id("ggml.eos_token_id");
  }
  return vocabulary;
}

absl::StatusOr<ModelText> LoadGgufText(const std::string& path) {
  const absl::StatusOr<GgufFile> gguf = OpenGguf(path);
  if (!gguf.ok()) return gguf.status();
  const Metadata metadata(*gguf);
  ModelText text;
  text.template_source = metadata.Or<std::string>("chat_template", "");
  const EmbeddedVocabulary vocabulary = VocabularyOf(metadata);
  if (vocabulary.model.empty()) return text;
  absl::StatusOr<TokenizerConfig> config = ConfigFromEmbedded(vocabulary);
  if (!config.ok()) return Named(path, config.status());
  absl::StatusOr<Tokenizer> tokenizer = Tokenizer::Create(*std::move(config));
  if (!tokenizer.ok()) return Named(path, tokenizer.status());
  text.tokenizer.emplace(*std::move(tokenizer));
  for (const auto& [name, key] :
       {std::pair("bos_token", "ggml.bos_token_id"), std::pair("eos_token", "ggml.eos_token_id"),
        std::pair("unk_token", "ggml.unknown_token_id"),
        std::pair("pad_token", "ggml.padding_token_id")}) {
    const std::optional<uint32_t> id = metadata.Id(key);
    if (id.has_value() && *id < vocabulary.pieces.size()) {
      text.special_tokens.emplace_back(name, vocabulary.pieces[*id]);
    }
  }
  return text;
}

}  // namespace

absl::StatusOr<ModelText> LoadText(const std::string& model_path) {
  absl::StatusOr<ModelText> text =
      model_path.ends_with(".gguf") ? LoadGgufText(model_path) : LoadFolderText(model_path);
  if (!text.ok() || text->template_source.empty()) return text;
  absl::StatusOr<ChatTemplate> chat_template = ChatTemplate::Parse(text->template_source);
  if (!chat_template.ok()) return Named(model_path + ", chat template", chat_template.status());
  text->chat_template.emplace(*std::move(chat_template));
  return text;
}

}  // namespace reenact::local_engine
