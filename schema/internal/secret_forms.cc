#include "schema/internal/secret_forms.h"

#include <algorithm>
#include <cstdint>

#include "schema/internal/text_classes.h"
#include "schema/redaction.h"

namespace reenact::schema::internal {
namespace {

constexpr size_t kMaxUserInfoSize = 512;
// A key inside a longer run of its characters is a key; inside a blob it is chance.
constexpr size_t kMaxRunBeforeKey = 32;

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
      return IsDigit(c) || IsUpper(c);
  }
  return false;
}

// True where an escape ends whose last character is a letter or digit: "\n", "\u003d", "%3D".
bool IsEndOfEscape(std::string_view text, size_t at) {
  if (at >= 2 && text[at - 2] == '\\' && IsEscapeLetter(text[at - 1])) return true;
  if (at >= 3 && text[at - 3] == '%' && IsAllHex(text.substr(at - 2, 2))) return true;
  return at >= 6 && text.substr(at - 6, 2) == "\\u" && IsAllHex(text.substr(at - 4, 4));
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
  const bool mixed =
      std::any_of(token.begin(), token.end(), IsUpper) &&
      std::any_of(token.begin(), token.end(), [](char c) { return IsDigit(c) || IsLower(c); });
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
  if (info.empty() || info == kRedactedMark) return std::nullopt;
  return TextSpan{begin, end};
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
