// Expressions: the precedence of jinja2, from loosest to tightest
//
//   a if b else c · or · and · not · comparisons, in · + - · ~ · * / // % · ** · unary + -
//   · literals, (), [], {}, names, then .name, [index], (call), and filters and tests with |name,
//   is name

#ifndef REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_EXPRESSION_PARSER_H_
#define REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_EXPRESSION_PARSER_H_

#include "local_engine/chat_template/internal/syntax_tree.h"
#include "local_engine/chat_template/internal/token_stream.h"

namespace reenact::local_engine {

// Throws TemplateError, its message beginning with the line.
class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream* tokens) : tokens_(*tokens) {}

  // A ternary, or what is tighter.
  ExpressionPtr ParseExpression();
  // The same without the ternary: what a for statement iterates over may be followed by `if`.
  ExpressionPtr ParseOr();
  // As ParseExpression, or several with commas: a tuple.
  ExpressionPtr ParseExpressions(bool with_ternary = true);
  // name, name.attribute or several with commas. Of for statements without attributes.
  Target ParseTarget(bool with_attribute);
  // `| name(...)` any number of times, to be applied to a block. The first without its bar where
  // `bar_first` is false.
  std::vector<ExpressionPtr> ParseBlockFilters(bool bar_first);

 private:
  ExpressionPtr Make(ExpressionVariant variant, int line);
  ExpressionPtr ParseAnd();
  ExpressionPtr ParseNot();
  ExpressionPtr ParseComparison();
  ExpressionPtr ParseSum();
  ExpressionPtr ParseConcatenation();
  ExpressionPtr ParseProduct();
  ExpressionPtr ParsePower();
  ExpressionPtr ParseUnary(bool with_filters);
  ExpressionPtr ParsePrimary();
  ExpressionPtr ParseName();
  ExpressionPtr ParseParentheses();
  ExpressionPtr ParseList();
  ExpressionPtr ParseDict();
  ExpressionPtr ParsePostfix(ExpressionPtr object);
  ExpressionPtr ParseFiltersAndTests(ExpressionPtr operand);
  ExpressionPtr ParseAttribute(ExpressionPtr object);
  ExpressionPtr ParseSubscript(ExpressionPtr object);
  ExpressionPtr ParseFilter(ExpressionPtr operand);
  ExpressionPtr ParseTest(ExpressionPtr operand);
  bool AtTestArgument() const;
  bool AtEndOfExpressions() const;
  std::string ParseDottedName();
  CallArguments ParseArguments();

  TokenStream& tokens_;
  int depth_ = 0;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_EXPRESSION_PARSER_H_
