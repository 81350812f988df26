// Tool calls in what a model writes, taken out as the text comes. The forms that open-weight models
// are trained on:
//   Hermes, Qwen:  <tool_call>{"name": "f", "arguments": {...}}</tool_call>, any number of them
//   Mistral:       [TOOL_CALLS][{"name": "f", "arguments": {...}}, ...]  or
//   [TOOL_CALLS]f[ARGS]{...} Llama 3:       the whole answer is {"name": "f", "parameters": {...}},
//   several divided by ';',
//                  with or without <|python_tag|> before it
// What looks like a call and is none, because its JSON is broken or, in the last form, it names no
// tool of the request, stays text. Arguments are written anew as compact JSON.

#ifndef REENACT_TOOLS_ENGINE_SERVER_TOOL_CALL_TEXT_H_
#define REENACT_TOOLS_ENGINE_SERVER_TOOL_CALL_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

namespace reenact::engine_server {

struct ToolCall {
  std::string name;
  std::string arguments;  // A JSON text.
};

class ToolCallText {
 public:
  struct Piece {
    std::string content;
    std::vector<ToolCall> calls;
  };

  // Without `tool_names`, all is content.
  explicit ToolCallText(std::vector<std::string> tool_names) : tool_names_(std::move(tool_names)) {}

  // What is certain after the next text. `token_name`: how the vocabulary spells the token; the
  // markers that are special tokens are no part of the text.
  Piece Push(std::string_view text, std::string_view token_name);

  // The rest. To be called once, last.
  Piece Finish();

 private:
  enum class Form { kText, kHermes, kMistral, kLlama };

  void Release(bool is_last, Piece* piece);
  bool ReleaseText(bool is_last, Piece* piece);
  bool ReleaseHermes(bool is_last, Piece* piece);
  void ReleaseWhole(Piece* piece);
  bool IsTool(const std::string& name) const;

  std::vector<std::string> tool_names_;
  std::string held_;
  Form form_ = Form::kText;
  bool began_ = false;       // Something but white space has come.
  bool after_call_ = false;  // White space after a call is no content.
};

}  // namespace reenact::engine_server

#endif  // REENACT_TOOLS_ENGINE_SERVER_TOOL_CALL_TEXT_H_
