// Writes a small model with a tokenizer of bytes and a chat template, for tests of programs that
// work on one:
//
//   make_model FOLDER            random weights
//   make_model FOLDER scripted   says what kCall holds, and after a tool's result what kAnswer
//   holds
//
// The scripted model is a transformer whose layers add nothing and whose last matrix leads from
// each token to the one that follows it; a piece of the script is one token.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/local_engine/engine/small_model.h"
#include "tests/local_engine/tokenizer/small_tokenizer.h"

namespace {

using reenact::local_engine::ByteLevelTokenizer;
using reenact::local_engine::ConfigOf;
using reenact::local_engine::DataType;
using reenact::local_engine::RandomModelShape;
using reenact::local_engine::RandomTensors;
using reenact::local_engine::SmallShape;
using reenact::local_engine::SmallTokenizer;
using reenact::local_engine::StoredTensor;
using reenact::local_engine::WriteBytes;
using reenact::local_engine::WriteFolder;
using reenact::local_engine::WriteSmallModel;

constexpr int kEnd = 260;
constexpr const char* kMoreConfig = ",\"eos_token_id\":260";

const std::vector<std::string> kCall = {"I will look.",
                                        "\n",
                                        "<tool_call>",
                                        "\n{\"name\": \"lookup_order\", ",
                                        "\"arguments\": {",
                                        "\"order_id\": \"A-1042\", \"limit\": 9007199254740993",
                                        "}}\n",
                                        "</tool_call>"};
const std::vector<std::string> kAnswer = {"Your", " refund", " is", " 120", " EUR."};

constexpr const char* kTokenizerConfig = R"json({"eos_token": "<|end|>", "chat_template":
"{% if tools %}tools:{{ tools | tojson }}\n{% endif %}{% for message in messages %}{% if message.role == 'oracle' %}{{ raise_exception('there is no oracle') }}{% endif %}{{ message.role }}:{{ message.content or '' }}{% for call in message.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}<|end|>{% endfor %}{% if add_generation_prompt %}{% if messages[-1].role == 'tool' %}assistant>{% else %}assistant:{% endif %}{% endif %}"})json";

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '\\';
    quoted += c == '\n' ? "\\n" : std::string(1, c);
  }
  return quoted + "\"";
}

void SetRow(StoredTensor* tensor, size_t row, size_t column, float value) {
  const size_t columns = tensor->shape[1];
  std::memcpy(tensor->data.data() + (row * columns + column) * sizeof value, &value, sizeof value);
}

// Every script is a chain of tokens, from the last character of the prompt to the end token.
void WriteScriptedModel(const std::string& folder, SmallTokenizer* tokenizer) {
  const size_t count = kEnd + 1 + kCall.size() + kAnswer.size();
  RandomModelShape shape = SmallShape();
  shape.vocabulary_size = (count + 15) / 16 * 16;
  shape.hidden_dim = shape.vocabulary_size;
  std::vector<size_t> next(shape.vocabulary_size, kEnd);
  std::string added = tokenizer->added_tokens;
  added.pop_back();
  size_t id = kEnd + 1;
  const auto script = [&](char prompt_end, const std::vector<std::string>& pieces) {
    size_t before = static_cast<unsigned char>(prompt_end);
    for (const std::string& piece : pieces) {
      added += ", {\"id\": " + std::to_string(id) + ", \"content\": " + Quoted(piece) +
               ", \"special\": false}";
      next[before] = id;
      before = id++;
    }
    next[before] = kEnd;
  };
  script(':', kCall);
  script('>', kAnswer);
  tokenizer->added_tokens = added + "]";
  std::vector<StoredTensor> tensors = RandomTensors(shape).All();
  for (StoredTensor& tensor : tensors) {
    if (tensor.shape.size() < 2) continue;  // The norms may scale as they like.
    std::fill(tensor.data.begin(), tensor.data.end(), '\0');
    for (size_t token = 0; token < shape.vocabulary_size; ++token) {
      if (tensor.name == "model.embed_tokens.weight") SetRow(&tensor, token, token, 1);
      if (tensor.name == "lm_head.weight") SetRow(&tensor, next[token], token, 1.5);
    }
  }
  WriteFolder(folder, ConfigOf(shape, "LlamaForCausalLM", kMoreConfig), tensors);
}

}  // namespace

int main(int argc, char** argv) {
  const bool scripted = argc == 3 && std::string_view(argv[2]) == "scripted";
  if (argc != 2 && !scripted) {
    std::fprintf(stderr, "usage: make_model FOLDER [scripted]\n");
    return 2;
  }
  const std::string folder = argv[1];
  std::filesystem::create_directories(folder);
  SmallTokenizer tokenizer = ByteLevelTokenizer();
  if (scripted) {
    WriteScriptedModel(folder, &tokenizer);
  } else {
    RandomModelShape shape = SmallShape();
    shape.vocabulary_size = 264;
    WriteSmallModel(folder, shape, "LlamaForCausalLM", kMoreConfig);
  }
  WriteBytes(folder + "/tokenizer.json", tokenizer.Json());
  WriteBytes(folder + "/tokenizer_config.json", kTokenizerConfig);
  return 0;
}
