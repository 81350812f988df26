// A parsed template: statements that hold expressions. Immutable once parsed, and shared by
// renderings.

#ifndef REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_SYNTAX_TREE_H_
#define REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_SYNTAX_TREE_H_

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "local_engine/chat_template/internal/callable.h"
#include "local_engine/chat_template/internal/value.h"

namespace reenact::local_engine {

struct Expression;
struct Statement;
using ExpressionPtr = std::unique_ptr<const Expression>;
using Body = std::vector<Statement>;

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr unpacked_positional;  // *expression; null where there is none.
  ExpressionPtr unpacked_named;       // **expression
};

struct Literal {
  Value value;
};

struct NameReference {
  std::string name;
};

struct SequenceDisplay {
  SequenceKind kind;  // kList or kTuple.
  std::vector<ExpressionPtr> items;
};

struct DictDisplay {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
};
enum class UnaryOperator { kNot, kNegative, kPositive };

struct Unary {
  UnaryOperator op;
  ExpressionPtr operand;
};
enum class BinaryOperator {
  kAnd,
  kOr,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower
};

struct Binary {
  BinaryOperator op;
  ExpressionPtr left, right;
};

struct Concatenation {  // left ~ right ~ ...
  std::vector<ExpressionPtr> parts;
};
enum class CompareOperator {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn
};

struct Comparison {  // a < b < c holds where both do.
  ExpressionPtr first;
  std::vector<std::pair<CompareOperator, ExpressionPtr>> rest;
};

struct Conditional {
  ExpressionPtr condition, then, otherwise;  // `otherwise` may be null: then it is undefined.
};

struct AttributeOf {
  ExpressionPtr object;
  std::string name;
};

struct Subscript {
  ExpressionPtr object, index;
};

struct SliceOf {
  ExpressionPtr object, start, stop, step;  // Each but the object may be null.
};

struct CallOf {
  ExpressionPtr callee;
  CallArguments arguments;
};

struct FilterCall {
  ExpressionPtr operand;  // Null where the filter works on a block.
  std::string name;
  CallArguments arguments;
};

struct TestCall {
  ExpressionPtr operand;
  std::string name;
  bool negated;
  CallArguments arguments;
};

using ExpressionVariant = std::variant<Literal, NameReference, SequenceDisplay, DictDisplay, Unary,
                                       Binary, Concatenation, Comparison, Conditional, AttributeOf,
                                       Subscript, SliceOf, CallOf, FilterCall, TestCall>;

struct Expression {
  ExpressionVariant variant;
  int line;
  int depth;  // Of the tree below, itself included: bounded, so that walks over it may recurse.
};

// Depth of the deepest expression directly below; 0 where there is none.
int DeepestChild(const ExpressionVariant& variant);

// What a value is assigned to: name, namespace.attribute, or several names.
struct Target {
  std::string name;
  std::string attribute;
  std::vector<Target> parts;  // Where it is several, and then the rest is empty.
};

struct OutputText {
  std::string text;
};

struct OutputExpression {
  ExpressionPtr expression;
};

struct IfStatement {
  struct Branch {
    ExpressionPtr condition;  // Null for else.
    Body body;
  };

  std::vector<Branch> branches;
};

struct ForStatement {
  Target target;
  ExpressionPtr iterable;
  ExpressionPtr condition;  // May be null.
  Body body, otherwise;
};

struct SetStatement {
  Target target;
  ExpressionPtr value;
};

struct SetBlock {
  Target target;
  std::vector<ExpressionPtr> filters;  // Applied in this order.
  Body body;
};

struct MacroDefinition {
  std::string name;
  std::vector<std::pair<std::string, ExpressionPtr>> parameters;  // With default, or null.
  Body body;
};

struct MacroStatement {
  std::shared_ptr<const MacroDefinition> macro;
};

struct CallBlock {
  ExpressionPtr call;
  std::shared_ptr<const MacroDefinition> caller;
};

struct FilterBlock {
  std::vector<ExpressionPtr> filters;
  Body body;
};

struct WithBlock {  // Generation blocks too: they print what they hold, and scope it.
  std::vector<std::pair<Target, ExpressionPtr>> assignments;
  Body body;
};

struct LoopExit {
  bool is_break;  // Else continue.
};

using StatementVariant =
    std::variant<OutputText, OutputExpression, IfStatement, ForStatement, SetStatement, SetBlock,
                 MacroStatement, CallBlock, FilterBlock, WithBlock, LoopExit>;

struct Statement {
  StatementVariant variant;
  int line;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_SYNTAX_TREE_H_
