// A signed payload in the form of DSSE, which in-toto and Sigstore use: one JSON object a line, so
// that several signatures, of several keys and times, stand in one file.
//
// Source: https://github.com/secure-systems-lab/dsse, protocol.md and envelope.md (v1.0.2).

#ifndef REENACT_TOOLS_EVIDENCE_ENVELOPE_H_
#define REENACT_TOOLS_EVIDENCE_ENVELOPE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tools/evidence/ed25519.h"

namespace reenact::evidence {

struct EnvelopeSignature {
  std::string key_id;  // A hint; what counts is the key that verifies.
  std::string bytes;
};

struct Envelope {
  std::string payload_type;
  std::string payload;
  std::vector<EnvelopeSignature> signatures;
};

// The bytes that are signed: "DSSEv1 <size> <type> <size> <payload>".
std::string BytesToSign(const Envelope& envelope);

// Adds a signature. Errors: as SigningKey::Sign.
absl::Status SignEnvelope(const SigningKey& key, Envelope* envelope);

enum class SignatureCheck {
  kFits,
  kOtherKey,  // None of the signatures is by this key.
  kBroken,    // One says it is by this key, and does not fit: the payload or it was changed.
};

SignatureCheck CheckSignature(const PublicKey& key, const Envelope& envelope);

// One line, without its end.
std::string ToJsonLine(const Envelope& envelope);
// Errors: DataLoss.
absl::StatusOr<Envelope> EnvelopeFromJson(std::string_view line);

}  // namespace reenact::evidence

#endif  // REENACT_TOOLS_EVIDENCE_ENVELOPE_H_
