#include "local_engine/chat_template/internal/syntax_tree.h"

#include <algorithm>

namespace reenact::local_engine {
namespace {

struct ChildDepth {
  int deepest = 0;

  void Add(const ExpressionPtr& child) {
    if (child != nullptr) deepest = std::max(deepest, child->depth);
  }

  void Add(const std::vector<ExpressionPtr>& children) {
    for (const ExpressionPtr& child : children) Add(child);
  }

  void Add(const CallArguments& arguments) {
    Add(arguments.positional);
    for (const auto& named : arguments.named) Add(named.second);
    Add(arguments.unpacked_positional);
    Add(arguments.unpacked_named);
  }

  void operator()(const Literal&) {}

  void operator()(const NameReference&) {}

  void operator()(const SequenceDisplay& e) { Add(e.items); }

  void operator()(const DictDisplay& e) {
    for (const auto& [key, value] : e.entries) Add(key), Add(value);
  }

  void operator()(const Unary& e) { Add(e.operand); }

  void operator()(const Binary& e) { Add(e.left), Add(e.right); }

  void operator()(const Concatenation& e) { Add(e.parts); }

  void operator()(const Comparison& e) {
    Add(e.first);
    for (const auto& next : e.rest) Add(next.second);
  }

  void operator()(const Conditional& e) { Add(e.condition), Add(e.then), Add(e.otherwise); }

  void operator()(const AttributeOf& e) { Add(e.object); }

  void operator()(const Subscript& e) { Add(e.object), Add(e.index); }

  void operator()(const SliceOf& e) { Add(e.object), Add(e.start), Add(e.stop), Add(e.step); }

  void operator()(const CallOf& e) { Add(e.callee), Add(e.arguments); }

  void operator()(const FilterCall& e) { Add(e.operand), Add(e.arguments); }

  void operator()(const TestCall& e) { Add(e.operand), Add(e.arguments); }
};

}  // namespace

int DeepestChild(const ExpressionVariant& variant) {
  ChildDepth below;
  std::visit(below, variant);
  return below.deepest;
}

}  // namespace reenact::local_engine
