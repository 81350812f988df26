#include "tests/local_engine/cuda/ptx/scanner.h"

#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>

#include "tests/local_engine/cuda/ptx/fault.h"

namespace reenact::ptx {
namespace {

bool IsNameCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
}

}  // namespace

std::string WithoutComments(std::string_view text) {
  std::string result(text);
  for (size_t i = 0; i + 1 < result.size(); ++i) {
    if (result[i] != '/') continue;
    const bool line = result[i + 1] == '/';
    if (!line && result[i + 1] != '*') continue;
    size_t end = line ? result.find('\n', i) : result.find("*/", i);
    end = end == std::string::npos ? result.size() : end + (line ? 0 : 2);
    for (; i < end; ++i) result[i] = ' ';
  }
  return result;
}

void Scanner::SkipSpace() {
  while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
}

bool Scanner::AtEnd() {
  SkipSpace();
  return at_ == text_.size();
}

char Scanner::Peek() {
  return AtEnd() ? '\0' : text_[at_];
}

bool Scanner::Skip(std::string_view text) {
  SkipSpace();
  if (text_.substr(at_, text.size()) != text) return false;
  at_ += text.size();
  return true;
}

std::string_view Scanner::Until(std::string_view any_of) {
  SkipSpace();
  const size_t end = text_.find_first_of(any_of, at_);
  if (end == std::string_view::npos) throw Fault("the text ends in the middle of something");
  const std::string_view found = text_.substr(at_, end - at_);
  at_ = end;
  return found;
}

std::string_view Scanner::Word() {
  SkipSpace();
  const size_t begin = at_;
  while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) == 0 &&
         text_[at_] != '(' && text_[at_] != ')') {
    ++at_;
  }
  return text_.substr(begin, at_ - begin);
}

std::string_view Scanner::Balanced() {
  SkipSpace();
  const size_t begin = at_ + 1;
  int depth = 0;
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '{' || c == '(') ++depth;
    if (c == '}' || c == ')') --depth;
    if (depth == 0) break;
  }
  if (at_ >= text_.size()) throw Fault("a brace without a partner");
  ++at_;
  return text_.substr(begin, at_ - 1 - begin);
}

std::string_view Scanner::Label() {
  SkipSpace();
  size_t end = at_;
  while (end < text_.size() && IsNameCharacter(text_[end])) ++end;
  if (end == at_ || end == text_.size() || text_[end] != ':') return {};
  const std::string_view label = text_.substr(at_, end - at_);
  at_ = end + 1;
  return label;
}

std::string_view Scanner::Statement() {
  const std::string_view statement = Until(";");
  ++at_;
  return statement;
}

}  // namespace reenact::ptx
