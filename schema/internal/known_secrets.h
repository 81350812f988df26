// Exact values that must not be stored, and the disguises in which they travel: JSON escapes,
// URL encoding, base64.

#ifndef REENACT_SCHEMA_INTERNAL_KNOWN_SECRETS_H_
#define REENACT_SCHEMA_INTERNAL_KNOWN_SECRETS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/internal/mapped_text.h"

namespace reenact::schema::internal {

enum class NeedleForm : uint8_t {
  kPlain,   // The secret; each of its characters may be escaped.
  kExact,   // One of its encodings, as it is.
  kBase64,  // The core of an encoding, as it is; one digit each side belongs to it.
};

// One text to look for. Its anchor is three letters or digits in a row: no encoding changes them,
// so that a scan for anchors finds every disguise. A secret that has no such place has its usual
// encodings as needles of their own.
struct SecretNeedle {
  std::string text;
  size_t anchor = 0;  // Offset of the three characters.
  NeedleForm form = NeedleForm::kPlain;
};

inline constexpr size_t kAnchorSize = 3;

class KnownSecrets {
 public:
  explicit KnownSecrets(const std::vector<std::string>& secrets);

  const std::vector<SecretNeedle>& needles() const { return needles_; }

  // Where needle `index` stands in `text`, when its anchor is at `at`.
  std::optional<TextSpan> MatchAt(size_t index, std::string_view text, size_t at) const;

  // False when neither `text` nor any text that is escaped in it can match with an anchor there.
  bool MayMatchAt(size_t index, std::string_view text, size_t at) const;

  // True when `text` holds a needle as it is. For short texts, such as numbers.
  bool IsWithin(std::string_view text) const;

 private:
  void Add(std::string text, NeedleForm form);

  std::vector<SecretNeedle> needles_;
};

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_KNOWN_SECRETS_H_
