#include "replayer/internal/message_text.h"

#include <algorithm>
#include <array>

#include "schema/redaction.h"

namespace reenact::replayer {
namespace {

constexpr size_t kQuoteLimit = 200;

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

bool IsHexDigit(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// The size of the well-formed UTF-8 character at the front; 0 where there is none.
size_t CharacterSize(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.empty()) return 0;
  if (byte(0) < 0x80) return 1;
  const size_t size = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (byte(0) == 0xe0 && byte(1) < 0xa0) return 0;  // Overlong.
  if (byte(0) == 0xed && byte(1) > 0x9f) return 0;  // A surrogate.
  if (byte(0) == 0xf0 && byte(1) < 0x90) return 0;  // Overlong.
  if (byte(0) == 0xf4 && byte(1) > 0x8f) return 0;  // Past the last character.
  return size;
}

void AppendHex(std::string* out, char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  *out += "\\x";
  *out += kDigits[byte >> 4];
  *out += kDigits[byte & 15];
}

// C1 controls move a terminal's cursor as C0 ones do.
bool IsC1Control(std::string_view character) {
  return character.size() == 2 && character[0] == '\xc2' &&
         static_cast<unsigned char>(character[1]) < 0xa0;
}

void AppendEscaped(std::string* out, std::string_view text) {
  while (!text.empty()) {
    const size_t size = CharacterSize(text);
    const std::string_view character = text.substr(0, std::max<size_t>(size, 1));
    const char c = character.front();
    if (c == '"' || c == '\\') {
      *out += '\\';
      *out += c;
    } else if (c == '\n') {
      *out += "\\n";
    } else if (size == 0 || static_cast<unsigned char>(c) < 0x20 || c == 0x7f ||
               IsC1Control(character)) {
      for (const char byte : character) AppendHex(out, byte);
    } else {
      *out += character;
    }
    text.remove_prefix(character.size());
  }
}

// A cursor over text that knows the shapes of dates, times and addresses.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // The length of what changes from run to run at `at`; 0 where there is nothing of that kind.
  size_t DateOrTime(size_t at) const {
    if (at > 0 && (IsDigit(text_[at - 1]) || IsLetter(text_[at - 1]))) return 0;
    if (const size_t size = IsoDate(at); size > 0) return size;
    if (const size_t size = TimeOfDay(at); size > 0) return size;
    if (const size_t size = EpochTime(at); size > 0) return size;
    return WrittenDate(at);
  }

  size_t Address(size_t at) const {
    if (text_.substr(at, 2) != "0x") return 0;
    const size_t digits = Run(at + 2, IsHexDigit);
    return digits >= 4 ? digits + 2 : 0;
  }

 private:
  template <typename Predicate>
  size_t Run(size_t at, Predicate predicate) const {
    size_t size = 0;
    while (at + size < text_.size() && predicate(text_[at + size])) ++size;
    return size;
  }

  bool Is(size_t at, char c) const { return at < text_.size() && text_[at] == c; }

  // 2026-05-20, with a time behind it or not.
  size_t IsoDate(size_t at) const {
    const bool date = Run(at, IsDigit) == 4 && Is(at + 4, '-') && Run(at + 5, IsDigit) == 2 &&
                      Is(at + 7, '-') && Run(at + 8, IsDigit) == 2;
    if (!date) return 0;
    if (!Is(at + 10, 'T') && !Is(at + 10, ' ')) return 10;
    const size_t time = TimeOfDay(at + 11);
    return time == 0 ? 10 : 11 + time;
  }

  // 12:34, 12:34:56, 12:34:56.789Z, 12:34+02:00.
  size_t TimeOfDay(size_t at) const {
    const size_t hours = Run(at, IsDigit);
    if (hours < 1 || hours > 2 || !Is(at + hours, ':')) return 0;
    size_t size = hours + 1;
    if (Run(at + size, IsDigit) != 2) return 0;
    size += 2;
    if (Is(at + size, ':') && Run(at + size + 1, IsDigit) == 2) size += 3;
    if (Is(at + size, '.')) size += 1 + Run(at + size + 1, IsDigit);
    if (Is(at + size, 'Z')) return size + 1;
    const bool offset =
        (Is(at + size, '+') || Is(at + size, '-')) && Run(at + size + 1, IsDigit) == 2;
    if (offset) size += Is(at + size + 3, ':') ? 6 : 3;
    return std::min(size, text_.size() - at);
  }

  // Seconds, milliseconds, microseconds or nanoseconds since 1970, between 2001 and 2033.
  size_t EpochTime(size_t at) const {
    if (!Is(at, '1')) return 0;
    const size_t size = Run(at, IsDigit);
    return size == 10 || size == 13 || size == 16 || size == 19 ? size : 0;
  }

  // "May 20, 2026", "20 May 2026", "Wednesday".
  size_t WrittenDate(size_t at) const {
    if (IsLetter(text_[at])) {
      const size_t word = Run(at, IsLetter);
      if (IsWeekday(text_.substr(at, word))) return word;
      if (!IsMonth(text_.substr(at, word)) || !Is(at + word, ' ')) return 0;
      const size_t day = Run(at + word + 1, IsDigit);
      if (day == 0) return 0;
      size_t size = word + 1 + day;
      if (Is(at + size, ',')) ++size;
      if (Is(at + size, ' ') && Run(at + size + 1, IsDigit) == 4) size += 5;
      return size;
    }
    const size_t day = Run(at, IsDigit);
    if (day < 1 || day > 2 || !Is(at + day, ' ')) return 0;
    const size_t word = Run(at + day + 1, IsLetter);
    if (!IsMonth(text_.substr(at + day + 1, word))) return 0;
    const size_t size = day + 1 + word;
    return Is(at + size, ' ') && Run(at + size + 1, IsDigit) == 4 ? size + 5 : size;
  }

  template <size_t n>
  static bool IsOneOf(std::string_view word, const std::array<std::string_view, n>& names) {
    return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
      return word == name || word == name.substr(0, 3);
    });
  }

  static bool IsMonth(std::string_view word) {
    static constexpr std::array<std::string_view, 12> kMonths = {
        "January", "February", "March",     "April",   "May",      "June",
        "July",    "August",   "September", "October", "November", "December"};
    return IsOneOf(word, kMonths);
  }

  static bool IsWeekday(std::string_view word) {
    static constexpr std::array<std::string_view, 7> kDays = {
        "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
    return IsOneOf(word, kDays);
  }

  std::string_view text_;
};

std::string Normalized(std::string_view text, bool addresses) {
  const Scanner scanner(text);
  std::string result;
  for (size_t at = 0; at < text.size();) {
    if (const size_t size = scanner.DateOrTime(at); size > 0) {
      result += "<time>";
      at += size;
    } else if (const size_t address = addresses ? scanner.Address(at) : 0; address > 0) {
      result += "<address>";
      at += address;
    } else {
      result += text[at++];
    }
  }
  return result;
}

std::string DescribeOne(const schema::JsonDifference& difference) {
  const auto side = [](bool present, const std::string& raw) {
    std::string text;
    if (!present) return std::string("absent");
    AppendEscaped(&text, raw);
    return text;
  };
  std::string path;
  AppendEscaped(&path, difference.path);
  return path + ": recorded " + side(difference.expected_present, difference.expected) + ", now " +
         side(difference.actual_present, difference.actual);
}

}  // namespace

bool OnlyTimesDiffer(const schema::JsonDifference& difference) {
  return difference.expected_present && difference.actual_present &&
         WithoutTimes(difference.expected) == WithoutTimes(difference.actual);
}

std::string Quote(std::string_view text) {
  std::string_view shown = text;
  if (shown.size() > kQuoteLimit) {
    size_t end = kQuoteLimit;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    shown = text.substr(0, end);
  }
  std::string quoted = "\"";
  AppendEscaped(&quoted, shown);
  if (shown.size() < text.size()) quoted += "…";
  quoted += '"';
  return quoted;
}

std::string EventText(size_t index) {
  return "event #" + std::to_string(index);
}

std::string DescribeDifferences(const std::vector<schema::JsonDifference>& differences,
                                size_t limit) {
  std::string text;
  for (size_t i = 0; i < differences.size() && i < limit; ++i) {
    if (i > 0) text += "; ";
    text += DescribeOne(differences[i]);
  }
  if (differences.size() > limit) {
    text += "; and " + std::to_string(differences.size() - limit) + " more";
  }
  return text;
}

void HideSecrets(std::vector<schema::JsonDifference>* differences) {
  for (schema::JsonDifference& difference : *differences) {
    const bool marked = difference.expected.find(schema::kRedactedMark) != std::string::npos;
    if (marked && difference.actual_present) difference.actual = schema::kRedactedMark;
  }
}

std::string WithoutAddressesAndTimes(std::string_view text) {
  return Normalized(text, true);
}

std::string WithoutTimes(std::string_view text) {
  return Normalized(text, false);
}

}  // namespace reenact::replayer
