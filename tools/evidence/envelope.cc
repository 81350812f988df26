#include "tools/evidence/envelope.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace reenact::evidence {
namespace {

absl::Status NoEnvelope() {
  return absl::DataLossError("is no signature envelope (DSSE)");
}

bool TakeText(const nlohmann::json& object, const char* key, std::string* text) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return false;
  *text = found->get<std::string>();
  return true;
}

// DSSE allows both alphabets.
bool TakeBytes(const nlohmann::json& object, const char* key, std::string* bytes) {
  std::string text;
  return TakeText(object, key, &text) &&
         (absl::Base64Unescape(text, bytes) || absl::WebSafeBase64Unescape(text, bytes));
}

}  // namespace

std::string BytesToSign(const Envelope& envelope) {
  return absl::StrCat("DSSEv1 ", envelope.payload_type.size(), " ", envelope.payload_type, " ",
                      envelope.payload.size(), " ", envelope.payload);
}

absl::Status SignEnvelope(const SigningKey& key, Envelope* envelope) {
  auto signature = key.Sign(BytesToSign(*envelope));
  if (!signature.ok()) return signature.status();
  envelope->signatures.push_back({key.Public().id(), *std::move(signature)});
  return absl::OkStatus();
}

SignatureCheck CheckSignature(const PublicKey& key, const Envelope& envelope) {
  const std::string signed_bytes = BytesToSign(envelope);
  SignatureCheck result = SignatureCheck::kOtherKey;
  for (const EnvelopeSignature& signature : envelope.signatures) {
    if (key.Verifies(signed_bytes, signature.bytes)) return SignatureCheck::kFits;
    if (signature.key_id == key.id()) result = SignatureCheck::kBroken;
  }
  return result;
}

std::string ToJsonLine(const Envelope& envelope) {
  nlohmann::ordered_json json;
  json["payloadType"] = envelope.payload_type;
  json["payload"] = absl::Base64Escape(envelope.payload);
  json["signatures"] = nlohmann::ordered_json::array();
  for (const EnvelopeSignature& signature : envelope.signatures)
    json["signatures"].push_back(
        {{"keyid", signature.key_id}, {"sig", absl::Base64Escape(signature.bytes)}});
  return json.dump();
}

absl::StatusOr<Envelope> EnvelopeFromJson(std::string_view line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  Envelope envelope;
  if (!json.is_object() || !TakeText(json, "payloadType", &envelope.payload_type) ||
      !TakeBytes(json, "payload", &envelope.payload))
    return NoEnvelope();
  const auto signatures = json.find("signatures");
  if (signatures == json.end() || !signatures->is_array() || signatures->empty())
    return NoEnvelope();
  for (const auto& entry : *signatures) {
    EnvelopeSignature signature;
    if (!entry.is_object() || !TakeBytes(entry, "sig", &signature.bytes)) return NoEnvelope();
    TakeText(entry, "keyid", &signature.key_id);  // Optional.
    envelope.signatures.push_back(std::move(signature));
  }
  return envelope;
}

}  // namespace reenact::evidence
