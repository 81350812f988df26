// Writes a small random model with a tokenizer of bytes and a chat template, for tests of programs
// that work on one:  make_model FOLDER
//
// The template is Hermes-like, and its markers are tokens as in the models that have them.

#include <cstdio>
#include <filesystem>
#include <string>

#include "tests/local_engine/engine/small_model.h"
#include "tests/local_engine/tokenizer/small_tokenizer.h"

namespace {

using reenact::local_engine::ByteLevelTokenizer;
using reenact::local_engine::RandomModelShape;
using reenact::local_engine::SmallShape;
using reenact::local_engine::SmallTokenizer;
using reenact::local_engine::WriteSmallModel;

constexpr const char* kTokenizerConfig = R"json({"eos_token": "<|end|>", "chat_template":
"{% if tools %}tools:{{ tools | tojson }}\n{% endif %}{% for message in messages %}{% if message.role == 'oracle' %}{{ raise_exception('there is no oracle') }}{% endif %}{{ message.role }}:{{ message.content or '' }}{% for call in message.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}<|end|>{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"})json";

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_model FOLDER\n");
    return 2;
  }
  const std::string folder = argv[1];
  std::filesystem::create_directories(folder);
  RandomModelShape shape = SmallShape();
  shape.vocabulary_size = 264;
  WriteSmallModel(folder, shape, "LlamaForCausalLM", ",\"eos_token_id\":260");
  const SmallTokenizer tokenizer = ByteLevelTokenizer();
  reenact::local_engine::WriteBytes(folder + "/tokenizer.json", tokenizer.Json());
  reenact::local_engine::WriteBytes(folder + "/tokenizer_config.json", kTokenizerConfig);
  return 0;
}
