#include "schema/request_key.h"

#include <memory>
#include <optional>

#include "schema/internal/canonical_reading.h"
#include "schema/internal/request_target.h"
#include "schema/internal/volatile_members.h"

namespace reenact::schema {
namespace {

// The text that clients draw anew for every form that they upload; nothing where `body` is no form.
std::optional<std::string_view> FormBoundary(std::string_view body) {
  constexpr std::string_view kDashes = "--";
  constexpr size_t kLongest = 70;  // RFC 2046.
  const size_t end = body.find("\r\n");
  if (!body.starts_with(kDashes) || end == std::string_view::npos) return std::nullopt;
  const std::string_view boundary = body.substr(2, end - 2);
  if (boundary.empty() || boundary.size() > kLongest) return std::nullopt;
  while (body.ends_with('\n') || body.ends_with('\r')) body.remove_suffix(1);
  const bool ends =
      body.ends_with(kDashes) && body.substr(0, body.size() - kDashes.size()).ends_with(boundary);
  return ends ? std::optional(boundary) : std::nullopt;
}

std::string WithoutFormBoundary(std::string_view body) {
  const std::optional<std::string_view> boundary = FormBoundary(body);
  if (!boundary) return std::string(body);
  const std::string line = "--" + std::string(*boundary);
  std::string text;
  for (size_t at = 0;;) {
    const size_t next = body.find(line, at);
    text.append(body.substr(at, next - at));
    if (next == std::string_view::npos) return text;
    text.append("--");
    at = next + line.size();
  }
}

// A request as the key sees it: the body parsed with its edits, or bytes; and what counts of its
// endpoint.
struct RequestReading {
  internal::RequestTarget target;
  std::unique_ptr<JsonDocument> document;  // Null: only the bytes count.
  internal::Edits edits;

  internal::JsonReading Root() const { return {document->root(), &edits}; }
};

RequestReading ReadRequest(const CallRequest& request) {
  RequestReading reading;
  const bool is_model = request.boundary == Boundary::kModel;
  const ModelDialect dialect = is_model
                                   ? DialectOf(request.provider, request.endpoint, request.body)
                                   : ModelDialect::kUnknown;
  const bool is_http = request.provider == kPlainHttp || request.provider == kMcp;
  if (is_model || is_http) {
    reading.target = internal::TargetOf(request.provider, dialect, request.endpoint);
  }
  reading.document = JsonDocument::Parse(request.body);
  // A bare number is text that happens to be digits: the query "1.0" is not the query "1".
  if (reading.document != nullptr && reading.document->root().is_number()) {
    reading.document = nullptr;
  }
  if (reading.document == nullptr) return reading;
  if (is_model) {
    reading.edits = internal::VolatileEdits(dialect, reading.document->root());
  } else if (request.provider == kMcp) {
    reading.edits = internal::McpEdits(reading.document->root());
  }
  return reading;
}

}  // namespace

RequestKey KeyOf(const CallRequest& request) {
  const RequestReading reading = ReadRequest(request);
  RequestKey key;
  std::string counts;
  if (reading.document != nullptr) {
    key.basis = KeyBasis::kCanonicalJson;
    counts = internal::CanonicalJson(reading.Root());
  } else {
    counts = WithoutFormBoundary(request.body);
  }
  if (!reading.target.empty()) counts.append(1, '\0').append(CanonicalTarget(reading.target));
  key.digest = HashBytes(counts);
  return key;
}

RequestKey KeyOf(Boundary boundary, std::string_view provider, std::string_view body) {
  return KeyOf(CallRequest{.boundary = boundary, .provider = provider, .body = body});
}

std::string Shorten(const RequestKey& key) {
  constexpr size_t kShownDigits = 12;
  return "sha256:" + ToHex(key.digest).substr(0, kShownDigits);
}

std::vector<JsonDifference> DiffRequests(const CallRequest& expected, const CallRequest& actual,
                                         size_t limit) {
  const RequestReading ours = ReadRequest(expected);
  const RequestReading theirs = ReadRequest(actual);
  std::vector<JsonDifference> differences =
      internal::DiffTargets(ours.target, theirs.target, limit);
  limit -= differences.size();
  if (limit == 0) return differences;
  if (ours.document != nullptr && theirs.document != nullptr) {
    for (JsonDifference& found : internal::DiffJson(ours.Root(), theirs.Root(), limit)) {
      differences.push_back(std::move(found));
    }
    return differences;
  }
  const std::string our_bytes = WithoutFormBoundary(expected.body);
  const std::string their_bytes = WithoutFormBoundary(actual.body);
  if (our_bytes == their_bytes) return differences;
  JsonDifference difference;
  difference.path = "(bytes)";
  internal::ShowDifference(our_bytes, their_bytes, &difference);
  differences.push_back(std::move(difference));
  return differences;
}

std::vector<JsonDifference> DiffRequests(Boundary boundary, std::string_view provider,
                                         std::string_view expected, std::string_view actual,
                                         size_t limit) {
  return DiffRequests(CallRequest{.boundary = boundary, .provider = provider, .body = expected},
                      CallRequest{.boundary = boundary, .provider = provider, .body = actual},
                      limit);
}

}  // namespace reenact::schema
