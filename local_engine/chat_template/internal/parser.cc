#include "local_engine/chat_template/internal/parser.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>

#include "local_engine/chat_template/internal/expression_parser.h"
#include "local_engine/chat_template/internal/lexer.h"
#include "local_engine/chat_template/internal/token_stream.h"

namespace reenact::local_engine {
namespace {

using EndTags = std::initializer_list<std::string_view>;

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)), expressions_(&tokens_) {}

  Body ParseAll() {
    Body body = ParseBody({});
    if (!tokens_.At(TokenKind::kEnd)) tokens_.FailExpecting("the end of the template");
    return body;
  }

 private:
  // Until a tag named in `ends`, whose name is the next token then, or the end of the template.
  Body ParseBody(EndTags ends) {
    const NestingLevel level(&depth_, tokens_);
    Body body;
    while (!tokens_.At(TokenKind::kEnd)) {
      const int line = tokens_.line();
      if (tokens_.At(TokenKind::kText)) {
        Append(line, &body).emplace<OutputText>(OutputText{tokens_.Next().text});
      } else if (tokens_.At(TokenKind::kOutputBegin)) {
        tokens_.Next();
        Append(line, &body)
            .emplace<OutputExpression>(OutputExpression{expressions_.ParseExpressions()});
        tokens_.Expect(TokenKind::kOutputEnd, "'}}'");
      } else {
        tokens_.Expect(TokenKind::kBlockBegin, "'{%'");
        if (!tokens_.At(TokenKind::kName)) tokens_.FailExpecting("the name of a tag");
        if (std::find(ends.begin(), ends.end(), tokens_.Peek().text) != ends.end()) return body;
        StatementVariant statement = ParseTag();
        Append(line, &body) = std::move(statement);
      }
    }
    if (ends.size() > 0) tokens_.FailExpecting("{% " + std::string(*(ends.end() - 1)) + " %}");
    return body;
  }

  // A new statement's place. Made there: g++ 14 takes a temporary one that is moved in for
  // uninitialised.
  static StatementVariant& Append(int line, Body* body) {
    Statement& statement = body->emplace_back();
    statement.line = line;
    return statement.variant;
  }

  void EndTag() { tokens_.Expect(TokenKind::kBlockEnd, "'%}'"); }

  // The body between a tag and its end tag, both taken whole.
  Body ParseBlock(std::string_view end) {
    EndTag();
    Body body = ParseBody({end});
    tokens_.Next();
    EndTag();
    return body;
  }

  StatementVariant ParseTag() {
    const std::string name = tokens_.Peek().text;
    if (name == "if") return ParseIf();
    if (name == "for") return ParseFor();
    if (name == "set") return ParseSet();
    if (name == "macro") return ParseMacro();
    if (name == "call") return ParseCallBlock();
    if (name == "filter") return ParseFilterBlock();
    if (name == "with") return ParseWith();
    if (name == "generation") {
      tokens_.Next();
      return WithBlock{{}, ParseMacroBody("endgeneration")};
    }
    if (name == "break" || name == "continue") {
      if (loops_ == 0) tokens_.Fail("{% " + name + " %} outside a loop");
      tokens_.Next();
      EndTag();
      return LoopExit{name == "break"};
    }
    for (const std::string_view known :
         {"block", "extends", "include", "import", "from", "do", "autoescape", "trans"}) {
      if (name == known)
        tokens_.Fail("{% " + name + " %} is not supported", TemplateFault::kUnsupported);
    }
    tokens_.Fail("unexpected tag '" + name + "'");
  }

  IfStatement ParseIf() {
    IfStatement statement;
    while (tokens_.SkipName("if") || tokens_.SkipName("elif")) {
      ExpressionPtr condition = expressions_.ParseExpressions(false);
      EndTag();
      statement.branches.push_back({std::move(condition), ParseBody({"elif", "else", "endif"})});
    }
    if (tokens_.SkipName("else")) {
      EndTag();
      statement.branches.push_back({nullptr, ParseBody({"endif"})});
    }
    tokens_.Next();
    EndTag();
    return statement;
  }

  ForStatement ParseFor() {
    tokens_.Next();
    ForStatement statement;
    statement.target = expressions_.ParseTarget(false);
    if (!tokens_.SkipName("in")) tokens_.FailExpecting("'in'");
    statement.iterable = expressions_.ParseExpressions(false);
    if (tokens_.SkipName("if")) statement.condition = expressions_.ParseExpression();
    if (tokens_.AtName("recursive"))
      tokens_.Fail("recursive loops are not supported", TemplateFault::kUnsupported);
    EndTag();
    ++loops_;
    statement.body = ParseBody({"else", "endfor"});
    --loops_;
    if (tokens_.SkipName("else")) {
      EndTag();
      statement.otherwise = ParseBody({"endfor"});
    }
    tokens_.Next();
    EndTag();
    return statement;
  }

  StatementVariant ParseSet() {
    tokens_.Next();
    Target target = expressions_.ParseTarget(true);
    if (tokens_.SkipOperator("=")) {
      ExpressionPtr value = expressions_.ParseExpressions();
      EndTag();
      return SetStatement{std::move(target), std::move(value)};
    }
    std::vector<ExpressionPtr> filters = expressions_.ParseBlockFilters(true);
    return SetBlock{std::move(target), std::move(filters), ParseBlock("endset")};
  }

  std::vector<std::pair<std::string, ExpressionPtr>> ParseParameters() {
    std::vector<std::pair<std::string, ExpressionPtr>> parameters;
    tokens_.ExpectOperator("(");
    while (!tokens_.AtOperator(")")) {
      std::string name = tokens_.ExpectName();
      ExpressionPtr otherwise;
      if (tokens_.SkipOperator("=")) {
        otherwise = expressions_.ParseExpression();
      } else if (!parameters.empty() && parameters.back().second != nullptr) {
        tokens_.Fail("a parameter without default follows one with a default");
      }
      parameters.emplace_back(std::move(name), std::move(otherwise));
      if (!tokens_.SkipOperator(",")) break;
    }
    tokens_.ExpectOperator(")");
    return parameters;
  }

  // A loop around a macro cannot be left from within it.
  Body ParseMacroBody(std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    Body body = ParseBlock(end);
    loops_ = loops;
    return body;
  }

  MacroStatement ParseMacro() {
    tokens_.Next();
    MacroDefinition macro;
    macro.name = tokens_.ExpectName();
    macro.parameters = ParseParameters();
    macro.body = ParseMacroBody("endmacro");
    return {std::make_shared<const MacroDefinition>(std::move(macro))};
  }

  CallBlock ParseCallBlock() {
    tokens_.Next();
    MacroDefinition caller;
    caller.name = "caller";
    if (tokens_.AtOperator("(")) caller.parameters = ParseParameters();
    ExpressionPtr call = expressions_.ParseExpression();
    if (!std::holds_alternative<CallOf>(call->variant)) tokens_.Fail("{% call %} needs a call");
    caller.body = ParseMacroBody("endcall");
    return {std::move(call), std::make_shared<const MacroDefinition>(std::move(caller))};
  }

  FilterBlock ParseFilterBlock() {
    tokens_.Next();
    std::vector<ExpressionPtr> filters = expressions_.ParseBlockFilters(false);
    return {std::move(filters), ParseBlock("endfilter")};
  }

  WithBlock ParseWith() {
    tokens_.Next();
    WithBlock block;
    while (!tokens_.At(TokenKind::kBlockEnd)) {
      if (!block.assignments.empty()) tokens_.ExpectOperator(",");
      Target target;
      target.name = tokens_.ExpectName();
      tokens_.ExpectOperator("=");
      block.assignments.emplace_back(std::move(target), expressions_.ParseExpression());
    }
    block.body = ParseBlock("endwith");
    return block;
  }

  TokenStream tokens_;
  ExpressionParser expressions_;
  int depth_ = 0;
  int loops_ = 0;  // Around the statement at hand, within its macro.
};

}  // namespace

Body ParseTemplate(std::string_view source) {
  return Parser(Tokenize(source)).ParseAll();
}

}  // namespace reenact::local_engine
