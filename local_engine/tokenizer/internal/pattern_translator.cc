#include "local_engine/tokenizer/internal/pattern_translator.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "local_engine/tokenizer/internal/unicode_versions.h"
#include "local_engine/tokenizer/internal/utf8_text.h"

namespace reenact::local_engine {

namespace {

// Groups inside groups; PCRE2 itself has a limit of 250.
constexpr size_t kMaxDepth = 100;

// The insides of a class. White space is the same in all versions of Unicode from 6.3 on.
constexpr std::string_view kSpace = R"(\x09-\x0d\x{85}\p{Z})";
constexpr std::string_view kNotSpace =
    R"(\x00-\x08\x0e-\x1f\x7f-\x{84}\x{86}-\x{9f}\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}\p{Co}\p{Cn})";
// Oniguruma's \w: alphabetic, marks, decimal digits, connectors. By an old accident it also takes
// the superscripts and fractions of Latin-1, but not in a class.
constexpr std::string_view kWord = R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24b6}-\x{24e9})"
                                   R"(\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";
constexpr std::string_view kWordOutsideClass = R"(\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";

constexpr std::array<std::string_view, 37> kProperties = {
    "L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc", "Me", "N",  "Nd", "Nl",
    "No", "P",  "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S",  "Sm", "Sc", "Sk",
    "So", "Z",  "Zs", "Zl", "Zp", "C",  "Cc", "Cf", "Co", "Cn", "Han"};

// Pairs of letters that caseless matching in Oniguruma also finds as one character (ß, ﬁ, ﬆ, …).
constexpr std::array<std::string_view, 5> kFoldingPairs = {"ss", "st", "ff", "fi", "fl"};

bool IsAsciiLetter(char32_t c) {
  return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

std::string Hex(char32_t code_point) {
  char text[16];
  std::snprintf(text, sizeof text, "\\x{%x}", static_cast<unsigned>(code_point));
  return text;
}

// The letter in every case that folds to the same, as the inside of a class.
std::string AllCases(char32_t letter) {
  const char32_t lower = letter | 0x20;
  std::string cases = Hex(lower) + Hex(lower - 0x20);
  if (lower == 's') cases += Hex(0x17f);   // ſ
  if (lower == 'k') cases += Hex(0x212a);  // the Kelvin sign
  return cases;
}

// One element of a pattern: a code point, or a set written as the inside of a class.
struct Element {
  std::optional<char32_t> literal;
  std::string set;
  bool negated = false;  // The set's complement; only outside a class.
};

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  absl::StatusOr<TranslatedPattern> Run() {
    while (at_ < pattern_.size()) {
      absl::Status status = Step();
      if (!status.ok()) return status;
    }
    if (caseless_.size() > 1) return Invalid("a group is not closed");
    if (result_.names_categories && touches_stand_ins_) {
      return Refuse(
          "a character or range beside a class whose members depend on the version of Unicode");
    }
    return std::move(result_);
  }

 private:
  absl::Status Refuse(std::string_view construct) const {
    return absl::UnimplementedError("pattern \"" + std::string(pattern_) +
                                    "\": " + std::string(construct) + " is not supported");
  }

  absl::Status Invalid(std::string_view what) const {
    return absl::InvalidArgumentError("pattern \"" + std::string(pattern_) +
                                      "\": " + std::string(what));
  }

  bool Looking(std::string_view at) const {
    return pattern_.substr(at_).substr(0, at.size()) == at;
  }

  bool Take(std::string_view expected) {
    if (!Looking(expected)) return false;
    at_ += expected.size();
    return true;
  }

  char32_t TakeChar() {
    const char32_t c = CodePointAt(pattern_, at_);
    at_ += CharLength(pattern_[at_]);
    return c;
  }

  absl::Status Step() {
    const char c = pattern_[at_];
    if (c != '\\' && c != '[' && static_cast<unsigned char>(c) < 0x80 && !IsAsciiLetter(c)) {
      previous_letter_ = 0;
    }
    switch (c) {
      case '(':
        return OpenGroup();
      case ')':
        if (caseless_.size() == 1) return Invalid("\")\" without \"(\"");
        caseless_.pop_back();
        return Copy();
      case '|':
      case '^':
      case '$':
        return Copy();
      case '.':
        // The dot of PCRE2 follows its newline convention, which may be any; this one is the line
        // feed.
        ++at_;
        result_.text += "[^\\x0a]";
        return absl::OkStatus();
      case '*':
      case '+':
      case '?':
        return Copy();
      case '{':
        return Interval();
      case '[':
        return Class();
      default:
        return Single();
    }
  }

  absl::Status Copy() {
    result_.text += pattern_[at_++];
    return absl::OkStatus();
  }

  absl::Status OpenGroup() {
    if (caseless_.size() > kMaxDepth) return Invalid("groups are nested too deeply");
    static constexpr std::string_view kKnown[] = {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>"};
    for (const std::string_view start : kKnown) {
      if (!Take(start)) continue;
      result_.text += start;
      caseless_.push_back(caseless_.back());
      return absl::OkStatus();
    }
    if (Take("(?i:")) {
      result_.text += "(?:";
      caseless_.push_back(true);
      return absl::OkStatus();
    }
    if (Looking("(?") || Looking("(*")) {
      return Refuse("the group \"" + std::string(pattern_.substr(at_, 4)) + "\"");
    }
    caseless_.push_back(caseless_.back());
    return Copy();
  }

  // Digits of a bound; nullopt where there are none, or too many.
  std::optional<std::string> Digits() {
    std::string digits;
    while (at_ < pattern_.size() && pattern_[at_] >= '0' && pattern_[at_] <= '9') {
      digits += pattern_[at_++];
    }
    if (digits.size() > 5) return std::nullopt;
    return digits;
  }

  // {n}, {n,}, {,m}, {n,m}: possessive and "at most once" forms mean other things in Oniguruma.
  absl::Status Interval() {
    ++at_;
    const std::optional<std::string> low = Digits();
    if (!low.has_value()) return Invalid("a repetition is too large");
    const bool has_comma = Take(",");
    const std::optional<std::string> high = has_comma ? Digits() : low;
    if (!high.has_value()) return Invalid("a repetition is too large");
    if (!Take("}") || (low->empty() && high->empty())) return Refuse("a literal \"{\"");
    if (!low->empty() && !high->empty() && std::stoi(*low) > std::stoi(*high)) {
      return Refuse("a repetition whose bounds are swapped");
    }
    if (Looking("+") || (Looking("?") && !has_comma)) {
      return Refuse("\"" + std::string(pattern_.substr(at_, 1)) + "\" after a repetition");
    }
    result_.text += "{" + (low->empty() ? "0" : *low);
    if (has_comma) result_.text += "," + *high;
    result_.text += "}";
    return absl::OkStatus();
  }

  absl::Status Single() {
    absl::StatusOr<Element> element = TakeElement(/*in_class=*/false);
    if (!element.ok()) return element.status();
    if (!element->literal.has_value()) {
      result_.text += (element->negated ? "[^" : "[") + element->set + "]";
      previous_letter_ = 0;
      return absl::OkStatus();
    }
    const char32_t c = *element->literal;
    if (c >= 0x80 && TouchesStandIns(c, c)) touches_stand_ins_ = true;
    if (!caseless_.back()) {
      result_.text += Hex(c);
      return absl::OkStatus();
    }
    if (c >= 0x80) return Refuse("a letter that is not ASCII in a group that ignores case");
    if (!IsAsciiLetter(c)) {
      result_.text += Hex(c);
      previous_letter_ = 0;
      return absl::OkStatus();
    }
    const char pair[] = {previous_letter_, static_cast<char>(c | 0x20)};
    previous_letter_ = pair[1];
    if (std::find(kFoldingPairs.begin(), kFoldingPairs.end(), std::string_view(pair, 2)) !=
        kFoldingPairs.end()) {
      return Refuse("\"" + std::string(pair, 2) + "\" in a group that ignores case");
    }
    result_.text += "[" + AllCases(c) + "]";
    return absl::OkStatus();
  }

  absl::StatusOr<Element> TakeElement(bool in_class) {
    if (pattern_[at_] != '\\') return Element{.literal = TakeChar()};
    ++at_;
    if (at_ == pattern_.size()) return Invalid("it ends with a backslash");
    const char32_t c = TakeChar();
    switch (c) {
      case 't':
        return Element{.literal = '\t'};
      case 'n':
        return Element{.literal = '\n'};
      case 'r':
        return Element{.literal = '\r'};
      case 'f':
        return Element{.literal = '\f'};
      case 'v':
        return Element{.literal = '\v'};
      case 'a':
        return Element{.literal = '\a'};
      case 'e':
        return Element{.literal = 0x1b};
      case 's':
        return Element{.set = std::string(kSpace)};
      case 'S':
        return Element{.set = std::string(kNotSpace)};
      case 'd':
        return Category("\\p{Nd}");
      case 'D':
        return Category("\\P{Nd}");
      case 'w':
        return Category(std::string(kWord) + std::string(in_class ? "" : kWordOutsideClass));
      case 'W':
        if (in_class) return Refuse("\\W in a class");
        result_.names_categories = true;
        return Element{.set = std::string(kWord) + std::string(kWordOutsideClass), .negated = true};
      case 'p':
      case 'P':
        return Property(c == 'P');
      case 'x':
      case 'u':
        return CodePoint(c == 'u');
      default:
        if (IsAsciiLetter(c) || (c >= '0' && c <= '9')) {
          return Refuse("\\" + std::string(1, static_cast<char>(c)));
        }
        return Element{.literal = c};
    }
  }

  absl::StatusOr<Element> Category(std::string set) {
    result_.names_categories = true;
    return Element{.set = std::move(set)};
  }

  absl::StatusOr<Element> Property(bool negated) {
    const size_t end = pattern_.find('}', at_);
    if (!Take("{") || end == std::string_view::npos) return Refuse("\\p without braces");
    const std::string_view name = pattern_.substr(at_, end - at_);
    at_ = end + 1;
    if (std::find(kProperties.begin(), kProperties.end(), name) == kProperties.end()) {
      return Refuse("\\p{" + std::string(name) + "}");
    }
    // PCRE2 takes a bare script for its extensions; "sc:" is the script itself.
    return Category((negated ? "\\P{" : "\\p{") + std::string(name == "Han" ? "sc:" : "") +
                    std::string(name) + "}");
  }

  // \xHH, \x{H…}, \uHHHH.
  absl::StatusOr<Element> CodePoint(bool four_digits) {
    const bool braces = !four_digits && Take("{");
    const size_t most = braces ? 6 : four_digits ? 4 : 2;
    uint32_t value = 0;
    size_t count = 0;
    for (; count < most && at_ < pattern_.size(); ++count, ++at_) {
      static constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
      const size_t digit = kDigits.find(pattern_[at_]);
      if (digit == std::string_view::npos) break;
      value = value * 16 + static_cast<uint32_t>(digit < 16 ? digit : digit - 6);
    }
    if (braces ? count == 0 || !Take("}") : count != most)
      return Invalid("\\x or \\u without its digits");
    if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
      return Invalid("\\x or \\u beyond Unicode");
    // Oniguruma takes \x80 … \xff for bytes of the encoding.
    if (!braces && !four_digits && value >= 0x80) return Refuse("\\x with a byte above 7f");
    return Element{.literal = value};
  }

  absl::Status Class() {
    ++at_;
    result_.text += Take("^") ? "[^" : "[";
    if (Looking("]")) return Refuse("\"]\" as the first member of a class");
    while (!Looking("]")) {
      if (at_ == pattern_.size()) return Invalid("a class is not closed");
      absl::Status status = Member();
      if (!status.ok()) return status;
    }
    previous_letter_ = 0;
    return Copy();
  }

  absl::Status Member() {
    if (Looking("[")) return Refuse("a class in a class");
    if (Looking("&&")) return Refuse("an intersection of classes");
    absl::StatusOr<Element> first = TakeElement(/*in_class=*/true);
    if (!first.ok()) return first.status();
    const bool ranges = Looking("-") && pattern_.substr(at_).substr(0, 2) != "-]";
    if (!first->literal.has_value()) {
      if (ranges) return Refuse("a range that starts with a class");
      result_.text += first->set;
      return caseless_.back() ? Refuse("such a class in a group that ignores case")
                              : absl::OkStatus();
    }
    const char32_t low = *first->literal;
    char32_t high = low;
    if (ranges) {
      ++at_;
      if (Looking("[") || Looking("&&")) return Refuse("a range that ends with a class");
      absl::StatusOr<Element> last = TakeElement(/*in_class=*/true);
      if (!last.ok()) return last.status();
      if (!last->literal.has_value()) return Refuse("a range that ends with a class");
      high = *last->literal;
      if (high < low) return Invalid("a range of characters is reversed");
    }
    return MemberRange(low, high);
  }

  absl::Status MemberRange(char32_t low, char32_t high) {
    if (high >= 0x80 && TouchesStandIns(low, high)) touches_stand_ins_ = true;
    if (!caseless_.back()) {
      result_.text += Hex(low) + (high == low ? "" : "-" + Hex(high));
      return absl::OkStatus();
    }
    if (high != low || low >= 0x80) return Refuse("such a class in a group that ignores case");
    result_.text += IsAsciiLetter(low) ? AllCases(low) : Hex(low);
    return absl::OkStatus();
  }

  std::string_view pattern_;
  size_t at_ = 0;
  TranslatedPattern result_;
  std::vector<bool> caseless_ = {false};  // One for the pattern, one for each open group.
  char previous_letter_ = 0;              // In a caseless group, lower case; 0: none.
  bool touches_stand_ins_ = false;
};

}  // namespace

absl::StatusOr<TranslatedPattern> TranslatePattern(std::string_view pattern) {
  if (FirstInvalidByte(pattern) != std::string_view::npos) {
    return absl::InvalidArgumentError("a pattern is not UTF-8");
  }
  return Translator(pattern).Run();
}

}  // namespace reenact::local_engine
