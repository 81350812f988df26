#include "untrusted_input.h"

#include "redaction_checks.h"
#include "schema/canonical_json.h"
#include "schema/exchange.h"
#include "schema/replay_protocol.h"
#include "schema/request_key.h"
#include "schema/ulid.h"

namespace reenact::schema {
namespace {

// Touches every value by every accessor.
void Visit(const JsonValue& value) {
  value.AsString();
  value.AsInt64();
  value.AsUint64();
  value.AsDouble();
  for (size_t i = 0; i < value.size(); ++i) {
    value.KeyAt(i);
    Visit(value[i]);
  }
}

}  // namespace

std::optional<std::string> CheckJson(std::string_view bytes) {
  KeyOf(Boundary::kModel, "openai", bytes);
  const std::unique_ptr<JsonDocument> document = JsonDocument::Parse(bytes);
  if (document == nullptr) return std::nullopt;
  Visit(document->root());
  const std::string canonical = CanonicalJson(document->root());
  const std::unique_ptr<JsonDocument> again = JsonDocument::Parse(canonical);
  if (again == nullptr) return "canonical form is not JSON: " + canonical;
  if (CanonicalJson(again->root()) != canonical) return "canonical form is not: " + canonical;
  if (!DiffJson(document->root(), again->root()).empty()) return "differs from its canonical form";
  const bool same_key = KeyOf(Boundary::kTool, "", bytes) == KeyOf(Boundary::kTool, "", canonical);
  if (!same_key && !document->root().is_number()) return "canonical form has another key";
  return std::nullopt;
}

std::optional<std::string> CheckRedaction(std::string_view bytes) {
  RedactionPolicy policy;
  if (auto broken = FindBrokenRule(bytes, policy)) return broken;
  policy.secrets = {"1/j2x+q8Zr=", "correct-horse-1", "p\"w\\d\nx9", "777888999"};
  policy.extra_json_keys = {"customer_pin"};
  if (auto broken = FindBrokenRule(bytes, policy)) return broken;
  const std::string url = RedactUrl(bytes, policy);
  if (RedactUrl(url, policy) != url) return "URL changes again: " + url;
  return std::nullopt;
}

std::optional<std::string> CheckProtocol(std::string_view bytes) {
  constexpr size_t kLengthSize = 4;
  if (const std::optional<Exchange> exchange = DecodeExchange(bytes)) {
    if (EncodeExchange(*exchange) != bytes) return "exchange encodes to other bytes";
    const std::string_view body = "a body";
    FindLastAttempt(*exchange, body);
    BodySize(*exchange);
  }
  if (const std::optional<Message> message = DecodeMessage(bytes)) {
    if (EncodeMessage(*message).substr(kLengthSize) != bytes) return "message encodes otherwise";
  }
  if (const std::optional<Ulid> ulid = ParseUlid(bytes)) {
    if (ParseUlid(ToString(*ulid)) != ulid) return "id reads back as another";
  }
  return std::nullopt;
}

}  // namespace reenact::schema
