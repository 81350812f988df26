#include "schema/internal/known_secrets.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "schema/internal/text_classes.h"
#include "schema/redaction.h"

namespace reenact::schema::internal {
namespace {

constexpr size_t kShortestSecret = 6;
constexpr size_t kShortestBase64Secret = 8;  // Shorter cores would be found in any picture.

constexpr std::string_view kStandardDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrlSafeDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

bool IsBase64(char c) {
  return IsAlphanumeric(c) || c == '+' || c == '/' || c == '-' || c == '_';
}

// The digits of base64 that depend on `secret` alone when `shift` bytes stand before it in the
// first group of three, whatever stands around it.
std::string Base64Core(std::string_view secret, size_t shift, std::string_view digits) {
  std::string core;
  const size_t first_bit = (8 * shift + 5) / 6 * 6;
  const size_t end_bit = 8 * (shift + secret.size()) / 6 * 6;
  for (size_t bit = first_bit; bit < end_bit; bit += 6) {
    unsigned digit = 0;
    for (size_t i = bit; i < bit + 6; ++i) {
      const auto byte = static_cast<uint8_t>(secret[i / 8 - shift]);
      digit = digit << 1 | (byte >> (7 - i % 8) & 1u);
    }
    core.push_back(digits[digit]);
  }
  return core;
}

// The anchor that ordinary text is least likely to hold: digits and capitals count for most.
std::optional<size_t> FindAnchor(std::string_view text) {
  std::optional<size_t> best;
  int best_rarity = -1;
  for (size_t i = 0; i + kAnchorSize <= text.size(); ++i) {
    int rarity = 0;
    bool plain = true;
    for (const char c : text.substr(i, kAnchorSize)) {
      plain = plain && IsAlphanumeric(c);
      rarity +=
          c >= 'a' && c <= 'z' ? (std::string_view("jqxz").find(c) != std::string_view::npos) : 2;
    }
    if (plain && rarity > best_rarity) {
      best = i;
      best_rarity = rarity;
    }
  }
  return best;
}

// The letter of the short JSON escape of `c`: 'n' for a line feed, '/' for itself.
char EscapeLetter(char c) {
  constexpr std::string_view kControls = "\b\f\n\r\t";
  constexpr std::string_view kLetters = "bfnrt";
  const size_t place = kControls.find(c);
  return place == std::string_view::npos ? c : kLetters[place];
}

std::string JsonEscaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const char letter = EscapeLetter(c);
    if (letter != c || c == '"' || c == '\\') escaped.push_back('\\');
    escaped.push_back(letter);
  }
  return escaped;
}

std::string UrlEncoded(std::string_view text) {
  constexpr std::string_view kHexDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (IsAlphanumeric(c) || std::string_view("-._~").find(c) != std::string_view::npos) {
      encoded.push_back(c);
      continue;
    }
    encoded.push_back('%');
    encoded.push_back(kHexDigits[static_cast<uint8_t>(c) >> 4]);
    encoded.push_back(kHexDigits[static_cast<uint8_t>(c) & 15]);
  }
  return encoded;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool IsHexOf(std::string_view two_digits, char c) {
  const int high = HexDigit(two_digits[0]);
  const int low = HexDigit(two_digits[1]);
  return high >= 0 && low >= 0 && high * 16 + low == static_cast<uint8_t>(c);
}

// The number of bytes at the start of `written` that spell `c`, 0 when they do not.
size_t SpellingSize(std::string_view written, char c) {
  if (written.empty()) return 0;
  const char first = written[0];
  if (first == '%' && written.size() >= 3 && IsHexOf(written.substr(1), c)) return 3;
  if (first == '\\' && written.size() >= 6 && written.substr(1, 3) == "u00" &&
      IsHexOf(written.substr(4), c)) {
    return 6;
  }
  if (first == '\\' && written.size() >= 2 && !IsAlphanumeric(c) && written[1] == EscapeLetter(c)) {
    return 2;
  }
  return first == c || (first == '+' && c == ' ') ? 1 : 0;
}

std::optional<size_t> MatchForward(std::string_view secret, std::string_view text, size_t at) {
  for (const char c : secret) {
    const size_t size = SpellingSize(text.substr(at), c);
    if (size == 0) return std::nullopt;
    at += size;
  }
  return at;
}

std::optional<size_t> MatchBackward(std::string_view secret, std::string_view text, size_t at) {
  constexpr std::array<size_t, 4> kSizes = {6, 3, 2, 1};  // Escapes before the plain character.
  for (size_t i = secret.size(); i-- > 0;) {
    const auto size = std::find_if(kSizes.begin(), kSizes.end(), [&](size_t s) {
      return s <= at && SpellingSize(text.substr(at - s, s), secret[i]) == s;
    });
    if (size == kSizes.end()) return std::nullopt;
    at -= *size;
  }
  return at;
}

}  // namespace

KnownSecrets::KnownSecrets(const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets) {
    // A part of the mark would be found in every result.
    if (secret.size() < kShortestSecret || kRedactedMark.find(secret) != std::string_view::npos) {
      continue;
    }
    if (!FindAnchor(secret)) {
      const std::string escaped = JsonEscaped(secret);
      Add(JsonEscaped(escaped), NeedleForm::kExact);
      Add(escaped, NeedleForm::kExact);
      Add(UrlEncoded(secret), NeedleForm::kExact);
    }
    Add(secret, NeedleForm::kPlain);
    if (secret.size() < kShortestBase64Secret) continue;
    for (size_t shift = 0; shift < 3; ++shift) {
      std::string standard = Base64Core(secret, shift, kStandardDigits);
      std::string url_safe = Base64Core(secret, shift, kUrlSafeDigits);
      if (standard != url_safe) Add(std::move(url_safe), NeedleForm::kBase64);
      Add(std::move(standard), NeedleForm::kBase64);
    }
  }
}

void KnownSecrets::Add(std::string text, NeedleForm form) {
  const size_t anchor = FindAnchor(text).value_or(0);
  needles_.push_back({std::move(text), anchor, form});
}

std::optional<TextSpan> KnownSecrets::MatchAt(size_t index, std::string_view text,
                                              size_t at) const {
  const SecretNeedle& needle = needles_[index];
  const std::string_view wanted = needle.text;
  if (at >= needle.anchor && text.substr(at - needle.anchor, wanted.size()) == wanted) {
    TextSpan span{at - needle.anchor, at - needle.anchor + wanted.size()};
    if (needle.form ==
        NeedleForm::kBase64) {  // The digits at its ends hold the rest of its first and last byte.
      if (span.begin > 0 && IsBase64(text[span.begin - 1])) --span.begin;
      if (span.end < text.size() && IsBase64(text[span.end])) ++span.end;
    }
    return span;
  }
  if (needle.form != NeedleForm::kPlain) return std::nullopt;
  const std::optional<size_t> end = MatchForward(wanted.substr(needle.anchor), text, at);
  if (!end) return std::nullopt;
  const std::optional<size_t> begin = MatchBackward(wanted.substr(0, needle.anchor), text, at);
  if (!begin) return std::nullopt;
  return TextSpan{*begin, *end};
}

bool KnownSecrets::MayMatchAt(size_t index, std::string_view text, size_t at) const {
  const SecretNeedle& needle = needles_[index];
  size_t begin = needle.anchor;
  size_t end = needle.anchor;
  while (begin > 0 && IsAlphanumeric(needle.text[begin - 1])) --begin;
  while (end < needle.text.size() && IsAlphanumeric(needle.text[end])) ++end;
  if (begin == end) return MatchAt(index, text, at).has_value();
  return at >= needle.anchor - begin &&
         text.substr(at - (needle.anchor - begin), end - begin) ==
             std::string_view(needle.text).substr(begin, end - begin);
}

bool KnownSecrets::IsWithin(std::string_view text) const {
  return std::any_of(needles_.begin(), needles_.end(), [text](const SecretNeedle& needle) {
    return text.find(needle.text) != std::string_view::npos;
  });
}

}  // namespace reenact::schema::internal
