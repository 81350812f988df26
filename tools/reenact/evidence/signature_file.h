// The signatures of a store or a bundle: a file beside it, one envelope a line, each by some key at
// some time.

#ifndef REENACT_TOOLS_REENACT_EVIDENCE_SIGNATURE_FILE_H_
#define REENACT_TOOLS_REENACT_EVIDENCE_SIGNATURE_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "store/reader/verify.h"
#include "tools/evidence/ed25519.h"

namespace reenact::tools {

// <store>/evidence.intoto.jsonl, or <bundle>.intoto.jsonl.
std::string SignatureFileOf(const std::string& path);

// Signs what a store or bundle is now, and adds the signature to `file`.
// Errors: as store::ReadEvidenceHead and WriteFile.
absl::Status AddSignature(const std::string& path, const evidence::SigningKey& key,
                          const std::string& file);

// A signature by the key that was asked for, and that fits.
struct GoodSignature {
  int64_t signed_at_wall_ns = 0;
  int64_t signed_lines = 0;  // Of a store's manifest,
  int64_t lines = 0;         // which has so many now.
};

struct SignatureReport {
  std::vector<GoodSignature> good;
  std::vector<store::VerifyFinding> findings;
};

// Holds every signature by `key` in `file` against what is at `path` now. None is a finding, and so
// is a file that is not there.
// Errors: PermissionDenied.
absl::StatusOr<SignatureReport> CheckSignatures(const std::string& path,
                                                const evidence::PublicKey& key,
                                                const std::string& file);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_EVIDENCE_SIGNATURE_FILE_H_
