// What the interpreter opens and closes again: levels of recursion and scopes of variables.

#ifndef REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_INTERPRETER_SCOPES_H_
#define REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_INTERPRETER_SCOPES_H_

#include <string>

#include "local_engine/chat_template/internal/interpreter.h"
#include "local_engine/chat_template/internal/template_error.h"

namespace reenact::local_engine {

// Nested evaluations and bodies, macros that call each other included. A level takes up to 2 KiB of
// stack.
inline constexpr int kMaxEvaluationDepth = 600;

class Interpreter::Depth {
 public:
  explicit Depth(Interpreter* interpreter) : depth_(&interpreter->depth_) {
    if (*depth_ >= kMaxEvaluationDepth)
      throw TemplateError("nested too deeply", TemplateFault::kLimit);
    ++*depth_;
  }

  ~Depth() { --*depth_; }

  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

 private:
  int* depth_;
};

// The current scope while it lives, within `outer`.
class Interpreter::InnerScope {
 public:
  InnerScope(Interpreter* interpreter, Scope* outer)
      : interpreter_(*interpreter), previous_(interpreter->scope_) {
    if (interpreter_.free_scopes_.empty()) {
      interpreter_.scope_ = &interpreter_.scopes_.emplace_back();
    } else {
      interpreter_.scope_ = interpreter_.free_scopes_.back();
      interpreter_.free_scopes_.pop_back();
    }
    interpreter_.scope_->outer = outer;
  }

  ~InnerScope() {
    Scope* const scope = interpreter_.scope_;
    interpreter_.scope_ = previous_;
    if (scope->captured) return;
    scope->variables.clear();
    interpreter_.free_scopes_.push_back(scope);
  }

  InnerScope(const InnerScope&) = delete;
  InnerScope& operator=(const InnerScope&) = delete;

 private:
  Interpreter& interpreter_;
  Scope* previous_;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_INTERPRETER_SCOPES_H_
