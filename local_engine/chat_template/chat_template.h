// Messages to the prompt that a model was trained on: the Jinja template that comes with the model,
// as chat_template in tokenizer_config.json or as chat_template.jinja.
//
// A template renders to the bytes that Hugging Face's apply_chat_template gives: jinja2 with
// trim_blocks and lstrip_blocks in an immutable sandbox, undefined names and attributes that print
// as nothing and raise once they are used, Python's text for numbers, None, lists and dicts, tojson
// without HTML escapes.
//
// Supported: output, comments, raw, white space control; if, for with condition, else, loop.*,
// break and continue; set of names, tuples, namespace attributes and blocks; macro, call, filter,
// with, generation; all operators, slices, ternaries; the filters, tests, methods and functions
// listed in internal/builtins.h and its sources. Not supported, and refused by name: inheritance,
// include, import, recursive loops, loop.changed, varargs and kwargs of macros; filters for HTML,
// and `random`. `safe` and `escape` give plain strings. Integers within 64 bits calculate; larger
// ones of the input print exactly. What Python would print with an address (a macro, a method, a
// generator) is an error.
//
// It reads no clock, no file and no environment: equal inputs give equal bytes.

#ifndef REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_CHAT_TEMPLATE_H_
#define REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_CHAT_TEMPLATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/civil_time.h"

namespace reenact::local_engine {

// What a template is rendered with. Views: they need to live through the call only.
struct ChatTemplateInput {
  std::string_view messages_json;  // An array, as in a chat completion request.
  std::string_view tools_json;     // `tools` and `documents` are None in the template where empty.
  std::string_view documents_json;
  std::string_view variables_json;  // An object of further variables: {"enable_thinking": false}.
  // The special tokens of the tokenizer by name: {"bos_token", "<s>"}, {"eos_token", "</s>"}.
  std::vector<std::pair<std::string, std::string>> special_tokens;
  bool add_generation_prompt = true;  // Ends with the opening of the assistant's turn.
  // What strftime_now formats. A template that asks for the time fails where none is given.
  std::optional<absl::CivilSecond> now;
};

// Bounds on what one rendering may take, for templates that nobody vouches for.
struct ChatTemplateLimits {
  int64_t work =
      int64_t{1} << 28;  // About a byte copied; a step of the interpreter is 16. Seconds at most.
  size_t output_bytes = size_t{64} << 20;
};

// A parsed template. Threads: immutable; any number may render at once.
class ChatTemplate {
 public:
  // Errors: InvalidArgument with the line for what is not a template; Unimplemented for Jinja that
  // is not supported; ResourceExhausted for a source above kMaxSourceBytes or too deep nesting.
  static absl::StatusOr<ChatTemplate> Parse(std::string_view source);
  static constexpr size_t kMaxSourceBytes = size_t{1} << 20;

  // Variables win over special tokens, and these over messages, tools, documents and
  // add_generation_prompt, where they have the same name. Errors, each with line and construct:
  // InvalidArgument for input that is not JSON, and where the template cannot be evaluated with it;
  // FailedPrecondition where the template itself refuses the messages (raise_exception), with its
  // words; Unimplemented as above; ResourceExhausted for a limit.
  absl::StatusOr<std::string> Render(const ChatTemplateInput& input,
                                     const ChatTemplateLimits& limits = {}) const;

 private:
  struct Tree;

  explicit ChatTemplate(std::shared_ptr<const Tree> tree) : tree_(std::move(tree)) {}

  std::shared_ptr<const Tree> tree_;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_CHAT_TEMPLATE_H_
