#include "schema/internal/secret_triggers.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

namespace reenact::schema::internal {
namespace {

constexpr size_t kTrigramSize = 3;
static_assert(std::endian::native == std::endian::little, "FindNext reads three bytes as a number");

// Three characters that every credential name of credential_names.cc holds, and ordinary words
// seldom do: "uth" for authorization, "ssw" for password, "ecr" for secret.
constexpr std::string_view kNameTrigrams[] = {"uth", "api", "acc", "efr", "bea", "sio", "yto",
                                              "y_t", "y-t", "ecr", "ssw", "ssp", "iva", "onk",
                                              "n_k", "n-k", "idt", "id_", "id-", "pwd"};

constexpr std::string_view kParameterTrigrams[] = {"ey=", "en=", "ig=", "re=", "id=", "th=", "al=",
                                                   "ey%", "en%", "ig%", "re%", "id%", "th%", "al%"};

}  // namespace

SecretTriggers::SecretTriggers(const KnownSecrets& secrets,
                               const std::vector<std::string>& extra_names) {
  AddBuiltIn();
  const std::vector<SecretNeedle>& needles = secrets.needles();
  for (size_t i = 0; i < needles.size() && i <= UINT16_MAX; ++i) {
    const std::string_view text = needles[i].text;
    Add(text.substr(needles[i].anchor, kTrigramSize), TriggerKind::kSecret, 0, i);
  }
  for (size_t i = 0; i < extra_names.size() && i <= UINT16_MAX; ++i) {
    if (extra_names[i].size() >= kTrigramSize) {
      Add(std::string_view(extra_names[i]).substr(0, kTrigramSize), TriggerKind::kExtraName, 0, i);
    }
  }
  std::stable_sort(triggers_.begin(), triggers_.end(),
                   [](const Trigger& a, const Trigger& b) { return a.trigram < b.trigram; });
}

void SecretTriggers::AddBuiltIn() {
  for (size_t i = 0; i < kValueForms.size(); ++i) {
    const ValueForm& form = kValueForms[i];
    Add(form.prefix.substr(form.trigger_offset, kTrigramSize), TriggerKind::kValue,
        form.trigger_offset, i);
  }
  Add("eyJ", TriggerKind::kValue, 0, kValueForms.size());
  for (const std::string_view three : kNameTrigrams) Add(three, TriggerKind::kName, 0, 0);
  for (const std::string_view three : kParameterTrigrams) Add(three, TriggerKind::kParameter, 0, 0);
  Add("bea", TriggerKind::kScheme, 0, 0);
  Add("sic", TriggerKind::kScheme, 2, 1);
  Add("-BE", TriggerKind::kPem, 4, 0);
  Add("://", TriggerKind::kUrl, 0, 0);
  Add(":\\/", TriggerKind::kUrl, 0, 1);
  Add("kie", TriggerKind::kCookie, 0, 0);
  Add("ken", TriggerKind::kToken, 0, 0);
  Add("rs\"", TriggerKind::kHeaders, 0, 0);
  Add("rs\\", TriggerKind::kHeaders, 0, 0);
  Add("\\u0", TriggerKind::kEscape, 0, 0);
}

void SecretTriggers::Add(std::string_view three, TriggerKind kind, size_t offset, size_t index) {
  const uint32_t folded = Fold(three);
  triggers_.push_back({folded, kind, static_cast<uint8_t>(offset), static_cast<uint16_t>(index)});
  filter_[Hash(folded)] = 1;
}

// Case is folded by setting one bit of each byte, which also makes some other characters equal:
// those who get a hit look at the text again.
uint32_t SecretTriggers::Fold(std::string_view three) {
  const auto byte = [three](size_t i) {
    return static_cast<uint32_t>(static_cast<uint8_t>(three[i]));
  };
  return (byte(0) | byte(1) << 8 | byte(2) << 16) | 0x202020u;
}

uint32_t SecretTriggers::Hash(uint32_t folded) {
  return (folded * 0x9e3779b1u) >> (32 - kHashBits);
}

size_t SecretTriggers::FindNext(std::string_view text, size_t from) const {
  if (text.size() < kTrigramSize) return text.size();
  const char* const data = text.data();
  const size_t end = text.size() - kTrigramSize + 1;  // Of the places that hold three characters.
  const auto hits = [this, data](size_t at) {
    uint32_t word;
    std::memcpy(&word, data + at, sizeof(word));
    return filter_[Hash((word & 0xffffffu) | 0x202020u)];
  };
  size_t at = from;
  // A hit is rare, so one branch for eight places. Each read takes a fourth byte.
  for (; at + 8 < end; at += 8) {
    const unsigned any = hits(at) | hits(at + 1) | hits(at + 2) | hits(at + 3) | hits(at + 4) |
                         hits(at + 5) | hits(at + 6) | hits(at + 7);
    if (any != 0) break;
  }
  for (; at < end; ++at) {
    if (filter_[Hash(Fold(text.substr(at, kTrigramSize)))] != 0) return at;
  }
  return text.size();
}

std::pair<const Trigger*, const Trigger*> SecretTriggers::At(std::string_view text,
                                                             size_t at) const {
  const uint32_t folded = Fold(text.substr(at, kTrigramSize));
  const auto less = [](const Trigger& a, uint32_t b) { return a.trigram < b; };
  const Trigger* const end = triggers_.data() + triggers_.size();
  const Trigger* const first = std::lower_bound(triggers_.data(), end, folded, less);
  const Trigger* last = first;
  while (last != end && last->trigram == folded) ++last;
  return {first, last};
}

}  // namespace reenact::schema::internal
