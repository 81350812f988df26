#include "schema/internal/secret_scanner.h"

#include <algorithm>
#include <utility>

#include "schema/internal/assigned_values.h"
#include "schema/internal/credential_names.h"
#include "schema/internal/secret_forms.h"

namespace reenact::schema::internal {
namespace {

bool IsEscapeOfAscii(std::string_view text, size_t at) {
  constexpr std::string_view kPrefix = "\\u00";
  return text.substr(at, kPrefix.size()) == kPrefix && at + kPrefix.size() < text.size() &&
         text[at + kPrefix.size()] >= '2' && text[at + kPrefix.size()] <= '7';
}

// What may follow a name that is given a value, in any notation.
bool EndsName(std::string_view text, const TextSpan& name) {
  return name.end == text.size() ||
         std::string_view("\"'`\\=:% ").find(text[name.end]) != std::string_view::npos;
}

// True when a backslash stands in the same word as `at`, or the one after it.
bool IsBeforeEscape(std::string_view text, size_t at) {
  constexpr size_t kNear = 512;
  const std::string_view near = text.substr(at, kNear);
  const size_t word_end = std::min(near.find_first_of(" \"\n"), near.size());
  const size_t next_end = std::min(near.find_first_of(" \"\n", word_end + 1), near.size());
  return near.substr(0, next_end).find('\\') != std::string_view::npos;
}

// A secret that ends in what an armoured key begins with: the key is part of it.
size_t EndWithArmour(std::string_view text, const TextSpan& span) {
  const size_t armour = text.substr(span.begin, span.end - span.begin).find("-----BEGIN");
  if (armour == std::string_view::npos) return span.end;
  const std::optional<TextSpan> key = MatchPrivateKey(text, span.begin + armour);
  return key ? std::max(span.end, key->end) : span.end;
}

}  // namespace

SecretScanner::SecretScanner(const std::vector<std::string>& secrets,
                             std::vector<std::string> extra_keys)
    : extra_keys_(std::move(extra_keys)), known_(secrets), triggers_(known_, extra_keys_) {}

bool SecretScanner::IsCredential(std::string_view key) const {
  if (IsCredentialKey(key)) return true;
  return std::any_of(extra_keys_.begin(), extra_keys_.end(), [key](const std::string& extra) {
    return std::equal(key.begin(), key.end(), extra.begin(), extra.end(), [](char a, char b) {
      return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
    });
  });
}

std::vector<TextSpan> SecretScanner::Find(std::string_view text) const {
  std::vector<TextSpan> spans;
  size_t at = triggers_.FindNext(text, 0);
  while (at < text.size()) {
    size_t next = at + 1;
    const auto [first, last] = triggers_.At(text, at);
    for (const Trigger* trigger = first; trigger != last; ++trigger) {
      std::optional<TextSpan> found = FindAt(text, at, *trigger);
      if (!found) continue;
      TextSpan span = OutsideEscapes(text, *found);
      span.end = EndWithArmour(text, span);
      if (!spans.empty() && span.begin < spans.back().end) {  // The same secret, seen again.
        span.begin = spans.back().begin;
        span.end = std::max(span.end, spans.back().end);
        spans.pop_back();
      }
      spans.push_back(span);
      next = std::max(next, span.end);
    }
    at = triggers_.FindNext(text, next);
  }
  return spans;
}

std::optional<TextSpan> SecretScanner::FindAt(std::string_view text, size_t at,
                                              const Trigger& trigger) const {
  if (at < trigger.offset) return std::nullopt;
  const size_t begin = at - trigger.offset;
  switch (trigger.kind) {
    case TriggerKind::kValue:
      return trigger.index < kValueForms.size()
                 ? MatchValueForm(text, begin, kValueForms[trigger.index])
                 : MatchWebToken(text, begin);
    case TriggerKind::kName:
    case TriggerKind::kExtraName:
      return FindAssigned(text, at);
    case TriggerKind::kParameter: {
      const TextSpan name = NameAround(text, begin);
      const bool counts = IsCredentialParameter(text.substr(name.begin, name.end - name.begin));
      return counts ? MatchParameterValue(text, name) : std::nullopt;
    }
    case TriggerKind::kScheme:
      return trigger.index == 0 ? MatchBearer(text, begin) : MatchBasic(text, begin);
    case TriggerKind::kPem:
      return MatchPrivateKey(text, begin);
    case TriggerKind::kUrl:
      return MatchUserInfo(text, begin);
    case TriggerKind::kSecret:
      return known_.MatchAt(trigger.index, text, begin);
    case TriggerKind::kCookie:
      return MatchCookies(text, NameAround(text, begin));
    case TriggerKind::kToken:  // For those who know the document.
    case TriggerKind::kHeaders:
    case TriggerKind::kEscape:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<TextSpan> SecretScanner::FindAssigned(std::string_view text, size_t at) const {
  const TextSpan name = NameAround(text, at);
  if (!IsCredential(text.substr(name.begin, name.end - name.begin))) return std::nullopt;
  return MatchAssignedValue(text, name);
}

bool SecretScanner::MayHold(std::string_view text) const {
  for (size_t at = triggers_.FindNext(text, 0); at < text.size();
       at = triggers_.FindNext(text, at + 1)) {
    const auto [first, last] = triggers_.At(text, at);
    for (const Trigger* trigger = first; trigger != last; ++trigger) {
      if (MayHoldAt(text, at, *trigger)) return true;
    }
  }
  return false;
}

bool SecretScanner::MayHoldAt(std::string_view text, size_t at, const Trigger& trigger) const {
  switch (trigger.kind) {
    case TriggerKind::kName:
    case TriggerKind::kExtraName: {
      const TextSpan name = NameAround(text, at);
      return IsCredential(text.substr(name.begin, name.end - name.begin)) && EndsName(text, name);
    }
    case TriggerKind::kToken: {
      const TextSpan name = NameAround(text, at);
      return IsTokenKey(text.substr(name.begin, name.end - name.begin)) &&
             IsGivenOpaqueValue(text, name);
    }
    case TriggerKind::kHeaders: {
      const TextSpan name = NameAround(text, at);
      return IsHeadersKey(text.substr(name.begin, name.end - name.begin));
    }
    case TriggerKind::kEscape:
      return IsEscapeOfAscii(text, at);
    case TriggerKind::kSecret:
      return known_.MayMatchAt(trigger.index, text, at);
    case TriggerKind::kParameter:
    case TriggerKind::kScheme:
    case TriggerKind::kUrl:
      // What follows may go on past an escape, where only a look at the decoded text can see it.
      return FindAt(text, at, trigger).has_value() || IsBeforeEscape(text, at + trigger.offset);
    default:
      return FindAt(text, at, trigger).has_value();
  }
}

}  // namespace reenact::schema::internal
