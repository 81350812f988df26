// The places in a text where a closer look for secrets is worth it: three characters that begin or
// mark every form that we know. One table look-up a byte, so that clean text costs next to nothing.

#ifndef REENACT_SCHEMA_INTERNAL_SECRET_TRIGGERS_H_
#define REENACT_SCHEMA_INTERNAL_SECRET_TRIGGERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/internal/known_secrets.h"

namespace reenact::schema::internal {

enum class TriggerKind : uint8_t {
  kValue,      // A value of known form; `index` into kValueForms.
  kName,       // Part of the name of a credential.
  kExtraName,  // The beginning of a key that the policy names; `index` into its list.
  kParameter,  // The end of a short parameter name and its '='.
  kScheme,     // "Bearer", "Basic".
  kPem,        // "-----BEGIN".
  kUrl,        // "://".
  kCookie,     // "Cookie:".
  kToken,      // The key "token", whose value may be anything.
  kHeaders,    // The key of an object of headers.
  kEscape,     // \u0020 to \u007f: ASCII that hides.
  kSecret,     // The anchor of a known secret; `index` into its needles.
};

struct Trigger {
  uint32_t trigram = 0;  // Folded.
  TriggerKind kind = TriggerKind::kValue;
  uint8_t offset = 0;  // Of the three characters within what they are part of.
  uint16_t index = 0;
};

// Values that are secrets by their form: a prefix, then at least `min_tail` characters of a class.
enum class TailClass : uint8_t { kAlphanumeric, kWord, kWordDash, kWordDashDot, kUpperDigit };

struct ValueForm {
  std::string_view prefix;
  TailClass tail_class;
  size_t min_tail;
  uint8_t trigger_offset = 0;
};

// Sources: the key formats that their issuers document.
inline constexpr std::array<ValueForm, 32> kValueForms = {{
    {"sk-", TailClass::kWordDash, 20},          {"sk_live_", TailClass::kAlphanumeric, 10},
    {"sk_test_", TailClass::kAlphanumeric, 10}, {"rk_live_", TailClass::kAlphanumeric, 10},
    {"whsec_", TailClass::kAlphanumeric, 20},   {"AKIA", TailClass::kUpperDigit, 16},
    {"ASIA", TailClass::kUpperDigit, 16},       {"AIza", TailClass::kWordDash, 35},
    {"ya29.", TailClass::kWordDashDot, 20},     {"ghp_", TailClass::kAlphanumeric, 36},
    {"gho_", TailClass::kAlphanumeric, 36},     {"ghu_", TailClass::kAlphanumeric, 36},
    {"ghs_", TailClass::kAlphanumeric, 36},     {"ghr_", TailClass::kAlphanumeric, 36},
    {"github_pat_", TailClass::kWord, 22, 5},   {"glpat-", TailClass::kWordDash, 20},
    {"xoxa-", TailClass::kWordDash, 10},        {"xoxb-", TailClass::kWordDash, 10},
    {"xoxe-", TailClass::kWordDash, 10},        {"xoxp-", TailClass::kWordDash, 10},
    {"xoxr-", TailClass::kWordDash, 10},        {"xoxs-", TailClass::kWordDash, 10},
    {"hf_", TailClass::kAlphanumeric, 30},      {"gsk_", TailClass::kAlphanumeric, 40},
    {"xai-", TailClass::kAlphanumeric, 40},     {"nvapi-", TailClass::kWordDash, 40},
    {"pplx-", TailClass::kAlphanumeric, 40, 2}, {"r8_", TailClass::kAlphanumeric, 36},
    {"npm_", TailClass::kAlphanumeric, 36},     {"lsv2_", TailClass::kWord, 30},
    {"tvly-", TailClass::kWordDash, 20},        {"SG.", TailClass::kWordDashDot, 40},
}};

class SecretTriggers {
 public:
  SecretTriggers(const KnownSecrets& secrets, const std::vector<std::string>& extra_names);

  // The first place at or after `from` where three characters of a trigger stand, or the size of
  // `text`.
  size_t FindNext(std::string_view text, size_t from) const;

  // The triggers of the three characters at `at`; an equal range of a sorted list.
  std::pair<const Trigger*, const Trigger*> At(std::string_view text, size_t at) const;

 private:
  static constexpr unsigned kHashBits = 14;

  static uint32_t Fold(std::string_view three);
  static uint32_t Hash(uint32_t folded);
  void Add(std::string_view three, TriggerKind kind, size_t offset, size_t index);
  void AddBuiltIn();

  std::vector<Trigger> triggers_;                  // By trigram.
  std::array<uint8_t, 1u << kHashBits> filter_{};  // 1 where a trigger may hash to.
};

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_SECRET_TRIGGERS_H_
