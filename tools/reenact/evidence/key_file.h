// Keys for signatures, from files.

#ifndef REENACT_TOOLS_REENACT_EVIDENCE_KEY_FILE_H_
#define REENACT_TOOLS_REENACT_EVIDENCE_KEY_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tools/evidence/ed25519.h"

namespace reenact::tools {

// The first line of a file, for options that take a passphrase; empty without a file.
absl::StatusOr<std::string> ReadPassphrase(const std::string& file);

// Errors: as evidence::SigningKey::FromPem, the path in front; PermissionDenied where others than
// the owner may read the file.
absl::StatusOr<evidence::SigningKey> ReadSigningKey(const std::string& file,
                                                    const std::string& passphrase);
absl::StatusOr<evidence::PublicKey> ReadPublicKey(const std::string& file);

// Writes the private half to `file` (0600) and the public one to `file`.pub. Never over a file that
// is there. Errors: AlreadyExists; as WriteFile.
absl::Status WriteKeyPair(const evidence::SigningKey& key, const std::string& passphrase,
                          const std::string& file);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_EVIDENCE_KEY_FILE_H_
