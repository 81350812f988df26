#include "tools/evidence/ed25519.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

#include "schema/sha256.h"

namespace reenact::evidence {
namespace {

using Key = std::shared_ptr<EVP_PKEY>;
using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

Key Own(EVP_PKEY* key) {
  return {key, EVP_PKEY_free};
}

Bio Reading(std::string_view text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free};
}

Bio Writing() {
  return {BIO_new(BIO_s_mem()), BIO_free};
}

std::string Taken(const Bio& bio) {
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<size_t>(size)};
}

const unsigned char* Unsigned(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

// Hands the passphrase over, and never asks a terminal. `state` is the passphrase.
struct Passphrase {
  const std::string& text;
  bool was_asked = false;
};

int GivePassphrase(char* buffer, int size, int, void* state) {
  auto* passphrase = static_cast<Passphrase*>(state);
  passphrase->was_asked = true;
  if (passphrase->text.empty() || static_cast<int>(passphrase->text.size()) > size) return -1;
  std::memcpy(buffer, passphrase->text.data(), passphrase->text.size());
  return static_cast<int>(passphrase->text.size());
}

absl::Status CheckKind(const Key& key) {
  if (EVP_PKEY_get_id(key.get()) == EVP_PKEY_ED25519) return absl::OkStatus();
  const char* name = EVP_PKEY_get0_type_name(key.get());
  return absl::InvalidArgumentError(
      absl::StrCat("holds a key of kind ", name != nullptr ? name : "unknown", ", not Ed25519"));
}

}  // namespace

PublicKey::PublicKey(Key key) : key_(std::move(key)) {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key_.get(), &der);
  if (size > 0)
    id_ = schema::ToHex(
        schema::HashBytes({reinterpret_cast<const char*>(der), static_cast<size_t>(size)}));
  OPENSSL_free(der);
}

absl::StatusOr<PublicKey> PublicKey::FromPem(std::string_view pem) {
  const Bio bio = Reading(pem);
  Key key = Own(PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (key == nullptr) {
    return absl::InvalidArgumentError(pem.find("PRIVATE KEY-----") != std::string_view::npos
                                          ? "holds a private key; the public one is wanted"
                                          : "holds no public key in PEM form");
  }
  if (absl::Status kind = CheckKind(key); !kind.ok()) return kind;
  return PublicKey(std::move(key));
}

std::string PublicKey::ToPem() const {
  const Bio bio = Writing();
  PEM_write_bio_PUBKEY(bio.get(), key_.get());
  return Taken(bio);
}

bool PublicKey::Verifies(std::string_view message, std::string_view signature) const {
  const DigestContext context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  const bool fits =
      EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
      EVP_DigestVerify(context.get(), Unsigned(signature), signature.size(), Unsigned(message),
                       message.size()) == 1;
  ERR_clear_error();
  return fits;
}

absl::StatusOr<SigningKey> SigningKey::Generate() {
  Key key = Own(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  ERR_clear_error();
  if (key == nullptr) return absl::InternalError("OpenSSL makes no Ed25519 key");
  return SigningKey(std::move(key));
}

absl::StatusOr<SigningKey> SigningKey::FromPem(std::string_view pem,
                                               const std::string& passphrase) {
  const Bio bio = Reading(pem);
  Passphrase given{passphrase};
  Key key = Own(PEM_read_bio_PrivateKey(bio.get(), nullptr, GivePassphrase, &given));
  ERR_clear_error();
  if (key == nullptr && given.was_asked) {
    return absl::PermissionDeniedError(passphrase.empty()
                                           ? "is encrypted: a passphrase is needed"
                                           : "is encrypted under another passphrase");
  }
  if (key == nullptr) {
    return absl::InvalidArgumentError(pem.find("PUBLIC KEY-----") != std::string_view::npos
                                          ? "holds a public key; the private one signs"
                                          : "holds no private key in PEM form");
  }
  if (absl::Status kind = CheckKind(key); !kind.ok()) return kind;
  return SigningKey(std::move(key));
}

absl::StatusOr<std::string> SigningKey::ToPem(const std::string& passphrase) const {
  const Bio bio = Writing();
  Passphrase given{passphrase};
  const EVP_CIPHER* cipher = passphrase.empty() ? nullptr : EVP_aes_256_cbc();
  const int done = PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), cipher, nullptr, 0,
                                                 GivePassphrase, &given);
  ERR_clear_error();
  if (done != 1) return absl::InternalError("OpenSSL cannot write the key");
  return Taken(bio);
}

PublicKey SigningKey::Public() const {
  return PublicKey(key_);
}

absl::StatusOr<std::string> SigningKey::Sign(std::string_view message) const {
  const DigestContext context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::string signature(64, '\0');
  size_t size = signature.size();
  const bool done =
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     Unsigned(message), message.size()) == 1;
  ERR_clear_error();
  if (!done || size != signature.size()) return absl::InternalError("OpenSSL does not sign");
  return signature;
}

}  // namespace reenact::evidence
