// The tokenizer and the chat template that come with a model, in a folder or in a GGUF file.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_LOAD_TEXT_H_
#define REENACT_LOCAL_ENGINE_ENGINE_LOAD_TEXT_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "local_engine/chat_template/chat_template.h"
#include "local_engine/tokenizer/tokenizer.h"

namespace reenact::local_engine {

struct ModelText {
  std::optional<Tokenizer> tokenizer;
  std::string template_source;  // Empty where there is none.
  std::optional<ChatTemplate> chat_template;
  std::vector<std::pair<std::string, std::string>> special_tokens;  // {"bos_token", "<s>"}
};

// What is not there is left out; what is there and cannot be read is an error that names the file.
absl::StatusOr<ModelText> LoadText(const std::string& model_path);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_LOAD_TEXT_H_
