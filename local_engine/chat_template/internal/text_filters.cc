// Filters that give text, and those that give numbers.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string>

#include "local_engine/chat_template/internal/builtins.h"
#include "local_engine/chat_template/internal/format.h"
#include "local_engine/chat_template/internal/interpreter.h"
#include "local_engine/chat_template/internal/json.h"
#include "local_engine/chat_template/internal/operators.h"
#include "local_engine/chat_template/internal/python_text.h"
#include "local_engine/chat_template/internal/template_error.h"
#include "local_engine/chat_template/internal/unicode_text.h"

namespace reenact::local_engine {
namespace {

using Arg = const Arguments&;

// jinja2's title: words end at blanks, hyphens and opening brackets alone, so it's -> It's.
std::string TitleWords(std::string_view text) {
  const auto ends_word = [](char32_t c) {
    return c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || IsSpace(c);
  };
  std::string out;
  size_t start = 0;
  for (size_t position = 0; position < text.size();) {
    const size_t at = position;
    if (!ends_word(NextCodePoint(text, &position))) continue;
    out += Capitalize(text.substr(start, at - start));
    out += text.substr(at, position - at);
    start = position;
  }
  return out + Capitalize(text.substr(start));
}

std::string EscapeHtml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string Unchanged(std::string_view text) {
  return std::string(text);
}

template <std::string (*kMap)(std::string_view)>
Value Mapped(Interpreter& interpreter, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {});
  const std::string text = interpreter.TextOf(value);
  interpreter.budget()->Charge(static_cast<int64_t>(text.size()), 6);
  return Value::String(kMap(text));
}

Value Trim(Interpreter& interpreter, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {"chars"});
  const std::string text = interpreter.TextOf(value);
  const Value* characters = bound.Absent(0) ? nullptr : bound.Get(0);
  if (characters != nullptr) {
    interpreter.budget()->Charge(static_cast<int64_t>(text.size()), characters->Weight());
  }
  return Value::String(std::string(StripCharacters(text, characters, true, true)));
}

Value Replace(Interpreter& interpreter, const Value& value, Arg arguments) {
  Arguments texts = arguments;  // jinja2 makes strings of what is replaced by what.
  for (size_t i = 0; i < texts.positional.size() && i < 2; ++i) {
    texts.positional[i] = Value::String(interpreter.TextOf(texts.positional[i]));
  }
  return ReplaceText(interpreter, interpreter.TextOf(value), texts);
}

Value Indent(Interpreter& interpreter, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {"width", "first", "blank"});
  const bool first = bound.Flag(1, false), blank = bound.Flag(2, false);
  std::string by;
  if (bound.Get(0) != nullptr && bound.Get(0)->IsString()) {
    by = bound.Get(0)->Utf8();
  } else {
    const int64_t width = std::max<int64_t>(0, bound.Integer(0, 4));
    interpreter.budget()->Charge(width);
    by = std::string(static_cast<size_t>(width), ' ');
  }
  const std::string text = interpreter.TextOf(value) + "\n";  // So that an empty last line counts.
  std::string out = first ? by : "";
  bool is_first = true;
  for (const std::string_view line : SplitLines(text, false)) {
    interpreter.budget()->Charge(static_cast<int64_t>(line.size() + by.size()) + kStepWork);
    if (!is_first) out += "\n";
    if (!is_first && (blank || !line.empty())) out += by;
    is_first = false;
    out += line;
  }
  return Value::String(std::move(out));
}

std::optional<std::string> JsonIndent(const Value* indent, Budget* budget) {
  if (indent == nullptr || indent->IsNone()) return std::nullopt;
  if (indent->IsString()) return indent->Utf8();
  const std::optional<int64_t> width = AsInteger(*indent);
  if (!width) throw TemplateError("'indent' must be int or str, not " + TypeName(*indent));
  budget->Charge(std::max<int64_t>(0, *width));
  return std::string(static_cast<size_t>(std::max<int64_t>(0, *width)), ' ');
}

// As Hugging Face defines it: json.dumps, nothing escaped for HTML.
Value ToJson(Interpreter& interpreter, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  if (value.IsUndefined()) throw TemplateError("Object of type Undefined is not JSON serializable");
  JsonStyle style;
  style.ensure_ascii = bound.Flag(0, false);
  style.sort_keys = bound.Flag(3, false);
  style.indent = JsonIndent(bound.Get(1), interpreter.budget());
  if (style.indent) style.item_separator = ",";
  if (!bound.Absent(2)) {
    const std::vector<Value> separators = Iterate(*bound.Get(2));
    if (separators.size() != 2 || !separators[0].IsString() || !separators[1].IsString()) {
      throw TemplateError("'separators' must be two strings");
    }
    style.item_separator = separators[0].Utf8();
    style.key_separator = separators[1].Utf8();
  }
  const size_t for_each_part =
      style.item_separator.size() + style.key_separator.size() +
      (style.indent ? style.indent->size() * static_cast<size_t>(value.Depth()) : 0);
  interpreter.budget()->Charge(value.Weight(), kStepWork + static_cast<int64_t>(for_each_part));
  return Value::String(WriteJson(value, style));
}

Value Format(Interpreter& interpreter, const Value& value, Arg arguments) {
  if (!arguments.named.empty() && !arguments.positional.empty()) {
    throw TemplateError("takes positional or named arguments, not both");
  }
  std::vector<std::pair<Value, Value>> entries;
  for (const auto& [name, argument] : arguments.named)
    entries.emplace_back(Value::String(name), argument);
  const Value operand =
      entries.empty() ? Value::Tuple(arguments.positional) : Value::Mapping(std::move(entries));
  return Value::String(FormatPercent(interpreter.TextOf(value), operand, interpreter.budget()));
}

Value Int(Interpreter&, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {"default", "base"});
  const Value otherwise = bound.Get(0) == nullptr ? Value::Int(0) : *bound.Get(0);
  if (value.IsUndefined()) FailUndefined(value);
  if (value.As<BigInteger>() != nullptr) return value;
  if (const std::optional<int64_t> whole = AsInteger(value)) return Value::Int(*whole);
  std::optional<double> real = AsReal(value);
  if (value.IsString()) {
    const int64_t base = bound.Integer(1, 10);
    if (base < 2 || base > 16)
      throw TemplateError("'base' must be from 2 to 16", TemplateFault::kUnsupported);
    if (const std::optional<Value> parsed = ParseInteger(value.Utf8(), static_cast<int>(base)))
      return *parsed;
    real = ParseReal(value.Utf8());
  }
  if (!real || std::isnan(*real)) return otherwise;
  if (std::isinf(*real)) throw TemplateError("cannot convert float infinity to integer");
  if (std::abs(*real) >= 9.2e18)
    throw TemplateError("an integer is beyond 64 bits", TemplateFault::kUnsupported);
  return Value::Int(static_cast<int64_t>(*real));
}

Value Float(Interpreter&, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {"default"});
  if (value.IsUndefined()) FailUndefined(value);
  std::optional<double> real = AsReal(value);
  if (const BigInteger* big = value.As<BigInteger>()) real = ParseReal(*big->digits);
  if (value.IsString()) real = ParseReal(value.Utf8());
  if (real) return Value::Float(*real);
  return bound.Get(0) == nullptr ? Value::Float(0) : *bound.Get(0);
}

Value Abs(Interpreter&, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {});
  const std::optional<double> real = AsReal(value);
  if (!real) throw TemplateError("bad operand type for abs(): '" + TypeName(value) + "'");
  if (const std::optional<int64_t> whole = AsInteger(value)) {
    return *whole < 0 ? Negative(value) : Value::Int(*whole);
  }
  return Value::Float(std::abs(*real));
}

Value Round(Interpreter&, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {"precision", "method"});
  const int64_t precision = bound.Integer(0, 0);
  const std::string method = bound.String(1, "common");
  const std::optional<double> real = AsReal(value);
  if (!real) throw TemplateError("type " + TypeName(value) + " cannot be rounded");
  if (precision < 0 || precision > 300)
    throw TemplateError("a precision below 0", TemplateFault::kUnsupported);
  if (method == "common") {
    if (const std::optional<int64_t> whole = AsInteger(value)) return Value::Int(*whole);
    if (!std::isfinite(*real)) return value;
    char text[700];  // Correctly rounded, halves to even, as Python does.
    std::snprintf(text, sizeof text, "%.*f", static_cast<int>(precision), *real);
    return Value::Float(std::strtod(text, nullptr));
  }
  const double scale = std::pow(10, static_cast<double>(precision));
  if (method == "ceil") return Value::Float(std::ceil(*real * scale) / scale);
  if (method == "floor") return Value::Float(std::floor(*real * scale) / scale);
  throw TemplateError("method must be common, ceil or floor");
}

}  // namespace

std::optional<Value> ParseInteger(std::string_view text, int base) {
  text = StripRight(StripLeft(text));
  const bool negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  const std::string_view prefix = base == 16 ? "0x" : base == 8 ? "0o" : base == 2 ? "0b" : "";
  if (!prefix.empty() && Lower(text.substr(0, 2)) == prefix) text.remove_prefix(2);
  if (text.empty() || text.front() == '_' || text.back() == '_') return std::nullopt;
  std::string digits = negative ? "-" : "";
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      digits += text[i];
    } else if (text[i - 1] == '_') {
      return std::nullopt;
    }
  }
  int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, value, base);
  if (result.ptr != end || result.ec == std::errc::invalid_argument) return std::nullopt;
  if (result.ec == std::errc()) return Value::Int(value);
  if (base != 10) throw TemplateError("an integer is beyond 64 bits", TemplateFault::kUnsupported);
  digits.erase(negative ? 1 : 0, digits.find_first_not_of("-0") - (negative ? 1 : 0));
  return Value::BigInt(std::move(digits));
}

std::optional<double> ParseReal(std::string_view text) {
  text = StripRight(StripLeft(text));
  std::string digits(text.substr(!text.empty() && text.front() == '+' ? 1 : 0));
  const std::string lower = Lower(digits);
  const std::string_view unsigned_part =
      std::string_view(lower).substr(!lower.empty() && lower[0] == '-' ? 1 : 0);
  if (unsigned_part == "inf" || unsigned_part == "infinity")
    return lower[0] == '-' ? -INFINITY : INFINITY;
  if (unsigned_part == "nan") return NAN;
  if (unsigned_part.empty() ||
      (unsigned_part[0] != '.' && (unsigned_part[0] < '0' || unsigned_part[0] > '9'))) {
    return std::nullopt;
  }
  digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
  double value = 0;
  const char* const end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, value);
  if (result.ec == std::errc::result_out_of_range) return std::strtod(digits.c_str(), nullptr);
  return result.ec == std::errc() && result.ptr == end ? std::optional(value) : std::nullopt;
}

std::span<const NamedFunction> TextFilters() {
  static constexpr NamedFunction kFilters[] = {
      {"capitalize", Mapped<Capitalize>},
      {"e", Mapped<EscapeHtml>},
      {"escape", Mapped<EscapeHtml>},
      {"format", Format},
      {"indent", Indent},
      {"lower", Mapped<Lower>},
      {"replace", Replace},
      {"safe", Mapped<Unchanged>},
      {"string", Mapped<Unchanged>},
      {"title", Mapped<TitleWords>},
      {"tojson", ToJson},
      {"trim", Trim},
      {"upper", Mapped<Upper>},
  };
  return kFilters;
}

std::span<const NamedFunction> NumberFilters() {
  static constexpr NamedFunction kFilters[] = {
      {"abs", Abs}, {"float", Float}, {"int", Int}, {"round", Round}};
  return kFilters;
}

}  // namespace reenact::local_engine
