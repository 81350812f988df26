// What a rendering may still spend. Everything that takes time or memory is charged before it is
// done, so that a hostile template ends with an error, not with the machine.
//
// Units: one is about a byte copied; a step of the interpreter is kStepWork.

#ifndef REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_BUDGET_H_
#define REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_BUDGET_H_

#include <cstdint>

#include "local_engine/chat_template/internal/template_error.h"
#include "local_engine/chat_template/internal/value.h"

namespace reenact::local_engine {

inline constexpr int64_t kStepWork = 16;
inline constexpr int64_t kItemWork = 32;  // For an item put into a list, or compared.

class Budget {
 public:
  explicit Budget(int64_t work) : left_(work) {}

  void Charge(int64_t work) {
    if (work > left_)
      throw TemplateError("the limit of work for one rendering is reached", TemplateFault::kLimit);
    left_ -= work;
  }

  // `count` times `each`.
  void Charge(int64_t count, int64_t each) {
    if (each > 0 && count > left_ / each) Charge(left_ + 1);
    Charge(count * each);
  }

  // For a walk over all of a value.
  void ChargeWalk(const Value& value) { Charge(value.Weight(), kStepWork); }

 private:
  int64_t left_;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_BUDGET_H_
