// A response is a string of attempts, each with a head of its own, so each may be compressed in its
// own way: the body is redacted attempt by attempt, and the reads of the exchange are moved to fit.

#include "store/writer/internal/record_redactor.h"

#include <strings.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "store/format/inflate.h"

namespace reenact::store {
namespace {

using schema::ExchangeItem;
using schema::ExchangeItemKind;

bool IsContentEncoding(const std::string& name) {
  return strcasecmp(name.c_str(), "content-encoding") == 0;
}

std::string ContentEncoding(const schema::Headers& headers) {
  for (const auto& [name, value] : headers) {
    if (IsContentEncoding(name)) return value;
  }
  return {};
}

void RemoveEncodingHeaders(schema::Headers* headers) {
  std::erase_if(*headers, [](const auto& header) {
    return IsContentEncoding(header.first) ||
           strcasecmp(header.first.c_str(), "content-length") == 0;
  });
}

std::string NameOf(Coding coding, const std::string& header) {
  if (!header.empty()) return header;
  return coding == Coding::kGzip ? "gzip" : "unknown";
}

void AddFact(schema::Tags* facts, std::string_view name, std::string value) {
  const std::pair<std::string, std::string> fact(name, std::move(value));
  if (std::find(facts->begin(), facts->end(), fact) == facts->end()) facts->push_back(fact);
}

// The keys of a scope's path are escaped as in a JSON pointer, which no other text is.
template <typename Redact>
void RedactKeys(const Redact& redact, std::string* path) {
  std::string redacted;
  bool changed = false;
  for (size_t begin = 0; begin <= path->size();) {
    const size_t end = std::min(path->find('/', begin), path->size());
    std::string key;
    for (size_t i = begin; i < end; ++i) {
      const char next = (*path)[i] == '~' && i + 1 < end ? (*path)[i + 1] : '\0';
      const bool escaped = next == '0' || next == '1';
      if (escaped) ++i;
      key += !escaped ? (*path)[i] : next == '1' ? '/' : '~';
    }
    const std::string before = key;
    redact(&key);
    changed = changed || key != before;
    for (const char c : key) {
      if (c == '~' || c == '/')
        redacted += c == '~' ? "~0" : "~1";
      else
        redacted += c;
    }
    if (end < path->size()) redacted += '/';
    begin = end + 1;
  }
  if (changed) *path = std::move(redacted);
}

// One attempt's share of the body.
struct Share {
  size_t begin = 0;
  size_t size = 0;
  schema::Headers* headers = nullptr;  // Of its head, where one was seen.
};

std::vector<Share> SharesOf(schema::Exchange* exchange, size_t body_size) {
  if (schema::BodySize(*exchange) != body_size) return {{0, body_size, nullptr}};
  std::vector<Share> shares(1);
  for (ExchangeItem& item : *exchange) {
    if (item.kind == ExchangeItemKind::kBytes) shares.back().size += item.size;
    if (item.kind == ExchangeItemKind::kHead) shares.back().headers = &item.headers;
    if (item.kind == ExchangeItemKind::kAttemptEnd) {
      shares.push_back({shares.back().begin + shares.back().size, 0, nullptr});
    }
  }
  return shares;
}

std::string EncodingOf(const Share& share) {
  return share.headers != nullptr ? ContentEncoding(*share.headers) : std::string();
}

// The common case, for which nothing is copied.
bool IsPlainAndClean(std::string_view bytes, const std::string& encoding,
                     const schema::Redactor& redactor) {
  return CodingOf(encoding, bytes) == Coding::kNone && !redactor.NeedsRedaction(bytes);
}

// What becomes of a run of bytes that may be compressed.
struct Outcome {
  bool decoded = false;  // `redacted` is decoded text, and differs from the input as a whole.
  bool opaque = false;   // Could not be searched.
  bool cut = false;      // Decoded text beyond the limit was left out.
  std::string coding;
  schema::Redacted redacted;
};

Outcome RedactBytes(std::string_view bytes, const std::string& encoding,
                    const schema::Redactor& redactor) {
  Outcome outcome;
  const Coding coding = CodingOf(encoding, bytes);
  if (coding == Coding::kNone || bytes.empty()) {
    if (redactor.NeedsRedaction(bytes)) {
      outcome.redacted = redactor.RedactBody(bytes);
    } else {
      outcome.redacted.bytes = bytes;
    }
    return outcome;
  }
  outcome.coding = NameOf(coding, encoding);
  Inflated inflated = Inflate(coding, bytes);
  if (inflated.bytes.empty() && !inflated.whole) {
    // Not what its header says, or something that cannot be read here. A body that is sent in the
    // clear in spite of its header is still searched.
    outcome.opaque = true;
    outcome.redacted = redactor.RedactBody(bytes);
    return outcome;
  }
  if (!inflated.too_long && !redactor.NeedsRedaction(inflated.bytes)) {
    outcome.redacted.bytes = bytes;
    return outcome;
  }
  outcome.decoded = true;
  outcome.cut = inflated.too_long;
  outcome.redacted = redactor.RedactBody(inflated.bytes);
  outcome.redacted.replacements = {{0, bytes.size(), 0, outcome.redacted.bytes.size()}};
  return outcome;
}

void MarkCut(std::string_view whole, schema::Body* body) {
  if (body->cut) return;
  body->cut = true;
  body->original_size = whole.size();
  body->original_digest = schema::HashBytes(whole);
}

}  // namespace

RecordRedactor::RecordRedactor(const schema::RedactionPolicy& policy)
    : enabled_(policy.enabled), redactor_(policy) {}

void RecordRedactor::Redact(std::string* text) const {
  if (redactor_.NeedsRedaction(*text)) *text = redactor_.RedactBody(*text).bytes;
}

void RecordRedactor::Redact(schema::Body* body) const {
  if (!redactor_.NeedsRedaction(body->bytes)) return;
  schema::Redacted redacted = redactor_.RedactBody(body->bytes);
  if (redacted.replacements.empty()) return;
  body->bytes = std::move(redacted.bytes);
  body->redacted = true;
}

void RecordRedactor::Redact(schema::Tags* tags) const {
  if (!enabled_) return;
  for (auto& [name, value] : *tags) {
    if (redactor_.IsSecretName(name) && !value.empty()) {
      value = schema::kRedactedMark;
    } else {
      Redact(&value);
    }
    Redact(&name);
  }
}

void RecordRedactor::Redact(schema::Run* run) const {
  if (!enabled_) return;
  for (std::string* text : {&run->service, &run->entry, &run->trace_id}) Redact(text);
  Redact(&run->input);
  Redact(&run->tags);
  Redact(&run->process);
}

void RecordRedactor::Redact(schema::RunEnd* end) const {
  if (!enabled_) return;
  Redact(&end->detail);
  Redact(&end->output);
}

void RecordRedactor::Redact(schema::Component* component) const {
  if (!enabled_) return;
  for (std::string* text : {&component->kind, &component->name, &component->version}) Redact(text);
  Redact(&component->content);
}

void RecordRedactor::Redact(schema::Mark* mark) const {
  if (!enabled_) return;
  Redact(&mark->title);
  Redact(&mark->notes);
}

void RecordRedactor::Redact(schema::RecordedRun* recorded) const {
  Redact(&recorded->run);
  for (schema::Component& component : recorded->components) Redact(&component);
  for (schema::Event& event : recorded->events) {
    RedactBegin(&event);
    RedactEnd(&event, &event.meta);
  }
  for (schema::Mark& mark : recorded->marks) Redact(&mark);
  if (recorded->end) Redact(&*recorded->end);
}

void RecordRedactor::RedactBegin(schema::Event* event) const {
  if (!enabled_) return;
  RedactKeys([this](std::string* key) { Redact(key); }, &event->scope);
  for (std::string* text : {&event->scope, &event->name, &event->provider}) Redact(text);
  event->endpoint = redactor_.RedactUrl(event->endpoint);
  Redact(&event->request_headers);
  Redact(&event->meta);
  RedactRequest(event);
}

void RecordRedactor::RedactRequest(schema::Event* event) const {
  const std::string encoding = ContentEncoding(event->request_headers);
  if (IsPlainAndClean(event->request.bytes, encoding, redactor_)) return;
  Outcome outcome = RedactBytes(event->request.bytes, encoding, redactor_);
  if (outcome.opaque) AddFact(&event->meta, "request_opaque_encoding", outcome.coding);
  if (outcome.redacted.replacements.empty()) return;
  if (outcome.decoded) {
    AddFact(&event->meta, "request_decoded", outcome.coding);
    RemoveEncodingHeaders(&event->request_headers);
  }
  if (outcome.cut) MarkCut(event->request.bytes, &event->request);
  event->request.bytes = std::move(outcome.redacted.bytes);
  event->request.redacted = true;
}

void RecordRedactor::RedactEnd(schema::Event* event, schema::Tags* facts) const {
  if (!enabled_) return;
  Redact(&event->end_detail);
  Redact(facts);
  for (ExchangeItem& item : event->exchange) {
    Redact(&item.detail);
    Redact(&item.headers);
  }
  RedactResponse(event, facts);
}

void RecordRedactor::RedactResponse(schema::Event* event, schema::Tags* facts) const {
  schema::Body& body = event->response;
  const std::string_view whole = body.bytes;
  const std::vector<Share> shares = SharesOf(&event->exchange, whole.size());
  if (shares.size() == 1 && IsPlainAndClean(whole, EncodingOf(shares[0]), redactor_)) return;
  std::string bytes;
  std::vector<schema::Replacement> replacements;
  bool cut = false;
  for (const Share& share : shares) {
    Outcome outcome =
        RedactBytes(whole.substr(share.begin, share.size), EncodingOf(share), redactor_);
    if (outcome.opaque) AddFact(facts, "opaque_encoding", outcome.coding);
    if (outcome.decoded) {
      AddFact(facts, "decoded", outcome.coding);
      if (share.headers != nullptr) RemoveEncodingHeaders(share.headers);
    }
    cut = cut || outcome.cut;
    for (schema::Replacement& replacement : outcome.redacted.replacements) {
      replacement.old_offset += share.begin;
      replacement.new_offset += bytes.size();
      replacements.push_back(replacement);
    }
    bytes += outcome.redacted.bytes;
  }
  // No caller ever read two attempts as one text, but that is how they stand in the file.
  schema::Redacted joined;
  if (shares.size() > 1 && redactor_.NeedsRedaction(bytes)) {
    joined = redactor_.RedactBody(bytes);
    bytes = std::move(joined.bytes);
  }
  if (replacements.empty() && joined.replacements.empty()) return;
  if (cut) MarkCut(whole, &body);
  schema::MapCuts(replacements, &event->exchange);
  schema::MapCuts(joined.replacements, &event->exchange);
  body.bytes = std::move(bytes);
  body.redacted = true;
}

void TrimExchange(uint64_t size, schema::Exchange* exchange) {
  for (ExchangeItem& item : *exchange) {
    if (item.kind != ExchangeItemKind::kBytes) continue;
    item.size = std::min(item.size, size);
    size -= item.size;
  }
}

}  // namespace reenact::store
