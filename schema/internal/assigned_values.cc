#include "schema/internal/assigned_values.h"

#include <algorithm>
#include <cstdint>

#include "schema/internal/text_classes.h"
#include "schema/redaction.h"

namespace reenact::schema::internal {
namespace {

constexpr size_t kMaxNameSize = 128;

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

bool IsBareValue(char c) {
  return static_cast<uint8_t>(c) > 0x20 && !IsQuote(c) &&
         std::string_view("\\,;&#<>)]}|").find(c) == std::string_view::npos;
}

// '=' or '%3D' at `at`: where the value then begins, or 0.
size_t AfterEquals(std::string_view text, size_t at) {
  if (at < text.size() && text[at] == '=') return at + 1;
  return StartsWithIgnoringCase(text, at, "%3d") ? at + 3 : 0;
}

// Where a query, or a list of settings such as a connection string, goes on to its next name.
bool IsAfterQueryMark(std::string_view text, size_t at) {
  if (at == 0) return false;
  if (std::string_view("?&;").find(text[at - 1]) != std::string_view::npos) return true;
  return at >= 3 && (StartsWithIgnoringCase(text, at - 3, "%3f") ||
                     StartsWithIgnoringCase(text, at - 3, "%26"));
}

bool IsMarkAt(std::string_view text, size_t at) {
  return text.substr(at, kRedactedMark.size()) == kRedactedMark;
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

// A name that is set with '=' and cannot be one of a variable in code: OPENAI_API_KEY.
bool IsEnvironmentName(std::string_view name) {
  return std::none_of(name.begin(), name.end(), IsLower);
}

// "X-Api-Key", as headers are written.
bool IsHeaderName(std::string_view name) {
  return name.find('-') != std::string_view::npos && IsSecretHeader(name);
}

// "--api-key k3y", but not "--api-key is required".
std::optional<TextSpan> MatchCommandArgument(std::string_view text, const TextSpan& name) {
  if (!Written(text, name).starts_with("--")) return std::nullopt;
  const size_t blank_end = SkipBlanks(text, name.end);
  if (blank_end == name.end) return std::nullopt;
  const QuoteMark open = ReadQuote(text, blank_end);
  const TextSpan value = open.quote ? TextSpan{open.end, FindClosingQuote(text, open)}
                                    : TextSpan{blank_end, SkipWhile(text, blank_end, IsBareValue)};
  return LooksRandom(Written(text, value)) ? NonEmpty(text, value) : std::nullopt;
}

// What follows a name up to where its value begins.
struct Assignment {
  bool is_quoted_name = false;
  char sign = 0;     // ':' or '='; 0: nothing is assigned.
  size_t value = 0;  // Where the value begins, with its quote.
};

Assignment ReadAssignment(std::string_view text, const TextSpan& name) {
  Assignment assignment;
  const QuoteMark name_quote = ReadQuote(text, name.end);
  assignment.is_quoted_name = name_quote.quote != 0;
  const size_t sign = SkipBlanks(text, name_quote.quote ? name_quote.end : name.end);
  if (const size_t after_equals = AfterEquals(text, sign); after_equals > 0) {
    assignment.sign = '=';
    assignment.value = after_equals;
  } else if (sign < text.size() && text[sign] == ':') {
    assignment.sign = ':';
    assignment.value = sign + 1;
  } else {
    return assignment;
  }
  if (text.substr(assignment.value).starts_with('>')) ++assignment.value;  // "password" => "…"
  assignment.value = assignment.is_quoted_name ? SkipWhile(text, assignment.value, IsSpace)
                                               : SkipBlanks(text, assignment.value);
  return assignment;
}

}  // namespace

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
  if (before == '%' && written.size() >= 2 && IsAllHex(written.substr(0, 2))) name.begin += 2;
  if (before == '\\' && !written.empty()) {
    if (written[0] == 'u' && written.size() >= 5 && IsAllHex(written.substr(1, 4))) {
      name.begin += 5;
    } else if (IsEscapeLetter(written[0])) {
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
  const Assignment assignment = ReadAssignment(text, name);
  if (assignment.sign == 0) return MatchCommandArgument(text, name);

  if (const QuoteMark open = ReadQuote(text, assignment.value); open.quote) {
    const TextSpan value{open.end, FindClosingQuote(text, open)};
    const std::string_view written = Written(text, value);
    const bool is_word = written.find_first_of(" ()[]{}$<>") == std::string_view::npos;
    const bool counts = assignment.is_quoted_name || is_word || LooksRandom(written);
    return counts ? NonEmpty(text, value) : std::nullopt;
  }
  const size_t begin = SkipScheme(text, assignment.value);
  const TextSpan value{begin, SkipWhile(text, begin, IsBareValue)};
  const std::string_view written_name = Written(text, name);
  const bool is_certain =
      begin > assignment.value || (assignment.sign == '=' && IsEnvironmentName(written_name)) ||
      (assignment.sign == ':' && !assignment.is_quoted_name && IsHeaderName(written_name));
  if (!is_certain && !LooksRandom(Written(text, value))) return std::nullopt;
  return NonEmpty(text, value);
}

std::optional<TextSpan> MatchParameterValue(std::string_view text, const TextSpan& name) {
  if (!IsAfterQueryMark(text, name.begin)) return std::nullopt;
  const size_t value = AfterEquals(text, name.end);
  return value > 0 ? QueryValue(text, value) : std::nullopt;
}

std::optional<TextSpan> MatchCookies(std::string_view text, const TextSpan& name) {
  const std::string_view written = Written(text, name);
  if (!EqualsIgnoringCase(written, "cookie") && !EqualsIgnoringCase(written, "set-cookie")) {
    return std::nullopt;
  }
  if (name.end == text.size() || text[name.end] != ':') return std::nullopt;
  const size_t begin = SkipBlanks(text, name.end + 1);
  const size_t end = SkipWhile(
      text, begin, [](char c) { return c != '\n' && c != '\r' && c != '\\' && !IsQuote(c); });
  // "Cookie: chocolate" is no header.
  const bool is_pair = text.substr(begin, end - begin).find('=') != std::string_view::npos;
  return is_pair ? NonEmpty(text, {begin, end}) : std::nullopt;
}

bool IsGivenOpaqueValue(std::string_view text, const TextSpan& name) {
  const Assignment assignment = ReadAssignment(text, name);
  if (assignment.sign == 0 || !assignment.is_quoted_name) return false;
  const QuoteMark open = ReadQuote(text, assignment.value);
  return open.quote && IsOpaque(text.substr(open.end, FindClosingQuote(text, open) - open.end));
}

bool IsOpaque(std::string_view value) {
  constexpr size_t kShortest = 16;
  return value.size() >= kShortest && LooksRandom(value) &&
         std::any_of(value.begin(), value.end(), IsDigit) &&
         value.find(' ') == std::string_view::npos;
}

}  // namespace reenact::schema::internal
