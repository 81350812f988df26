#include "local_engine/chat_template/internal/string_split.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "local_engine/chat_template/internal/builtins.h"
#include "local_engine/chat_template/internal/interpreter.h"
#include "local_engine/chat_template/internal/template_error.h"
#include "local_engine/chat_template/internal/unicode_text.h"

namespace reenact::local_engine {
namespace {

using Arg = const Arguments&;

class Splitter {
 public:
  Splitter(Interpreter& interpreter, std::string_view text)
      : interpreter_(interpreter), text_(text) {}

  // At runs of white space; none at either end.
  std::vector<Value> AtSpaces(int64_t limit) {
    text_ = StripLeft(text_);
    while (!text_.empty()) {
      if (limit >= 0 && static_cast<int64_t>(parts_.size()) >= limit) {
        Add(text_);
        break;
      }
      size_t end = 0, next = 0;
      while (next < text_.size() && !IsSpace(NextCodePoint(text_, &next))) end = next;
      Add(text_.substr(0, end));
      text_ = StripLeft(text_.substr(end));
    }
    return std::move(parts_);
  }

  std::vector<Value> AtSpacesFromRight(int64_t limit) {
    text_ = StripRight(text_);
    while (!text_.empty()) {
      if (limit >= 0 && static_cast<int64_t>(parts_.size()) >= limit) {
        Add(text_);
        break;
      }
      size_t start = text_.size();
      while (start > 0 && StripRight(text_.substr(0, start)).size() == start) --start;
      Add(text_.substr(start));
      text_ = StripRight(text_.substr(0, start));
    }
    std::reverse(parts_.begin(), parts_.end());
    return std::move(parts_);
  }

  std::vector<Value> At(std::string_view separator, int64_t limit) {
    size_t start = 0;
    while (limit < 0 || static_cast<int64_t>(parts_.size()) < limit) {
      const size_t found = FindIn(text_, separator, start);
      if (found == std::string_view::npos) break;
      Add(text_.substr(start, found - start));
      start = found + separator.size();
    }
    Add(text_.substr(start));
    return std::move(parts_);
  }

  std::vector<Value> AtFromRight(std::string_view separator, int64_t limit) {
    while (limit < 0 || static_cast<int64_t>(parts_.size()) < limit) {
      interpreter_.budget()->Charge(static_cast<int64_t>(separator.size()) * 4);
      const size_t found = text_.rfind(separator);
      if (found == std::string_view::npos) break;
      Add(text_.substr(found + separator.size()));
      text_ = text_.substr(0, found);
    }
    Add(text_);
    std::reverse(parts_.begin(), parts_.end());
    return std::move(parts_);
  }

 private:
  void Add(std::string_view part) {
    interpreter_.budget()->Charge(kItemWork + static_cast<int64_t>(part.size()));
    parts_.push_back(Value::String(std::string(part)));
  }

  Interpreter& interpreter_;
  std::string_view text_;
  std::vector<Value> parts_;
};

template <bool kFromRight>
Value SplitAt(Interpreter& interpreter, const Value& text, Arg arguments) {
  const BoundArguments bound(arguments, {"sep", "maxsplit"});
  const int64_t limit = bound.Integer(1, -1);
  interpreter.budget()->Charge(static_cast<int64_t>(text.Utf8().size()));
  Splitter splitter(interpreter, text.Utf8());
  if (bound.Absent(0)) {
    return Value::List(kFromRight ? splitter.AtSpacesFromRight(limit) : splitter.AtSpaces(limit));
  }
  const std::string separator = bound.String(0, "");
  if (separator.empty()) throw TemplateError("empty separator");
  // A naive search backwards is charged for what it may compare.
  if (kFromRight) {
    interpreter.budget()->Charge(static_cast<int64_t>(text.Utf8().size()),
                                 static_cast<int64_t>(separator.size()));
  }
  return Value::List(kFromRight ? splitter.AtFromRight(separator, limit)
                                : splitter.At(separator, limit));
}

}  // namespace

size_t FindIn(std::string_view text, std::string_view wanted, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  const void* found = memmem(text.data() + from, text.size() - from, wanted.data(), wanted.size());
  return found == nullptr ? std::string_view::npos
                          : static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

Value Copied(Interpreter& interpreter, std::string_view text) {
  interpreter.budget()->Charge(static_cast<int64_t>(text.size()));
  return Value::String(std::string(text));
}

Value Split(Interpreter& interpreter, const Value& text, Arg arguments) {
  return SplitAt<false>(interpreter, text, arguments);
}

Value SplitFromRight(Interpreter& interpreter, const Value& text, Arg arguments) {
  return SplitAt<true>(interpreter, text, arguments);
}

Value Partition(Interpreter& interpreter, const Value& value, Arg arguments) {
  const std::string separator = BoundArguments(arguments, {"sep"}).String(0, "");
  if (separator.empty()) throw TemplateError("empty separator");
  const std::string_view text = value.Utf8();
  const size_t found = FindIn(text, separator);
  if (found == std::string_view::npos)
    return Value::Tuple({value, Value::String(""), Value::String("")});
  return Value::Tuple({Copied(interpreter, text.substr(0, found)), Value::String(separator),
                       Copied(interpreter, text.substr(found + separator.size()))});
}

Value Lines(Interpreter& interpreter, const Value& text, Arg arguments) {
  const BoundArguments bound(arguments, {"keepends"});
  std::vector<Value> lines;
  for (const std::string_view line : SplitLines(text.Utf8(), bound.Flag(0, false))) {
    interpreter.budget()->Charge(kItemWork);
    lines.push_back(Copied(interpreter, line));
  }
  return Value::List(std::move(lines));
}

std::vector<std::string_view> SplitLines(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> lines;
  size_t start = 0;
  for (size_t position = 0; position < text.size();) {
    const size_t end = position;
    const char32_t c = NextCodePoint(text, &position);
    const bool breaks = (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 ||
                        c == 0x2028 || c == 0x2029;
    if (!breaks) continue;
    if (c == '\r' && position < text.size() && text[position] == '\n') ++position;
    lines.push_back(text.substr(start, (keep_ends ? position : end) - start));
    start = position;
  }
  if (start < text.size()) lines.push_back(text.substr(start));
  return lines;
}

}  // namespace reenact::local_engine
