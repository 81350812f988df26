// Template text to tokens, white space control included.
//
// As jinja2 with trim_blocks and lstrip_blocks, which Hugging Face sets: the newline after a block
// tag and the blanks before one on its line are dropped; "-" drops all white space on its side, "+"
// keeps it. Comments and raw blocks are resolved here.

#ifndef REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_LEXER_H_
#define REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_LEXER_H_

#include <string>
#include <string_view>
#include <vector>

namespace reenact::local_engine {

enum class TokenKind {
  kText,
  kBlockBegin,
  kBlockEnd,
  kOutputBegin,
  kOutputEnd,
  kName,
  kString,   // Escapes resolved.
  kInteger,  // Digits as written.
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind;
  std::string text;
  int line;
};

// The last token is kEnd. Throws TemplateError, its message beginning with the line.
std::vector<Token> Tokenize(std::string_view source);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_LEXER_H_
