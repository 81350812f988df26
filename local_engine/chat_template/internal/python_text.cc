#include "local_engine/chat_template/internal/python_text.h"

#include <charconv>
#include <cmath>

#include "local_engine/chat_template/internal/callable.h"
#include "local_engine/chat_template/internal/template_error.h"
#include "local_engine/chat_template/internal/unicode_text.h"

namespace reenact::local_engine {
namespace {

void AppendHex(char32_t value, int digits, std::string* out) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    out->push_back("0123456789abcdef"[value >> shift & 15]);
}

void AppendEscaped(char32_t c, std::string* out) {
  switch (c) {
    case '\t':
      *out += "\\t";
      return;
    case '\n':
      *out += "\\n";
      return;
    case '\r':
      *out += "\\r";
      return;
    default:
      break;
  }
  *out += c < 0x100 ? "\\x" : c < 0x10000 ? "\\u" : "\\U";
  AppendHex(c, c < 0x100 ? 2 : c < 0x10000 ? 4 : 8, out);
}

void AppendStringRepr(std::string_view text, std::string* out) {
  const bool single =
      text.find('\'') == std::string_view::npos || text.find('"') != std::string_view::npos;
  const char quote = single ? '\'' : '"';
  out->push_back(quote);
  for (size_t position = 0; position < text.size();) {
    const size_t start = position;
    const char32_t c = NextCodePoint(text, &position);
    if (c == static_cast<char32_t>(quote) || c == '\\') {
      out->push_back('\\');
      out->push_back(static_cast<char>(c));
    } else if (IsPrintable(c)) {
      out->append(text, start, position - start);
    } else {
      AppendEscaped(c, out);
    }
  }
  out->push_back(quote);
}

void AppendRepr(const Value& value, std::string* out);

void AppendSequenceRepr(const Sequence& sequence, std::string* out) {
  const char *open = "[", *close = "]";
  switch (sequence.kind) {
    case SequenceKind::kList:
      break;
    case SequenceKind::kTuple:
      open = "(";
      close = sequence.items.size() == 1 ? ",)" : ")";
      break;
    case SequenceKind::kKeysView:
      open = "dict_keys([";
      close = "])";
      break;
    case SequenceKind::kValuesView:
      open = "dict_values([";
      close = "])";
      break;
    case SequenceKind::kItemsView:
      open = "dict_items([";
      close = "])";
      break;
    case SequenceKind::kRange:
      throw TemplateError("a range is printed; make it a list first");
    case SequenceKind::kGenerator:
      throw TemplateError("the result of a lazy filter is printed; make it a list first");
  }
  *out += open;
  for (size_t i = 0; i < sequence.items.size(); ++i) {
    if (i > 0) *out += ", ";
    AppendRepr(sequence.items[i], out);
  }
  *out += close;
}

void AppendDictRepr(const Dict& dict, std::string* out) {
  *out += "{";
  bool first = true;
  for (const auto& [key, value] : dict.entries()) {
    if (!first) *out += ", ";
    first = false;
    AppendRepr(key, out);
    *out += ": ";
    AppendRepr(value, out);
  }
  *out += "}";
}

void AppendRepr(const Value& value, std::string* out) {
  if (value.IsUndefined()) {
    *out += "Undefined";
  } else if (value.IsNone()) {
    *out += "None";
  } else if (const bool* flag = value.As<bool>()) {
    *out += *flag ? "True" : "False";
  } else if (const int64_t* whole = value.As<int64_t>()) {
    *out += std::to_string(*whole);
  } else if (const double* real = value.As<double>()) {
    *out += FloatText(*real);
  } else if (const BigInteger* big = value.As<BigInteger>()) {
    *out += *big->digits;
  } else if (value.IsString()) {
    AppendStringRepr(value.Utf8(), out);
  } else if (const Sequence* sequence = value.AsSequence()) {
    AppendSequenceRepr(*sequence, out);
  } else if (const Dict* dict = value.AsDict()) {
    AppendDictRepr(*dict, out);
  } else if (const auto* callable = value.As<std::shared_ptr<const Callable>>()) {
    throw TemplateError("'" + (*callable)->name + "' is printed; it has to be called");
  } else {
    throw TemplateError("a " + TypeName(value) + " object is printed; it has no text");
  }
}

}  // namespace

std::string ToText(const Value& value) {
  if (value.IsString()) return value.Utf8();
  if (value.IsUndefined()) return "";
  return Repr(value);
}

std::string Repr(const Value& value) {
  std::string out;
  AppendRepr(value, &out);
  return out;
}

std::string FloatText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  // Shortest digits as d.ddde[+-]xx; Python writes exponents below -4 and from 16 on.
  char digits[32];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, value, std::chars_format::scientific).ptr;
  const std::string scientific(digits, end);
  const size_t exponent_at = scientific.find('e');
  const int exponent = std::stoi(scientific.substr(exponent_at + 1));
  if (exponent < -4 || exponent >= 16) return scientific;
  char fixed[64];
  std::string text(fixed,
                   std::to_chars(fixed, fixed + sizeof fixed, value, std::chars_format::fixed).ptr);
  if (text.find('.') == std::string::npos) text += ".0";
  return text;
}

}  // namespace reenact::local_engine
