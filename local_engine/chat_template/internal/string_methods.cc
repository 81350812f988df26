// The methods of strings, and text operations that filters share with them.

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "local_engine/chat_template/internal/builtins.h"
#include "local_engine/chat_template/internal/format.h"
#include "local_engine/chat_template/internal/interpreter.h"
#include "local_engine/chat_template/internal/operators.h"
#include "local_engine/chat_template/internal/string_split.h"
#include "local_engine/chat_template/internal/template_error.h"
#include "local_engine/chat_template/internal/unicode_text.h"

namespace reenact::local_engine {
namespace {

using Arg = const Arguments&;

template <std::string (*kMap)(std::string_view)>
Value MappedMethod(Interpreter& interpreter, const Value& text, Arg arguments) {
  const BoundArguments bound(arguments, {});
  interpreter.budget()->Charge(static_cast<int64_t>(text.Utf8().size()), 4);
  return Value::String(kMap(text.Utf8()));
}

template <bool kLeft, bool kRight>
Value Strip(Interpreter& interpreter, const Value& text, Arg arguments) {
  const BoundArguments bound(arguments, {"chars"});
  interpreter.budget()->Charge(static_cast<int64_t>(text.Utf8().size()),
                               bound.Absent(0) ? 1 : bound.Get(0)->Weight());
  return Copied(interpreter, StripCharacters(text.Utf8(), bound.Absent(0) ? nullptr : bound.Get(0),
                                             kLeft, kRight));
}

// Whether one of the affixes, a string or a tuple of them, is at that end of the text.
template <bool kAtEnd>
Value HasAffix(Interpreter& interpreter, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {"affix"});
  const Value& affixes = bound.Required(0);
  const std::string_view text = value.Utf8();
  const auto matches = [text, &interpreter](const Value& affix) {
    if (!affix.IsString())
      throw TemplateError("takes a string or a tuple of strings, not " + TypeName(affix));
    interpreter.budget()->Charge(static_cast<int64_t>(affix.Utf8().size()));
    return kAtEnd ? text.ends_with(affix.Utf8()) : text.starts_with(affix.Utf8());
  };
  const Sequence* sequence = affixes.AsSequence();
  if (sequence == nullptr || sequence->kind != SequenceKind::kTuple)
    return Value::Bool(matches(affixes));
  return Value::Bool(std::any_of(sequence->items.begin(), sequence->items.end(), matches));
}

template <bool kAtEnd>
Value RemoveAffix(Interpreter& interpreter, const Value& value, Arg arguments) {
  const std::string affix = BoundArguments(arguments, {"affix"}).String(0, "");
  std::string_view text = value.Utf8();
  if (kAtEnd && text.ends_with(affix)) text.remove_suffix(affix.size());
  if (!kAtEnd && text.starts_with(affix)) text.remove_prefix(affix.size());
  return Copied(interpreter, text);
}

Value ReplaceMethod(Interpreter& interpreter, const Value& text, Arg arguments) {
  return ReplaceText(interpreter, text.Utf8(), arguments);
}

Value Count(Interpreter& interpreter, const Value& text, Arg arguments) {
  const std::string wanted = BoundArguments(arguments, {"sub"}).String(0, "");
  interpreter.budget()->Charge(static_cast<int64_t>(text.Utf8().size()));
  if (wanted.empty()) return Value::Int(Length(text) + 1);
  int64_t count = 0;
  for (size_t at = 0; (at = FindIn(text.Utf8(), wanted, at)) != std::string_view::npos;
       at += wanted.size()) {
    interpreter.budget()->Charge(kStepWork + static_cast<int64_t>(wanted.size()));
    ++count;
  }
  return Value::Int(count);
}

// Index in code points of the first or last place of `sub`; -1 where there is none.
int64_t FindPlace(Interpreter& interpreter, const std::string& text, Arg arguments, bool last) {
  const std::string wanted = BoundArguments(arguments, {"sub"}).String(0, "");
  const auto size = static_cast<int64_t>(text.size());
  interpreter.budget()->Charge(size, last ? static_cast<int64_t>(wanted.size()) + 1 : 1);
  const size_t found = last ? text.rfind(wanted) : FindIn(text, wanted);
  if (found == std::string::npos) return -1;
  return static_cast<int64_t>(CodePointCount(std::string_view(text).substr(0, found)));
}

template <bool kLast>
Value Find(Interpreter& interpreter, const Value& text, Arg arguments) {
  return Value::Int(FindPlace(interpreter, text.Utf8(), arguments, kLast));
}

template <bool kLast>
Value Index(Interpreter& interpreter, const Value& text, Arg arguments) {
  const int64_t place = FindPlace(interpreter, text.Utf8(), arguments, kLast);
  if (place < 0) throw TemplateError("substring not found");
  return Value::Int(place);
}

Value JoinMethod(Interpreter& interpreter, const Value& separator, Arg arguments) {
  const BoundArguments bound(arguments, {"iterable"});
  interpreter.budget()->ChargeWalk(bound.Required(0));
  std::string text;
  bool first = true;
  for (const Value& part : Iterate(bound.Required(0))) {
    if (!part.IsString()) throw TemplateError("joins strings, not " + TypeName(part));
    if (!first) text += separator.Utf8();
    first = false;
    interpreter.budget()->Charge(
        static_cast<int64_t>(separator.Utf8().size() + part.Utf8().size()));
    text += part.Utf8();
  }
  return Value::String(std::move(text));
}

Value FormatMethod(Interpreter& interpreter, const Value& text, Arg arguments) {
  return Value::String(FormatBraces(text.Utf8(), arguments, interpreter.budget()));
}

enum class Side { kLeft, kRight, kBoth };

template <Side kText>
Value Justify(Interpreter& interpreter, const Value& text, Arg arguments) {
  const BoundArguments bound(arguments, {"width", "fillchar"});
  bound.Required(0);
  const std::string fill = bound.String(1, " ");
  if (CodePointCount(fill) != 1)
    throw TemplateError("the fill character must be exactly one character long");
  const int64_t width = bound.Integer(0, 0), missing = std::max<int64_t>(0, width - Length(text));
  interpreter.budget()->Charge(missing, static_cast<int64_t>(fill.size()));
  // Python puts the odd one on the left where the width is odd too.
  const int64_t left = kText == Side::kLeft    ? 0
                       : kText == Side::kRight ? missing
                                               : missing / 2 + (missing & width & 1);
  std::string out;
  for (int64_t i = 0; i < left; ++i) out += fill;
  out += text.Utf8();
  for (int64_t i = left; i < missing; ++i) out += fill;
  return Value::String(std::move(out));
}

Value ZeroFill(Interpreter& interpreter, const Value& text, Arg arguments) {
  const BoundArguments bound(arguments, {"width"});
  bound.Required(0);
  const int64_t missing = std::max<int64_t>(0, bound.Integer(0, 0) - Length(text));
  interpreter.budget()->Charge(missing);
  std::string out = text.Utf8();
  out.insert(!out.empty() && (out[0] == '+' || out[0] == '-') ? 1 : 0, static_cast<size_t>(missing),
             '0');
  return Value::String(std::move(out));
}

// Whether the text has characters, and all of them satisfy the predicate.
template <bool (*kHolds)(char32_t)>
Value All(Interpreter& interpreter, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {});
  const std::string& text = value.Utf8();
  interpreter.budget()->Charge(static_cast<int64_t>(text.size()));
  for (size_t position = 0; position < text.size();) {
    if (!kHolds(NextCodePoint(text, &position))) return Value::Bool(false);
  }
  return Value::Bool(!text.empty());
}

bool IsAsciiDigit(char32_t c) {
  return c >= '0' && c <= '9';
}

// Of letters without case those beyond the Latin, Greek and Cyrillic blocks: scripts, not signs.
bool IsLetter(char32_t c) {
  return IsCased(c) || (c >= 0x5D0 && IsPrintable(c) && !(c >= 0x2000 && c < 0x3040));
}

bool IsLetterOrDigit(char32_t c) {
  return IsLetter(c) || IsAsciiDigit(c);
}

template <const char* kTest>
Value AsTest(Interpreter& interpreter, const Value& value, Arg arguments) {
  const BoundArguments bound(arguments, {});
  return FindTest(kTest)(interpreter, value, arguments);
}

constexpr char kLowerTest[] = "lower", kUpperTest[] = "upper";

}  // namespace

std::string_view StripCharacters(std::string_view text, const Value* characters, bool left,
                                 bool right) {
  if (characters == nullptr) {
    if (left) text = StripLeft(text);
    return right ? StripRight(text) : text;
  }
  if (!characters->IsString()) throw TemplateError("strip arg must be None or str");
  const auto is_listed = [characters](std::string_view character) {
    return characters->Utf8().find(character) != std::string::npos;
  };
  while (left && !text.empty()) {
    size_t end = 0;
    NextCodePoint(text, &end);
    if (!is_listed(text.substr(0, end))) break;
    text.remove_prefix(end);
  }
  while (right && !text.empty()) {
    size_t start = text.size() - 1;
    while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) --start;
    if (!is_listed(text.substr(start))) break;
    text.remove_suffix(text.size() - start);
  }
  return text;
}

Value ReplaceText(Interpreter& interpreter, std::string_view text, const Arguments& arguments) {
  const BoundArguments bound(arguments, {"old", "new", "count"});
  bound.Required(1);
  const std::string old = bound.String(0, ""), fresh = bound.String(1, "");
  int64_t left = bound.Absent(2) ? -1 : bound.Integer(2, -1);
  interpreter.budget()->Charge(static_cast<int64_t>(text.size()));
  std::string out;
  size_t start = 0;
  if (old.empty()) {  // In front of every character, and at the end.
    for (; left != 0 && start < text.size(); --left) {
      size_t next = start;
      NextCodePoint(text, &next);
      interpreter.budget()->Charge(static_cast<int64_t>(fresh.size()) + 4);
      (out += fresh) += text.substr(start, next - start);
      start = next;
    }
    return Value::String(out.append(text.substr(start)) + (left != 0 ? fresh : ""));
  }
  for (; left != 0; --left) {
    const size_t found = FindIn(text, old, start);
    if (found == std::string_view::npos) break;
    interpreter.budget()->Charge(kStepWork + static_cast<int64_t>(old.size() + fresh.size()));
    out.append(text, start, found - start) += fresh;
    start = found + old.size();
  }
  return Value::String(out.append(text.substr(start)));
}

std::span<const NamedFunction> StringMethods() {
  static constexpr NamedFunction kMethods[] = {
      {"capitalize", MappedMethod<Capitalize>},
      {"casefold", MappedMethod<Lower>},
      {"center", Justify<Side::kBoth>},
      {"count", Count},
      {"endswith", HasAffix<true>},
      {"find", Find<false>},
      {"format", FormatMethod},
      {"index", Index<false>},
      {"isalnum", All<IsLetterOrDigit>},
      {"isalpha", All<IsLetter>},
      {"isdecimal", All<IsAsciiDigit>},
      {"isdigit", All<IsAsciiDigit>},
      {"islower", AsTest<kLowerTest>},
      {"isnumeric", All<IsAsciiDigit>},
      {"isspace", All<IsSpace>},
      {"isupper", AsTest<kUpperTest>},
      {"join", JoinMethod},
      {"ljust", Justify<Side::kLeft>},
      {"lower", MappedMethod<Lower>},
      {"lstrip", Strip<true, false>},
      {"partition", Partition},
      {"removeprefix", RemoveAffix<false>},
      {"removesuffix", RemoveAffix<true>},
      {"replace", ReplaceMethod},
      {"rfind", Find<true>},
      {"rindex", Index<true>},
      {"rjust", Justify<Side::kRight>},
      {"rsplit", SplitFromRight},
      {"rstrip", Strip<false, true>},
      {"split", Split},
      {"splitlines", Lines},
      {"startswith", HasAffix<false>},
      {"strip", Strip<true, true>},
      {"title", MappedMethod<TitleCase>},
      {"upper", MappedMethod<Upper>},
      {"zfill", ZeroFill},
  };
  return kMethods;
}

}  // namespace reenact::local_engine
