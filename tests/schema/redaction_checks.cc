#include "redaction_checks.h"

#include "schema/json_view.h"
#include "schema/sse.h"

namespace reenact::schema {
namespace {

// A bare number is text that happens to be digits.
bool IsJson(std::string_view text) {
  const auto document = JsonDocument::Parse(text);
  return document != nullptr && !document->root().is_number();
}

// Replacing by the list what the list names gives the result.
bool Describes(const Redacted& redacted, std::string_view body) {
  size_t old_at = 0;
  size_t new_at = 0;
  const std::string_view bytes = redacted.bytes;
  for (const Replacement& r : redacted.replacements) {
    if (r.old_offset < old_at || r.new_offset < new_at) return false;
    const size_t kept = r.old_offset - old_at;
    if (kept != r.new_offset - new_at || r.old_offset + r.old_size > body.size()) return false;
    if (body.substr(old_at, kept) != bytes.substr(new_at, kept)) return false;
    old_at = r.old_offset + r.old_size;
    new_at = r.new_offset + r.new_size;
  }
  return new_at <= bytes.size() && body.substr(old_at) == bytes.substr(new_at);
}

bool RecordsStayRecords(std::string_view body, std::string_view redacted) {
  if (!LooksLikeSse(body)) return true;
  const SseStream before = ParseSse(body);
  const SseStream after = ParseSse(redacted);
  if (before.events.size() != after.events.size()) return false;
  for (size_t i = 0; i < before.events.size(); ++i) {
    if (IsJson(before.events[i].data) && !IsJson(after.events[i].data)) return false;
  }
  return true;
}

bool CutsStayCuts(const Redacted& redacted, size_t old_size, size_t stride) {
  for (size_t cut = 0; cut <= old_size; cut += stride) {
    Exchange exchange = {{.kind = ExchangeItemKind::kHead},
                         {.kind = ExchangeItemKind::kBytes, .size = cut},
                         {.kind = ExchangeItemKind::kBytes, .size = old_size - cut}};
    MapCuts(redacted.replacements, &exchange);
    if (exchange.size() != 3 || BodySize(exchange) != redacted.bytes.size()) return false;
    // No cut falls inside a mark that took a secret's place.
    for (const Replacement& r : redacted.replacements) {
      const uint64_t at = exchange[1].size;
      if (at > r.new_offset && at < r.new_offset + r.new_size) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<std::string> FindBrokenRule(std::string_view body, const RedactionPolicy& policy,
                                          size_t stride) {
  const Redactor redactor(policy);
  const Redacted once = redactor.RedactBody(body);
  const Redacted twice = redactor.RedactBody(once.bytes);
  if (twice.bytes != once.bytes || !twice.replacements.empty()) {
    return "redacting again changes it: " + once.bytes + "\nto " + twice.bytes;
  }
  if (redactor.NeedsRedaction(body) != !once.replacements.empty()) return "need is misjudged";
  if (!Describes(once, body)) return "replacements do not describe " + once.bytes;
  if (IsJson(body) && !IsJson(once.bytes)) return "no longer JSON: " + once.bytes;
  if (!RecordsStayRecords(body, once.bytes)) return "records are broken: " + once.bytes;
  if (!CutsStayCuts(once, body.size(), stride)) return "cuts do not fit " + once.bytes;
  return std::nullopt;
}

}  // namespace reenact::schema
