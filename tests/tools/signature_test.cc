// Ed25519 against RFC 8032, the envelope against DSSE's own example, and statements.

#include <gtest/gtest.h>

#include "absl/strings/escaping.h"

#include "tools/evidence/ed25519.h"
#include "tools/evidence/envelope.h"
#include "tools/evidence/statement.h"

namespace reenact::evidence {
namespace {

std::string Hex(const char* digits) {
  return absl::HexStringToBytes(digits);
}

// The two halves of a key as PEM: RFC 8410's fixed DER prefixes, and 32 bytes.
std::string PrivatePem(const std::string& seed) {
  return "-----BEGIN PRIVATE KEY-----\n" +
         absl::Base64Escape(Hex("302e020100300506032b657004220420") + seed) +
         "\n-----END PRIVATE KEY-----\n";
}

std::string PublicPem(const std::string& point) {
  return "-----BEGIN PUBLIC KEY-----\n" +
         absl::Base64Escape(Hex("302a300506032b6570032100") + point) +
         "\n-----END PUBLIC KEY-----\n";
}

// RFC 8032, section 7.1, TEST 3.
const char kSeed[] = "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7";
const char kPoint[] = "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025";
const char kSignature[] =
    "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
    "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a";

TEST(Ed25519, SignsAndVerifiesAsTheRfcSays) {
  const auto key = SigningKey::FromPem(PrivatePem(Hex(kSeed)), "");
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_EQ(*key->Sign("\xaf\x82"), Hex(kSignature));
  const auto other_half = PublicKey::FromPem(PublicPem(Hex(kPoint)));
  ASSERT_TRUE(other_half.ok()) << other_half.status();
  EXPECT_EQ(other_half->id(), key->Public().id());
  EXPECT_TRUE(other_half->Verifies("\xaf\x82", Hex(kSignature)));
  EXPECT_FALSE(other_half->Verifies("\xaf\x83", Hex(kSignature)));
  EXPECT_FALSE(other_half->Verifies("\xaf\x82", Hex(kSignature).substr(1)));
  EXPECT_FALSE(other_half->Verifies("\xaf\x82", ""));
}

TEST(Ed25519, EveryFlippedBitOfASignatureShows) {
  const auto key = SigningKey::FromPem(PrivatePem(Hex(kSeed)), "");
  for (size_t bit = 0; bit < 512; ++bit) {
    std::string signature = Hex(kSignature);
    signature[bit / 8] = static_cast<char>(signature[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(key->Public().Verifies("\xaf\x82", signature)) << bit;
  }
}

TEST(Ed25519, AKeyGoesThroughItsFileWithAndWithoutAPassphrase) {
  const auto key = SigningKey::Generate();
  ASSERT_TRUE(key.ok());
  for (const std::string passphrase : {"", "correct horse"}) {
    const auto pem = key->ToPem(passphrase);
    ASSERT_TRUE(pem.ok()) << pem.status();
    const auto again = SigningKey::FromPem(*pem, passphrase);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again->Sign("x"), *key->Sign("x"));
    EXPECT_EQ(PublicKey::FromPem(key->Public().ToPem())->id(), again->Public().id());
  }
  const std::string locked = *key->ToPem("correct horse");
  EXPECT_EQ(SigningKey::FromPem(locked, "").status().message(),
            "is encrypted: a passphrase is needed");
  EXPECT_EQ(SigningKey::FromPem(locked, "battery staple").status().message(),
            "is encrypted under another passphrase");
}

TEST(Ed25519, WhatIsNoSuchKeyIsNamed) {
  const auto key = SigningKey::Generate();
  const auto message = [](const auto& result) { return std::string(result.status().message()); };
  EXPECT_EQ(message(SigningKey::FromPem(key->Public().ToPem(), "")),
            "holds a public key; the private one signs");
  EXPECT_EQ(message(PublicKey::FromPem(*key->ToPem(""))),
            "holds a private key; the public one is wanted");
  EXPECT_EQ(message(PublicKey::FromPem("ssh-ed25519 AAAA")), "holds no public key in PEM form");
  // X25519, the sister that only agrees on keys.
  const std::string x25519 = "-----BEGIN PUBLIC KEY-----\n" +
                             absl::Base64Escape(Hex("302a300506032b656e032100") + Hex(kPoint)) +
                             "\n-----END PUBLIC KEY-----\n";
  EXPECT_EQ(message(PublicKey::FromPem(x25519)), "holds a key of kind X25519, not Ed25519");
}

// protocol.md of DSSE 1.0.2.
TEST(SignatureEnvelope, SignsTheBytesOfDssesExample) {
  const Envelope envelope{.payload_type = "http://example.com/HelloWorld",
                          .payload = "hello world"};
  EXPECT_EQ(BytesToSign(envelope), "DSSEv1 29 http://example.com/HelloWorld 11 hello world");
}

TEST(SignatureEnvelope, TellsFittingFromOtherAndFromBroken) {
  const auto mine = SigningKey::Generate();
  const auto theirs = SigningKey::Generate();
  Envelope envelope{.payload_type = kPayloadType, .payload = "{}"};
  ASSERT_TRUE(SignEnvelope(*theirs, &envelope).ok());
  EXPECT_EQ(CheckSignature(mine->Public(), envelope), SignatureCheck::kOtherKey);
  ASSERT_TRUE(SignEnvelope(*mine, &envelope).ok());
  const auto again = EnvelopeFromJson(ToJsonLine(envelope));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(CheckSignature(mine->Public(), *again), SignatureCheck::kFits);
  EXPECT_EQ(CheckSignature(theirs->Public(), *again), SignatureCheck::kFits);
  Envelope changed = *again;
  changed.payload = "{ }";
  EXPECT_EQ(CheckSignature(mine->Public(), changed), SignatureCheck::kBroken);
  changed = *again;
  changed.payload_type += "x";
  EXPECT_EQ(CheckSignature(mine->Public(), changed), SignatureCheck::kBroken);
  // Without a hint the key that verifies counts.
  changed = *again;
  for (auto& signature : changed.signatures) signature.key_id.clear();
  EXPECT_EQ(CheckSignature(mine->Public(), changed), SignatureCheck::kFits);
}

TEST(SignatureEnvelope, WhatIsNoneIsRefused) {
  for (const char* line : {"", "[]", "{}", R"({"payloadType":"x","payload":"e30="})",
                           R"({"payloadType":"x","payload":"e30=","signatures":[]})",
                           R"({"payloadType":"x","payload":"%%","signatures":[{"sig":"AA=="}]})",
                           R"({"payloadType":"x","payload":"e30=","signatures":[{"keyid":"a"}]})"})
    EXPECT_FALSE(EnvelopeFromJson(line).ok()) << line;
}

TEST(EvidenceStatement, GoesThroughItsPayload) {
  const Statement store{.is_store = true,
                        .subject = "manifest.jsonl",
                        .sha256 = std::string(64, 'a'),
                        .signed_at_wall_ns = 1'700'000'000'000'000'000,
                        .manifest_lines = 12,
                        .manifest_bytes = 3456,
                        .first_line_sha256 = std::string(64, 'b')};
  const std::string payload = ToPayload(store);
  EXPECT_NE(payload.find("https://in-toto.io/Statement/v1"), std::string::npos);
  const auto again = StatementFromPayload(payload);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->is_store);
  EXPECT_EQ(again->subject, store.subject);
  EXPECT_EQ(again->sha256, store.sha256);
  EXPECT_EQ(again->signed_at_wall_ns, store.signed_at_wall_ns);
  EXPECT_EQ(again->manifest_lines, 12);
  EXPECT_EQ(again->manifest_bytes, 3456);
  EXPECT_EQ(again->first_line_sha256, store.first_line_sha256);
  // A name may be any bytes.
  EXPECT_TRUE(StatementFromPayload(ToPayload({.subject = "\xff.reenact"})).ok());
}

TEST(EvidenceStatement, ThoseOfOthersAreRefused) {
  EXPECT_FALSE(StatementFromPayload("").ok());
  EXPECT_FALSE(StatementFromPayload("[1]").ok());
  const auto provenance = StatementFromPayload(
      R"({"_type":"https://in-toto.io/Statement/v1","predicateType":"https://slsa.dev/provenance/v1"})");
  EXPECT_NE(provenance.status().message().find("slsa.dev"), std::string::npos);
}

}  // namespace
}  // namespace reenact::evidence
