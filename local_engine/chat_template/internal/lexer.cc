#include "local_engine/chat_template/internal/lexer.h"

#include <algorithm>

#include "local_engine/chat_template/internal/ascii.h"
#include "local_engine/chat_template/internal/template_error.h"
#include "local_engine/chat_template/internal/unicode_text.h"

namespace reenact::local_engine {
namespace {

bool IsNameByte(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (c & 0x80) != 0;
}

// One kind of newline, and not the last one of the file.
std::string NormalizeNewlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
    } else {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(NormalizeNewlines(source)), rest_(source_) {}

  std::vector<Token> Run() {
    while (!rest_.empty()) ReadTextAndTag();
    tokens_.push_back({TokenKind::kEnd, "", line_});
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void Fail(const std::string& message) const {
    throw TemplateError("line " + std::to_string(line_) + ": " + message);
  }

  void Take(size_t count) {
    line_ += static_cast<int>(
        std::count(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(count), '\n'));
    rest_.remove_prefix(count);
  }

  bool StartsWith(std::string_view text) const { return rest_.substr(0, text.size()) == text; }

  void TakeSpaces() { Take(rest_.size() - StripLeft(rest_).size()); }

  void AddText(std::string_view text) {
    if (!text.empty()) tokens_.push_back({TokenKind::kText, std::string(text), line_});
  }

  // Text in front of a tag, less what its sign and lstrip_blocks drop.
  static std::string_view TextBefore(std::string_view text, char sign, bool is_output,
                                     bool at_line_start) {
    if (sign == '-') return StripRight(text);
    if (sign == '+' || is_output) return text;
    const size_t line_start = text.rfind('\n') + 1;  // 0 where there is no newline.
    const bool whole_line = line_start > 0 || at_line_start;
    return whole_line && StripLeft(text.substr(line_start)).empty() ? text.substr(0, line_start)
                                                                    : text;
  }

  char TakeSign() {
    if (!StartsWith("-") && !StartsWith("+")) return 0;
    const char sign = rest_.front();
    Take(1);
    return sign;
  }

  void ReadTextAndTag() {
    size_t tag = 0;
    for (;; ++tag) {
      tag = rest_.find('{', tag);
      if (tag == std::string_view::npos || tag + 1 == rest_.size()) {
        AddText(rest_);
        Take(rest_.size());
        return;
      }
      if (rest_[tag + 1] == '%' || rest_[tag + 1] == '{' || rest_[tag + 1] == '#') break;
    }
    const std::string_view text = rest_.substr(0, tag);
    const char kind = rest_[tag + 1];
    const char sign = tag + 2 < rest_.size() ? rest_[tag + 2] : 0;
    AddText(TextBefore(text, sign, kind == '{', at_line_start_));
    Take(tag);
    if (kind == '%' && TakeRawTag("raw")) {
      ReadRaw();
      return;
    }
    Take(2);
    TakeSign();
    if (kind == '#') {
      ReadComment();
    } else {
      ReadTag(kind == '%');
    }
  }

  // {% raw %} or {% endraw %} with all its forms of white space control; nothing where another tag
  // begins.
  bool TakeRawTag(std::string_view name) {
    std::string_view tag = rest_.substr(2);
    if (!tag.empty() && (tag.front() == '-' || tag.front() == '+')) tag.remove_prefix(1);
    tag = StripLeft(tag);
    if (tag.substr(0, name.size()) != name) return false;
    tag = StripLeft(tag.substr(name.size()));
    const bool ends =
        tag.substr(0, 2) == "%}" || tag.substr(0, 3) == "-%}" || tag.substr(0, 3) == "+%}";
    if (!ends || (name == "raw" && tag.front() == '+')) return false;
    Take(rest_.size() - tag.size());
    // The newline after {% raw %} is part of the raw text.
    TakeEnd("%}", name != "raw");
    return true;
  }

  void ReadRaw() {
    const std::string_view start = rest_;
    const int start_line = line_;
    const bool at_line_start = at_line_start_;
    for (size_t tag = 0;; ++tag) {
      tag = start.find("{%", tag);
      if (tag == std::string_view::npos) Fail("{% raw %} without its {% endraw %}");
      rest_ = start.substr(tag);
      if (!TakeRawTag("endraw")) continue;
      AddText(TextBefore(start.substr(0, tag), start[tag + 2], false, at_line_start));
      const auto end = start.end() - static_cast<std::ptrdiff_t>(rest_.size());
      line_ = start_line + static_cast<int>(std::count(start.begin(), end, '\n'));
      return;
    }
  }

  void ReadComment() {
    const size_t end = rest_.find("#}");
    if (end == std::string_view::npos) Fail("{# without its #}");
    const bool signed_end = end > 0 && (rest_[end - 1] == '-' || rest_[end - 1] == '+');
    Take(signed_end ? end - 1 : end);
    TakeEnd("#}", true);
  }

  // At the end of a tag: takes it with the white space that it drops. False elsewhere.
  bool TakeEnd(std::string_view end, bool drops_newline) {
    size_t size = end.size();
    const bool is_signed =
        (StartsWith("-") || (StartsWith("+") && drops_newline)) && rest_.substr(1, size) == end;
    if (!is_signed && !StartsWith(end)) return false;
    const char sign = is_signed ? rest_.front() : 0;
    if (is_signed) ++size;
    const std::string_view from = rest_;
    Take(size);
    if (sign == '-') {
      TakeSpaces();
    } else if (sign == 0 && drops_newline && StartsWith("\n")) {
      Take(1);
    }
    at_line_start_ = from[from.size() - rest_.size() - 1] == '\n';
    return true;
  }

  void ReadTag(bool is_block) {
    const int begin_line = line_;
    tokens_.push_back({is_block ? TokenKind::kBlockBegin : TokenKind::kOutputBegin, "", line_});
    std::string open_brackets;
    for (;;) {
      TakeSpaces();
      if (rest_.empty()) {
        line_ = begin_line;
        Fail(is_block ? "{% without its %}" : "{{ without its }}");
      }
      const int line = line_;
      if (open_brackets.empty() && TakeEnd(is_block ? "%}" : "}}", is_block)) {
        tokens_.push_back({is_block ? TokenKind::kBlockEnd : TokenKind::kOutputEnd, "", line});
        return;
      }
      ReadToken(&open_brackets);
    }
  }

  void ReadToken(std::string* open_brackets) {
    const char c = rest_.front();
    if (IsDigit(c)) {
      ReadNumber();
    } else if (IsNameByte(c)) {
      const auto end = std::find_if_not(rest_.begin(), rest_.end(), IsNameByte);
      Add(TokenKind::kName, static_cast<size_t>(end - rest_.begin()));
    } else if (c == '"' || c == '\'') {
      ReadString();
    } else {
      ReadOperator(open_brackets);
    }
  }

  void Add(TokenKind kind, size_t size) {
    tokens_.push_back({kind, std::string(rest_.substr(0, size)), line_});
    Take(size);
  }

  // Digits with single underscores between them, from `at` on. Returns their end.
  size_t DigitsEnd(size_t at) const {
    while (at < rest_.size() && (IsDigit(rest_[at]) || (rest_[at] == '_' && at + 1 < rest_.size() &&
                                                        IsDigit(rest_[at + 1])))) {
      ++at;
    }
    return at;
  }

  void ReadNumber() {
    if (StartsWith("0x") || StartsWith("0b") || StartsWith("0o"))
      Fail("numbers are written in decimal");
    // In list.0.1 the second number is an index as well.
    const bool after_dot = !tokens_.empty() && tokens_.back().kind == TokenKind::kOperator &&
                           tokens_.back().text == ".";
    size_t end = DigitsEnd(0);
    bool is_float = false;
    if (!after_dot && end + 1 < rest_.size() && rest_[end] == '.' && IsDigit(rest_[end + 1])) {
      end = DigitsEnd(end + 1);
      is_float = true;
    }
    if (!after_dot && end < rest_.size() && (rest_[end] == 'e' || rest_[end] == 'E')) {
      size_t digits = end + 1;
      if (digits < rest_.size() && (rest_[digits] == '+' || rest_[digits] == '-')) ++digits;
      if (digits < rest_.size() && IsDigit(rest_[digits])) {
        end = DigitsEnd(digits);
        is_float = true;
      }
    }
    Add(is_float ? TokenKind::kFloat : TokenKind::kInteger, end);
    std::string& text = tokens_.back().text;
    text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
  }

  void ReadString() {
    const char quote = rest_.front();
    const int line = line_;
    std::string text;
    size_t at = 1;
    while (at < rest_.size() && rest_[at] != quote) {
      if (rest_[at] == '\\' && at + 1 < rest_.size()) {
        at = ReadEscape(at + 1, &text);
      } else {
        text += rest_[at++];
      }
    }
    if (at >= rest_.size()) Fail("a string without its closing quote");
    Take(at + 1);
    tokens_.push_back({TokenKind::kString, std::move(text), line});
  }

  // `at` is behind the backslash. Returns where the text goes on.
  size_t ReadEscape(size_t at, std::string* text) {
    static constexpr std::string_view kLetters = "abfnrtv\\'\"", kMeanings = "\a\b\f\n\r\t\v\\'\"";
    const char c = rest_[at];
    if (const size_t letter = kLetters.find(c); letter != std::string_view::npos) {
      *text += kMeanings[letter];
      return at + 1;
    }
    if (c == '\n') return at + 1;
    if (c == 'x' || c == 'u' || c == 'U')
      return ReadCodePoint(at + 1, c == 'x' ? 2 : c == 'u' ? 4 : 8, 16, text);
    if (c >= '0' && c <= '7') {
      const size_t end = std::min(rest_.find_first_not_of("01234567", at), at + 3);
      return ReadCodePoint(at, std::min(end, rest_.size()) - at, 8, text);
    }
    *text += '\\';
    return at;
  }

  size_t ReadCodePoint(size_t at, size_t digits, int base, std::string* text) {
    char32_t code_point = 0;
    for (size_t i = 0; i < digits; ++i) {
      const char c = at + i < rest_.size() ? rest_[at + i] : ' ';
      const size_t digit =
          std::string_view("0123456789abcdef").find(static_cast<char>(IsDigit(c) ? c : c | 0x20));
      if (digit == std::string_view::npos) Fail("an escape in a string is cut off");
      code_point = code_point * static_cast<char32_t>(base) + static_cast<char32_t>(digit);
    }
    if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point < 0xE000))
      Fail("an escape names no character");
    AppendUtf8(code_point, text);
    return at + digits;
  }

  void ReadOperator(std::string* open_brackets) {
    static constexpr std::string_view kTwo[] = {"//", "**", "==", "!=", ">=", "<="};
    for (const std::string_view two : kTwo) {
      if (StartsWith(two)) return Add(TokenKind::kOperator, 2);
    }
    const char c = rest_.front();
    if (std::string_view("+-/*%~[](){}><=.:|,;").find(c) == std::string_view::npos) {
      Fail("unexpected character '" + std::string(1, c) + "'");
    }
    if (c == '(' || c == '[' || c == '{') {
      open_brackets->push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
    } else if (c == ')' || c == ']' || c == '}') {
      if (open_brackets->empty() || open_brackets->back() != c)
        Fail("unexpected '" + std::string(1, c) + "'");
      open_brackets->pop_back();
    }
    Add(TokenKind::kOperator, 1);
  }

  std::string source_;
  std::string_view rest_;
  int line_ = 1;
  bool at_line_start_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> Tokenize(std::string_view source) {
  return Lexer(source).Run();
}

}  // namespace reenact::local_engine
