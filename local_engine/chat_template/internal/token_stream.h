// The parsers' view of the tokens: one ahead, and errors that name the line and what is being read.

#ifndef REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_TOKEN_STREAM_H_
#define REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_TOKEN_STREAM_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "local_engine/chat_template/internal/lexer.h"
#include "local_engine/chat_template/internal/template_error.h"

namespace reenact::local_engine {

inline constexpr int kMaxSyntaxDepth = 100;

class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& Peek(size_t ahead = 0) const {
    return tokens_[position_ + ahead < tokens_.size() ? position_ + ahead : tokens_.size() - 1];
  }

  int line() const { return Peek().line; }

  Token Next() {
    Token token = Peek();
    if (position_ + 1 < tokens_.size()) ++position_;
    return token;
  }

  bool At(TokenKind kind) const { return Peek().kind == kind; }

  bool AtOperator(std::string_view text) const { return Is(Peek(), TokenKind::kOperator, text); }

  bool AtName(std::string_view text) const { return Is(Peek(), TokenKind::kName, text); }

  static bool Is(const Token& token, TokenKind kind, std::string_view text) {
    return token.kind == kind && token.text == text;
  }

  bool SkipOperator(std::string_view text) { return AtOperator(text) && Skip(); }

  bool SkipName(std::string_view text) { return AtName(text) && Skip(); }

  void ExpectOperator(std::string_view text) {
    if (!SkipOperator(text)) FailExpecting("'" + std::string(text) + "'");
  }

  std::string ExpectName() {
    if (!At(TokenKind::kName)) FailExpecting("a name");
    return Next().text;
  }

  void Expect(TokenKind kind, std::string_view what) {
    if (!At(kind)) FailExpecting(std::string(what));
    Skip();
  }

  [[noreturn]] void FailExpecting(const std::string& what) const {
    Fail("expected " + what + ", found " + Found());
  }

  [[noreturn]] void Fail(const std::string& message,
                         TemplateFault fault = TemplateFault::kTemplate) const {
    throw TemplateError("line " + std::to_string(line()) + ": " + message, fault);
  }

 private:
  bool Skip() {
    Next();
    return true;
  }

  std::string Found() const {
    switch (Peek().kind) {
      case TokenKind::kBlockEnd:
        return "'%}'";
      case TokenKind::kOutputEnd:
        return "'}}'";
      case TokenKind::kEnd:
        return "the end of the template";
      case TokenKind::kText:
        return "text";
      default:
        return "'" + Peek().text.substr(0, 40) + "'";
    }
  }

  std::vector<Token> tokens_;
  size_t position_ = 0;
};

// Counts one level of nesting while it lives, and refuses more than kMaxSyntaxDepth.
class NestingLevel {
 public:
  NestingLevel(int* depth, const TokenStream& tokens) : depth_(depth) {
    if (*depth_ >= kMaxSyntaxDepth) tokens.Fail("nested too deeply", TemplateFault::kLimit);
    ++*depth_;
  }

  ~NestingLevel() { --*depth_; }

  NestingLevel(const NestingLevel&) = delete;
  NestingLevel& operator=(const NestingLevel&) = delete;

 private:
  int* depth_;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_TOKEN_STREAM_H_
