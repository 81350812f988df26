#include "local_engine/chat_template/internal/expression_parser.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <utility>

namespace reenact::local_engine {
namespace {

std::optional<CompareOperator> FindCompareOperator(const Token& token) {
  static constexpr std::pair<std::string_view, CompareOperator> kOperators[] = {
      {"==", CompareOperator::kEqual},  {"!=", CompareOperator::kNotEqual},
      {"<", CompareOperator::kLess},    {"<=", CompareOperator::kLessEqual},
      {">", CompareOperator::kGreater}, {">=", CompareOperator::kGreaterEqual}};
  if (TokenStream::Is(token, TokenKind::kName, "in")) return CompareOperator::kIn;
  for (const auto& [text, op] : kOperators) {
    if (TokenStream::Is(token, TokenKind::kOperator, text)) return op;
  }
  return std::nullopt;
}

Value IntegerLiteral(const std::string& digits) {
  int64_t value = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return result.ec == std::errc() ? Value::Int(value) : Value::BigInt(digits);
}

}  // namespace

ExpressionPtr ExpressionParser::Make(ExpressionVariant variant, int line) {
  const int below = DeepestChild(variant);
  if (below >= kMaxSyntaxDepth)
    tokens_.Fail("an expression nests too deeply", TemplateFault::kLimit);
  return std::make_unique<const Expression>(Expression{std::move(variant), line, below + 1});
}

ExpressionPtr ExpressionParser::ParseExpression() {
  const NestingLevel level(&depth_, tokens_);
  const int line = tokens_.line();
  ExpressionPtr value = ParseOr();
  while (tokens_.SkipName("if")) {
    ExpressionPtr condition = ParseOr();
    ExpressionPtr otherwise = tokens_.SkipName("else") ? ParseExpression() : nullptr;
    value = Make(Conditional{std::move(condition), std::move(value), std::move(otherwise)}, line);
  }
  return value;
}

bool ExpressionParser::AtEndOfExpressions() const {
  return tokens_.At(TokenKind::kBlockEnd) || tokens_.At(TokenKind::kOutputEnd) ||
         tokens_.AtOperator(")");
}

ExpressionPtr ExpressionParser::ParseExpressions(bool with_ternary) {
  const int line = tokens_.line();
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
  while (!AtEndOfExpressions()) {
    items.push_back(with_ternary ? ParseExpression() : ParseOr());
    if (!tokens_.SkipOperator(",")) break;
    is_tuple = true;
  }
  if (items.empty()) tokens_.FailExpecting("an expression");
  if (!is_tuple) return std::move(items.front());
  return Make(SequenceDisplay{SequenceKind::kTuple, std::move(items)}, line);
}

Target ExpressionParser::ParseTarget(bool with_attribute) {
  const NestingLevel level(&depth_, tokens_);
  std::vector<Target> parts;
  bool is_tuple = false;
  while (tokens_.At(TokenKind::kName) || tokens_.AtOperator("(")) {
    if (tokens_.AtName("in") && !parts.empty()) break;
    if (tokens_.SkipOperator("(")) {
      parts.push_back(ParseTarget(with_attribute));
      tokens_.ExpectOperator(")");
    } else {
      Target part;
      part.name = tokens_.ExpectName();
      if (with_attribute && tokens_.SkipOperator(".")) part.attribute = tokens_.ExpectName();
      for (const std::string_view constant : {"true", "false", "none", "True", "False", "None"}) {
        if (part.name == constant) tokens_.Fail("cannot assign to '" + part.name + "'");
      }
      parts.push_back(std::move(part));
    }
    if (!tokens_.SkipOperator(",")) break;
    is_tuple = true;
  }
  if (parts.empty()) tokens_.FailExpecting("a name to assign to");
  if (!is_tuple) return std::move(parts.front());
  Target several;
  several.parts = std::move(parts);
  return several;
}

ExpressionPtr ExpressionParser::ParseOr() {
  const int line = tokens_.line();
  ExpressionPtr left = ParseAnd();
  while (tokens_.SkipName("or"))
    left = Make(Binary{BinaryOperator::kOr, std::move(left), ParseAnd()}, line);
  return left;
}

ExpressionPtr ExpressionParser::ParseAnd() {
  const int line = tokens_.line();
  ExpressionPtr left = ParseNot();
  while (tokens_.SkipName("and"))
    left = Make(Binary{BinaryOperator::kAnd, std::move(left), ParseNot()}, line);
  return left;
}

ExpressionPtr ExpressionParser::ParseNot() {
  const int line = tokens_.line();
  if (!tokens_.SkipName("not")) return ParseComparison();
  const NestingLevel level(&depth_, tokens_);
  return Make(Unary{UnaryOperator::kNot, ParseNot()}, line);
}

ExpressionPtr ExpressionParser::ParseComparison() {
  const int line = tokens_.line();
  ExpressionPtr first = ParseSum();
  std::vector<std::pair<CompareOperator, ExpressionPtr>> rest;
  for (;;) {
    std::optional<CompareOperator> op = FindCompareOperator(tokens_.Peek());
    if (op) {
      tokens_.Next();
    } else if (tokens_.AtName("not") && TokenStream::Is(tokens_.Peek(1), TokenKind::kName, "in")) {
      tokens_.Next();
      tokens_.Next();
      op = CompareOperator::kNotIn;
    } else {
      break;
    }
    rest.emplace_back(*op, ParseSum());
  }
  if (rest.empty()) return first;
  return Make(Comparison{std::move(first), std::move(rest)}, line);
}

ExpressionPtr ExpressionParser::ParseSum() {
  const int line = tokens_.line();
  ExpressionPtr left = ParseConcatenation();
  while (tokens_.AtOperator("+") || tokens_.AtOperator("-")) {
    const BinaryOperator op =
        tokens_.Next().text == "+" ? BinaryOperator::kAdd : BinaryOperator::kSubtract;
    left = Make(Binary{op, std::move(left), ParseConcatenation()}, line);
  }
  return left;
}

ExpressionPtr ExpressionParser::ParseConcatenation() {
  const int line = tokens_.line();
  std::vector<ExpressionPtr> parts;
  do {
    parts.push_back(ParseProduct());
  } while (tokens_.SkipOperator("~"));
  if (parts.size() == 1) return std::move(parts.front());
  return Make(Concatenation{std::move(parts)}, line);
}

ExpressionPtr ExpressionParser::ParseProduct() {
  static constexpr std::pair<std::string_view, BinaryOperator> kOperators[] = {
      {"*", BinaryOperator::kMultiply},
      {"/", BinaryOperator::kDivide},
      {"//", BinaryOperator::kFloorDivide},
      {"%", BinaryOperator::kModulo}};
  const int line = tokens_.line();
  ExpressionPtr left = ParsePower();
  for (;;) {
    const auto* found =
        std::find_if(std::begin(kOperators), std::end(kOperators),
                     [this](const auto& candidate) { return tokens_.AtOperator(candidate.first); });
    if (found == std::end(kOperators)) return left;
    tokens_.Next();
    left = Make(Binary{found->second, std::move(left), ParsePower()}, line);
  }
}

ExpressionPtr ExpressionParser::ParsePower() {
  const int line = tokens_.line();
  ExpressionPtr left = ParseUnary(true);
  while (tokens_.SkipOperator("**"))
    left = Make(Binary{BinaryOperator::kPower, std::move(left), ParseUnary(true)}, line);
  return left;
}

ExpressionPtr ExpressionParser::ParseUnary(bool with_filters) {
  const NestingLevel level(&depth_, tokens_);
  const int line = tokens_.line();
  ExpressionPtr value;
  if (tokens_.SkipOperator("-")) {
    value = Make(Unary{UnaryOperator::kNegative, ParseUnary(false)}, line);
  } else if (tokens_.SkipOperator("+")) {
    value = Make(Unary{UnaryOperator::kPositive, ParseUnary(false)}, line);
  } else {
    value = ParsePrimary();
  }
  value = ParsePostfix(std::move(value));
  return with_filters ? ParseFiltersAndTests(std::move(value)) : std::move(value);
}

ExpressionPtr ExpressionParser::ParsePrimary() {
  const int line = tokens_.line();
  switch (tokens_.Peek().kind) {
    case TokenKind::kName:
      return ParseName();
    case TokenKind::kInteger:
      return Make(Literal{IntegerLiteral(tokens_.Next().text)}, line);
    case TokenKind::kFloat:
      return Make(Literal{Value::Float(std::strtod(tokens_.Next().text.c_str(), nullptr))}, line);
    case TokenKind::kString: {
      std::string text;
      while (tokens_.At(TokenKind::kString)) text += tokens_.Next().text;  // As in Python: 'a' 'b'.
      return Make(Literal{Value::String(std::move(text))}, line);
    }
    default:
      break;
  }
  if (tokens_.SkipOperator("(")) return ParseParentheses();
  if (tokens_.SkipOperator("[")) return ParseList();
  if (tokens_.SkipOperator("{")) return ParseDict();
  tokens_.FailExpecting("an expression");
}

ExpressionPtr ExpressionParser::ParseName() {
  const Token token = tokens_.Next();
  const std::string& name = token.text;
  if (name == "true" || name == "True") return Make(Literal{Value::Bool(true)}, token.line);
  if (name == "false" || name == "False") return Make(Literal{Value::Bool(false)}, token.line);
  if (name == "none" || name == "None") return Make(Literal{Value::MakeNone()}, token.line);
  return Make(NameReference{name}, token.line);
}

ExpressionPtr ExpressionParser::ParseParentheses() {
  const int line = tokens_.line();
  ExpressionPtr value = tokens_.AtOperator(")")
                            ? Make(SequenceDisplay{SequenceKind::kTuple, {}}, line)
                            : ParseExpressions();
  tokens_.ExpectOperator(")");
  return value;
}

ExpressionPtr ExpressionParser::ParseList() {
  const int line = tokens_.line();
  std::vector<ExpressionPtr> items;
  while (!tokens_.AtOperator("]")) {
    items.push_back(ParseExpression());
    if (!tokens_.SkipOperator(",")) break;
  }
  tokens_.ExpectOperator("]");
  return Make(SequenceDisplay{SequenceKind::kList, std::move(items)}, line);
}

ExpressionPtr ExpressionParser::ParseDict() {
  const int line = tokens_.line();
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
  while (!tokens_.AtOperator("}")) {
    ExpressionPtr key = ParseExpression();
    tokens_.ExpectOperator(":");
    entries.emplace_back(std::move(key), ParseExpression());
    if (!tokens_.SkipOperator(",")) break;
  }
  tokens_.ExpectOperator("}");
  return Make(DictDisplay{std::move(entries)}, line);
}

ExpressionPtr ExpressionParser::ParsePostfix(ExpressionPtr object) {
  for (;;) {
    const int line = tokens_.line();
    if (tokens_.SkipOperator(".")) {
      object = ParseAttribute(std::move(object));
    } else if (tokens_.SkipOperator("[")) {
      object = ParseSubscript(std::move(object));
    } else if (tokens_.AtOperator("(")) {
      object = Make(CallOf{std::move(object), ParseArguments()}, line);
    } else {
      return object;
    }
  }
}

ExpressionPtr ExpressionParser::ParseAttribute(ExpressionPtr object) {
  const int line = tokens_.line();
  if (tokens_.At(TokenKind::kInteger)) {
    ExpressionPtr index = Make(Literal{IntegerLiteral(tokens_.Next().text)}, line);
    return Make(Subscript{std::move(object), std::move(index)}, line);
  }
  return Make(AttributeOf{std::move(object), tokens_.ExpectName()}, line);
}

ExpressionPtr ExpressionParser::ParseSubscript(ExpressionPtr object) {
  const int line = tokens_.line();
  ExpressionPtr bounds[3];  // start:stop:step
  int colons = 0;
  while (!tokens_.AtOperator("]")) {
    if (tokens_.AtOperator(":")) {
      if (++colons > 2) tokens_.FailExpecting("']'");
      tokens_.Next();
    } else if (bounds[colons] == nullptr) {
      bounds[colons] = ParseExpression();
    } else {
      tokens_.FailExpecting("']'");
    }
  }
  tokens_.ExpectOperator("]");
  if (colons > 0) {
    return Make(SliceOf{std::move(object), std::move(bounds[0]), std::move(bounds[1]),
                        std::move(bounds[2])},
                line);
  }
  if (bounds[0] == nullptr) tokens_.Fail("expected a subscript between '[' and ']'");
  return Make(Subscript{std::move(object), std::move(bounds[0])}, line);
}

ExpressionPtr ExpressionParser::ParseFiltersAndTests(ExpressionPtr operand) {
  for (;;) {
    const int line = tokens_.line();
    if (tokens_.SkipOperator("|")) {
      operand = ParseFilter(std::move(operand));
    } else if (tokens_.SkipName("is")) {
      operand = ParseTest(std::move(operand));
    } else if (tokens_.AtOperator("(")) {
      operand = Make(CallOf{std::move(operand), ParseArguments()}, line);
    } else {
      return operand;
    }
  }
}

std::string ExpressionParser::ParseDottedName() {
  std::string name = tokens_.ExpectName();
  while (tokens_.SkipOperator(".")) name += "." + tokens_.ExpectName();
  return name;
}

ExpressionPtr ExpressionParser::ParseFilter(ExpressionPtr operand) {
  const int line = tokens_.line();
  std::string name = ParseDottedName();
  CallArguments arguments;
  if (tokens_.AtOperator("(")) arguments = ParseArguments();
  return Make(FilterCall{std::move(operand), std::move(name), std::move(arguments)}, line);
}

std::vector<ExpressionPtr> ExpressionParser::ParseBlockFilters(bool bar_first) {
  std::vector<ExpressionPtr> filters;
  if (!bar_first) filters.push_back(ParseFilter(nullptr));
  while (tokens_.SkipOperator("|")) filters.push_back(ParseFilter(nullptr));
  return filters;
}

// `is divisibleby 3`: an argument without parentheses.
bool ExpressionParser::AtTestArgument() const {
  const Token& token = tokens_.Peek();
  switch (token.kind) {
    case TokenKind::kString:
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return true;
    case TokenKind::kOperator:
      return token.text == "[" || token.text == "{";
    case TokenKind::kName:
      return token.text != "else" && token.text != "or" && token.text != "and" &&
             token.text != "is";
    default:
      return false;
  }
}

ExpressionPtr ExpressionParser::ParseTest(ExpressionPtr operand) {
  const int line = tokens_.line();
  const bool negated = tokens_.SkipName("not");
  std::string name = ParseDottedName();
  CallArguments arguments;
  if (tokens_.AtOperator("(")) {
    arguments = ParseArguments();
  } else if (tokens_.AtName("is")) {
    tokens_.Fail("tests cannot be chained with 'is'");
  } else if (AtTestArgument()) {
    arguments.positional.push_back(ParsePostfix(ParsePrimary()));
  }
  return Make(TestCall{std::move(operand), std::move(name), negated, std::move(arguments)}, line);
}

CallArguments ExpressionParser::ParseArguments() {
  CallArguments arguments;
  tokens_.ExpectOperator("(");
  while (!tokens_.AtOperator(")")) {
    if (tokens_.SkipOperator("**")) {
      arguments.unpacked_named = ParseExpression();
    } else if (arguments.unpacked_named != nullptr) {
      tokens_.FailExpecting("')' after the ** argument");
    } else if (tokens_.SkipOperator("*")) {
      arguments.unpacked_positional = ParseExpression();
    } else if (tokens_.At(TokenKind::kName) &&
               TokenStream::Is(tokens_.Peek(1), TokenKind::kOperator, "=")) {
      std::string name = tokens_.ExpectName();
      tokens_.ExpectOperator("=");
      arguments.named.emplace_back(std::move(name), ParseExpression());
    } else if (!arguments.named.empty() || arguments.unpacked_positional != nullptr) {
      tokens_.Fail("a positional argument after one with a name");
    } else {
      arguments.positional.push_back(ParseExpression());
    }
    if (!tokens_.SkipOperator(",")) break;
  }
  tokens_.ExpectOperator(")");
  return arguments;
}

}  // namespace reenact::local_engine
