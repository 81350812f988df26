#include "schema/internal/secret_forms.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "schema/redaction.h"

namespace reenact::schema::internal {
namespace {

constexpr size_t kMaxNameSize = 128;
constexpr size_t kMaxUserInfoSize = 512;
// A key inside a longer run of its characters is a key; inside a blob it is chance.
constexpr size_t kMaxRunBeforeKey = 32;

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool IsAlphanumeric(char c) {
  return IsDigit(c) || IsLetter(c);
}

bool IsWordDash(char c) {
  return IsAlphanumeric(c) || c == '-' || c == '_';
}

bool IsHex(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool IsSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool IsQuote(char c) {
  return c == '"' || c == '\'' || c == '`';
}

bool IsIn(TailClass tail_class, char c) {
  switch (tail_class) {
    case TailClass::kAlphanumeric:
      return IsAlphanumeric(c);
    case TailClass::kWord:
      return IsAlphanumeric(c) || c == '_';
    case TailClass::kWordDash:
      return IsWordDash(c);
    case TailClass::kWordDashDot:
      return IsWordDash(c) || c == '.';
    case TailClass::kUpperDigit:
      return IsDigit(c) || (c >= 'A' && c <= 'Z');
  }
  return false;
}

template <typename Predicate>
size_t SkipWhile(std::string_view text, size_t at, Predicate predicate) {
  while (at < text.size() && predicate(text[at])) ++at;
  return at;
}

bool EqualsIgnoringCase(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() &&
         std::equal(text.begin(), text.end(), lower.begin(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
         });
}

bool StartsWithIgnoringCase(std::string_view text, size_t at, std::string_view lower) {
  return at <= text.size() && EqualsIgnoringCase(text.substr(at, lower.size()), lower);
}

bool IsMarkAt(std::string_view text, size_t at) {
  return text.substr(at, kRedactedMark.size()) == kRedactedMark;
}

// True where an escape ends whose last character is a letter or digit: "\n", "\u003d", "%3D".
bool IsEndOfEscape(std::string_view text, size_t at) {
  if (at >= 2 && text[at - 2] == '\\' &&
      std::string_view("nrtbf").find(text[at - 1]) != std::string_view::npos) {
    return true;
  }
  const auto all_hex = [](std::string_view digits) {
    return std::all_of(digits.begin(), digits.end(), IsHex);
  };
  if (at >= 3 && text[at - 3] == '%' && all_hex(text.substr(at - 2, 2))) return true;
  return at >= 6 && text.substr(at - 6, 2) == "\\u" && all_hex(text.substr(at - 4, 4));
}

// True where a value may begin: not in the middle of a word.
bool IsStartOfValue(std::string_view text, size_t at) {
  if (at == 0 || IsEndOfEscape(text, at)) return true;
  const char before = text[at - 1];
  if (IsAlphanumeric(before)) return false;
  if (!IsWordDash(before)) return true;
  size_t run = 0;
  while (run < at && run <= kMaxRunBeforeKey && IsWordDash(text[at - 1 - run])) ++run;
  return run <= kMaxRunBeforeKey;
}

// True of what nobody writes as a word or an expression: "hunter2", not "required" or "args.key".
bool LooksRandom(std::string_view value) {
  constexpr size_t kShortest = 6;
  constexpr size_t kLongestWord = 24;
  if (value.size() < kShortest) return false;
  const bool has_digit = std::any_of(value.begin(), value.end(), IsDigit);
  const bool is_code = value.find_first_of("()[]{}$<>") != std::string_view::npos;
  return !is_code && (has_digit || value.size() > kLongestWord);
}

// Backslashes and a quote at `at`: how a quote looks in JSON inside of JSON.
struct QuoteMark {
  char quote = 0;  // 0: there is none.
  size_t backslash_count = 0;
  size_t end = 0;
};

QuoteMark ReadQuote(std::string_view text, size_t at) {
  QuoteMark mark;
  const size_t end = SkipWhile(text, at, [](char c) { return c == '\\'; });
  if (end >= text.size() || !IsQuote(text[end])) return mark;
  mark.quote = text[end];
  mark.backslash_count = end - at;
  mark.end = end + 1;
  return mark;
}

// The place before the quote that closes what `open` opened: one with no more backslashes. The end
// of the line when it is missing: quoted values that go over lines are none of ours.
size_t FindClosingQuote(std::string_view text, const QuoteMark& open) {
  size_t backslash_count = 0;
  size_t at = open.end;
  for (; at < text.size() && text[at] != '\n' && text[at] != '\r'; ++at) {
    if (text[at] == open.quote && backslash_count <= open.backslash_count) {
      return at - backslash_count;
    }
    backslash_count = text[at] == '\\' ? backslash_count + 1 : 0;
  }
  return at;
}

size_t SkipBlanks(std::string_view text, size_t at) {
  return SkipWhile(text, at, [](char c) { return c == ' ' || c == '\t'; });
}

bool IsBareValue(char c) {
  return static_cast<uint8_t>(c) > 0x20 && !IsQuote(c) &&
         std::string_view("\\,;&#<>)]}|").find(c) == std::string_view::npos;
}

bool IsTokenCharacter(char c) {
  return IsWordDash(c) || std::string_view("._~+/=%:").find(c) != std::string_view::npos;
}

// '=' or '%3D' at `at`: where the value then begins, or 0.
size_t AfterEquals(std::string_view text, size_t at) {
  if (at < text.size() && text[at] == '=') return at + 1;
  return StartsWithIgnoringCase(text, at, "%3d") ? at + 3 : 0;
}

bool IsAfterQueryMark(std::string_view text, size_t at) {
  if (at == 0) return false;
  if (text[at - 1] == '?' || text[at - 1] == '&') return true;
  return at >= 3 && (StartsWithIgnoringCase(text, at - 3, "%3f") ||
                     StartsWithIgnoringCase(text, at - 3, "%26"));
}

std::optional<TextSpan> NonEmpty(std::string_view text, TextSpan span) {
  if (span.begin >= span.end || IsMarkAt(text, span.begin)) return std::nullopt;
  return span;
}

// A value in a query: to the next parameter or the end of the URL, encoded or not.
std::optional<TextSpan> QueryValue(std::string_view text, size_t begin) {
  size_t end = begin;
  while (end < text.size() && IsBareValue(text[end]) && !StartsWithIgnoringCase(text, end, "%26") &&
         !StartsWithIgnoringCase(text, end, "%23")) {
    ++end;
  }
  return NonEmpty(text, {begin, end});
}

// "Authorization: Bearer x" as a line: the token after the scheme.
size_t SkipScheme(std::string_view text, size_t at) {
  for (const std::string_view scheme : {"bearer", "basic", "token", "apikey", "digest"}) {
    if (!StartsWithIgnoringCase(text, at, scheme)) continue;
    const size_t end = at + scheme.size();
    const size_t value = SkipBlanks(text, end);
    if (value > end) return value;
  }
  return at;
}

bool IsUpperCaseName(std::string_view name) {
  return std::none_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

// The place after the character of an armoured key at `at`, or npos where it cannot be one.
size_t NextInKey(std::string_view text, size_t at) {
  if (at >= text.size()) return std::string_view::npos;
  const char c = text[at];
  if (IsTokenCharacter(c) || IsSpace(c) || c == ',') return at + 1;
  const size_t letter = SkipWhile(text, at, [](char b) { return b == '\\'; });
  const bool is_line_end =
      letter > at && letter < text.size() && (text[letter] == 'n' || text[letter] == 'r');
  return is_line_end ? letter + 1 : std::string_view::npos;
}

}  // namespace

std::optional<TextSpan> MatchValueForm(std::string_view text, size_t at, const ValueForm& form) {
  if (text.substr(at, form.prefix.size()) != form.prefix || !IsStartOfValue(text, at)) {
    return std::nullopt;
  }
  const size_t tail = at + form.prefix.size();
  const size_t end = SkipWhile(text, tail, [&form](char c) { return IsIn(form.tail_class, c); });
  if (end - tail < form.min_tail) return std::nullopt;
  return TextSpan{at, end};
}

std::optional<TextSpan> MatchWebToken(std::string_view text, size_t at) {
  constexpr std::string_view kStart = "eyJ";
  constexpr size_t kShortestPart = 8;
  if (text.substr(at, kStart.size()) != kStart || !IsStartOfValue(text, at)) return std::nullopt;
  const size_t dot = SkipWhile(text, at, IsWordDash);
  if (dot - at < kShortestPart || text.substr(dot).substr(0, 1 + kStart.size()) != ".eyJ") {
    return std::nullopt;
  }
  const size_t end = SkipWhile(text, dot, [](char c) { return IsWordDash(c) || c == '.'; });
  if (end - dot < kShortestPart) return std::nullopt;
  return TextSpan{at, end};
}

std::optional<TextSpan> MatchPrivateKey(std::string_view text, size_t at) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  constexpr std::string_view kEnd = "-----END ";
  constexpr std::string_view kKind = "PRIVATE KEY-----";
  constexpr size_t kMaxArmourSize = 64;
  if (text.substr(at, kBegin.size()) != kBegin) return std::nullopt;
  const size_t kind = text.substr(at, kMaxArmourSize).find(kKind);
  if (kind == std::string_view::npos) return std::nullopt;
  // Base64, headers, line ends, and line ends as escapes; a quote or anything else stops it.
  size_t end = at + kind + kKind.size();
  for (size_t next = end; next != std::string_view::npos; next = NextInKey(text, end)) {
    end = next;
    if (text.substr(end, kEnd.size()) != kEnd) continue;
    const size_t close = text.substr(end, kMaxArmourSize).find(kKind);
    return TextSpan{at, close == std::string_view::npos ? end : end + close + kKind.size()};
  }
  while (IsSpace(text[end - 1])) --end;  // Not part of a key that lacks its end.
  return TextSpan{at, end};
}

std::optional<TextSpan> MatchBearer(std::string_view text, size_t at) {
  constexpr std::string_view kScheme = "bearer";
  constexpr size_t kLongestWord = 20;
  if (!StartsWithIgnoringCase(text, at, kScheme)) return std::nullopt;
  const size_t end_of_scheme = at + kScheme.size();
  size_t begin = SkipWhile(text, end_of_scheme, IsSpace);
  if (StartsWithIgnoringCase(text, begin, "%20")) begin += 3;
  if (begin == end_of_scheme) return std::nullopt;
  const size_t end = SkipWhile(text, begin, IsTokenCharacter);
  const std::string_view token = text.substr(begin, end - begin);
  if (!LooksRandom(token) && token.size() < kLongestWord) return std::nullopt;
  return TextSpan{begin, end};
}

std::optional<TextSpan> MatchBasic(std::string_view text, size_t at) {
  constexpr std::string_view kScheme = "basic ";
  constexpr size_t kShortest = 8;
  if (!StartsWithIgnoringCase(text, at, kScheme)) return std::nullopt;
  const size_t begin = at + kScheme.size();
  const size_t end = SkipWhile(
      text, begin, [](char c) { return IsAlphanumeric(c) || c == '+' || c == '/' || c == '='; });
  const std::string_view token = text.substr(begin, end - begin);
  // Base64 of "user:password": of whole groups, and with both cases or a digit among its letters.
  const bool has_upper =
      std::any_of(token.begin(), token.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  const bool mixed = has_upper && std::any_of(token.begin(), token.end(), [](char c) {
                       return IsDigit(c) || (c >= 'a' && c <= 'z');
                     });
  if (token.size() < kShortest || token.size() % 4 != 0 || !mixed) return std::nullopt;
  return TextSpan{begin, end};
}

std::optional<TextSpan> MatchUserInfo(std::string_view text, size_t at) {
  if (text.substr(at, 3) != "://") return std::nullopt;
  const size_t begin = at + 3;
  const std::string_view near = text.substr(0, std::min(text.size(), begin + kMaxUserInfoSize));
  const size_t end = SkipWhile(near, begin, [](char c) {
    return c != '@' && c != '/' && c != '?' && c != '#' && c != '\\' && c != '<' && c != '>' &&
           !IsQuote(c) && static_cast<uint8_t>(c) > 0x20;
  });
  if (end >= near.size() || near[end] != '@') return std::nullopt;
  const std::string_view info = text.substr(begin, end - begin);
  if (info.find(':') == std::string_view::npos && !LooksRandom(info)) return std::nullopt;
  if (info == kRedactedMark) return std::nullopt;
  return NonEmpty(text, {begin, end});
}

TextSpan NameAround(std::string_view text, size_t at) {
  TextSpan name{at, at};
  while (name.begin > 0 && at - name.begin < kMaxNameSize && IsWordDash(text[name.begin - 1])) {
    --name.begin;
  }
  while (name.end < text.size() && name.end - at < kMaxNameSize && IsWordDash(text[name.end])) {
    ++name.end;
  }
  // In "%3Fkey" and "\\nkey" the name is "key".
  const std::string_view written = text.substr(name.begin, at - name.begin);
  const char before = name.begin > 0 ? text[name.begin - 1] : ' ';
  const auto starts_with_hex = [written](size_t from, size_t count) {
    return written.size() >= from + count &&
           std::all_of(written.begin() + static_cast<ptrdiff_t>(from),
                       written.begin() + static_cast<ptrdiff_t>(from + count), IsHex);
  };
  if (before == '%' && starts_with_hex(0, 2)) name.begin += 2;
  if (before == '\\' && !written.empty()) {
    if (written[0] == 'u' && starts_with_hex(1, 4)) {
      name.begin += 5;
    } else if (std::string_view("nrtbf").find(written[0]) != std::string_view::npos) {
      name.begin += 1;
    }
  }
  return name;
}

std::optional<TextSpan> MatchAssignedValue(std::string_view text, const TextSpan& name) {
  if (const size_t value = AfterEquals(text, name.end);
      value > 0 && (name.begin == 0 || IsAfterQueryMark(text, name.begin))) {
    if (value < text.size() && !ReadQuote(text, value).quote) return QueryValue(text, value);
  }
  const QuoteMark name_quote = ReadQuote(text, name.end);
  const size_t sign = SkipBlanks(text, name_quote.quote ? name_quote.end : name.end);
  const size_t after_equals = AfterEquals(text, sign);
  const bool has_colon = sign < text.size() && text[sign] == ':';
  if (after_equals == 0 && !has_colon) return std::nullopt;
  size_t at = has_colon ? sign + 1 : after_equals;
  if (at < text.size() && text[at] == '>') ++at;  // Ruby and PHP: "password" => "…".
  at = name_quote.quote ? SkipWhile(text, at, IsSpace) : SkipBlanks(text, at);

  if (const QuoteMark open = ReadQuote(text, at); open.quote) {
    const TextSpan value{open.end, FindClosingQuote(text, open)};
    const std::string_view written = text.substr(value.begin, value.end - value.begin);
    const bool counts = name_quote.quote || LooksRandom(written);
    return counts ? NonEmpty(text, value) : std::nullopt;
  }
  const size_t begin = SkipScheme(text, at);
  const size_t end = SkipWhile(text, begin, IsBareValue);
  const std::string_view written = text.substr(begin, end - begin);
  const bool is_environment =
      after_equals > 0 && IsUpperCaseName(text.substr(name.begin, name.end - name.begin));
  if (begin == at && !is_environment && !LooksRandom(written)) return std::nullopt;
  return NonEmpty(text, {begin, end});
}

std::optional<TextSpan> MatchParameterValue(std::string_view text, const TextSpan& name) {
  if (!IsAfterQueryMark(text, name.begin)) return std::nullopt;
  const size_t value = AfterEquals(text, name.end);
  return value > 0 ? QueryValue(text, value) : std::nullopt;
}

TextSpan OutsideEscapes(std::string_view text, TextSpan span) {
  const auto backslashes_before = [text](size_t at) {
    size_t count = 0;
    while (count < at && text[at - 1 - count] == '\\') ++count;
    return count;
  };
  // Of \uXXXX, the distance from its u to `at` when `at` is past the u and inside it, else 0.
  const auto distance_into_unicode = [text, backslashes_before](size_t at) -> size_t {
    for (size_t distance = 1; distance <= 4 && distance <= at; ++distance) {
      const char c = text[at - distance];
      if (c == 'u') return backslashes_before(at - distance) > 0 ? distance : 0;
      if (!IsHex(c)) return 0;
    }
    return 0;
  };
  if (const size_t distance = distance_into_unicode(span.begin); distance > 0) {
    span.begin -= distance;
  }
  span.begin -= backslashes_before(span.begin);

  if (const size_t distance = distance_into_unicode(span.end); distance > 0) {
    span.end = std::min(text.size(), span.end - distance + 5);
  } else if (backslashes_before(span.end) % 2 == 1 && span.end < text.size()) {
    span.end += text[span.end] == 'u' ? std::min<size_t>(5, text.size() - span.end) : 1;
  }
  return span;
}

}  // namespace reenact::schema::internal
