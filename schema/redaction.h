// Keeps secrets out of the store. Pure functions over bytes: the recorder's writer, the recovery of
// a dead process, and the replayer apply one and the same policy, so that a request still matches
// its record after a credential was rotated.
//
// What it is not: a classifier of personal data. It removes credentials: by header name, by
// JSON key, by query parameter, by pattern, and every value it was told or has learned.
// It does not see through compression (callers decode first), binary frames, encryption, or lists
// of token ids, from which a tokenizer could spell a secret again.

#ifndef REENACT_SCHEMA_REDACTION_H_
#define REENACT_SCHEMA_REDACTION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/exchange.h"

namespace reenact::schema {

namespace internal {
class SecretScanner;
}

// The version stored with each run. Raised when the same bytes would be redacted differently; an
// older version stays readable as long as stores of it exist.
inline constexpr uint32_t kRedactionPolicyVersion = 1;

// What stands in the place of a secret. The same for all secrets, so that rotation changes nothing.
inline constexpr std::string_view kRedactedMark = "[redacted]";

// Facts of a run's process, once it was redacted after it was recorded: the names whose values
// went, with commas between them; and that texts went which only whoever erased them knows.
inline constexpr std::string_view kRedactedKeysFact = "redacted_keys";
inline constexpr std::string_view kRedactedTextsFact = "redacted_texts";

struct RedactionPolicy {
  uint32_t version = kRedactionPolicyVersion;
  bool enabled = true;
  // Exact values that must not be stored, beyond what the patterns find: given by the host, or
  // learned from a sensitive header. Also found URL-encoded, JSON-escaped and base64-encoded.
  // Values shorter than 6 bytes are ignored: they would eat ordinary text.
  std::vector<std::string> secrets;
  // Of any case; their string values are replaced, and those of headers, tags, facts and query
  // parameters of these names.
  std::vector<std::string> extra_json_keys;
};

// Where the result differs from the input: `old_size` bytes at `old_offset` became `new_size`
// bytes at `new_offset`. In order, not overlapping.
struct Replacement {
  size_t old_offset = 0;
  size_t old_size = 0;
  size_t new_offset = 0;
  size_t new_size = 0;
};

struct Redacted {
  std::string bytes;
  std::vector<Replacement> replacements;  // Empty: nothing was found, `bytes` equals the input.
};

// Redacts a body of any kind: JSON, SSE, text, binary. A secret split by JSON escapes or between
// the deltas of an event stream is found in the decoded text. The result of redacting a result is
// itself. JSON stays JSON: a value is replaced inside its quotes, keys stay, a number that is a
// secret becomes null, and so do the bytes of a log probability whose token was part of one.
// Attempts of one call are bodies of their own: redact them apart.
// Cost: other bodies than streams are scanned once when nothing in them is suspicious; streams are
// always taken apart, at about a tenth of that speed.
Redacted RedactBody(std::string_view body, const RedactionPolicy& policy);

// True when RedactBody would replace something.
bool NeedsRedaction(std::string_view body, const RedactionPolicy& policy);

// A policy made ready once, for many bodies; the functions above make it ready on each call, which
// costs about as much as a small body for every secret in it.
// Threads: any number may use one.
class Redactor {
 public:
  explicit Redactor(const RedactionPolicy& policy);

  Redacted RedactBody(std::string_view body) const;
  bool NeedsRedaction(std::string_view body) const;
  std::string RedactUrl(std::string_view url) const;
  // True of a name whose value is a secret whatever it looks like: "api_key", and the keys that the
  // policy adds. For values outside of bodies: headers, tags, facts.
  bool IsSecretName(std::string_view name) const;

 private:
  std::shared_ptr<const internal::SecretScanner> scanner_;  // Null: redaction is off.
};

// Moves the cuts of `exchange` so that they fit the redacted bytes: a read boundary inside a
// replaced secret moves to the end of its replacement; none is lost.
void MapCuts(const std::vector<Replacement>& replacements, Exchange* exchange);

// Headers that may be stored: an allow list (content-type, request ids, rate limits, processing
// times, versions, retry-after, ...). Others are dropped by name.
Headers AllowedHeaders(const Headers& headers);
bool IsAllowedHeader(std::string_view name);
// Headers that carry credentials; their values are learned as secrets ("Bearer " stripped).
bool IsSecretHeader(std::string_view name);
std::string_view CredentialIn(std::string_view header_value);

// A URL without userinfo and with secret query values replaced.
std::string RedactUrl(std::string_view url, const RedactionPolicy& policy);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_REDACTION_H_
