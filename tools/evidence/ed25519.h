// Ed25519 keys and signatures, by OpenSSL. Keys are PEM files as `openssl genpkey -algorithm
// ed25519` makes them (PKCS#8, and SubjectPublicKeyInfo for the public half), so that a key store
// or another tool can hold them.
//
// Source: RFC 8032, RFC 8410.

#ifndef REENACT_TOOLS_EVIDENCE_ED25519_H_
#define REENACT_TOOLS_EVIDENCE_ED25519_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

// OpenSSL's; its headers stay out of ours.
struct evp_pkey_st;

namespace reenact::evidence {

class PublicKey {
 public:
  // Errors: InvalidArgument: no PEM, a key of another kind, a private key.
  static absl::StatusOr<PublicKey> FromPem(std::string_view pem);

  // Hex of the SHA-256 of the DER SubjectPublicKeyInfo.
  const std::string& id() const { return id_; }

  std::string ToPem() const;
  bool Verifies(std::string_view message, std::string_view signature) const;

 private:
  friend class SigningKey;
  explicit PublicKey(std::shared_ptr<evp_pkey_st> key);

  std::shared_ptr<evp_pkey_st> key_;
  std::string id_;
};

class SigningKey {
 public:
  // Errors: Internal (no randomness).
  static absl::StatusOr<SigningKey> Generate();
  // `passphrase` empty: none. Errors: InvalidArgument: no PEM, a key of another kind, a public key;
  // PermissionDenied: it is encrypted, and the passphrase is missing or another.
  static absl::StatusOr<SigningKey> FromPem(std::string_view pem, const std::string& passphrase);

  // Encrypted (AES-256) under `passphrase` unless that is empty.
  absl::StatusOr<std::string> ToPem(const std::string& passphrase) const;
  PublicKey Public() const;
  // 64 bytes. Errors: Internal.
  absl::StatusOr<std::string> Sign(std::string_view message) const;

 private:
  explicit SigningKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}

  std::shared_ptr<evp_pkey_st> key_;
};

}  // namespace reenact::evidence

#endif  // REENACT_TOOLS_EVIDENCE_ED25519_H_
