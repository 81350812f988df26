#include "schema/model_view.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "schema/internal/anomaly_list.h"
#include "schema/internal/utf8.h"
#include "schema/json_view.h"
#include "schema/openai_chat.h"
#include "schema/sse.h"

namespace reenact::schema {
namespace {

using internal::AnomalyList;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr size_t kMaxPlainErrorSize = 4096;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// The value of the last header of this name, in lower case.
std::string HeaderValue(const Headers* headers, std::string_view name) {
  std::string value;
  if (headers == nullptr) return value;
  for (const auto& [header, text] : *headers) {
    if (Lower(header) == name) value = Lower(text);
  }
  return value;
}

enum class BodyKind : uint8_t { kEmpty, kDocument, kStream, kNdjson, kEncoded, kText };

// Only the bytes tell whether a transport has already decoded what the header says is encoded.
std::string EncodingOf(const LastAttempt& answer) {
  if (answer.body.starts_with("\x1f\x8b")) return "gzip";
  if (answer.body.starts_with("\x28\xb5\x2f\xfd")) return "zstd";
  return {};
}

BodyKind KindOf(const LastAttempt& answer) {
  std::string_view body = answer.body;
  if (body.empty()) return BodyKind::kEmpty;
  if (!EncodingOf(answer).empty()) return BodyKind::kEncoded;
  if (body.starts_with(kByteOrderMark)) body.remove_prefix(kByteOrderMark.size());
  const size_t begin = body.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return BodyKind::kText;
  const std::string type = HeaderValue(answer.headers, "content-type");
  if (body[begin] == '{' || body[begin] == '[') {
    return type.find("ndjson") != std::string::npos ? BodyKind::kNdjson : BodyKind::kDocument;
  }
  if (LooksLikeSse(answer.body)) return BodyKind::kStream;
  const std::string encoding = HeaderValue(answer.headers, "content-encoding");
  if (!encoding.empty() && encoding != "identity") return BodyKind::kEncoded;
  if (type.find("text/event-stream") != std::string::npos) return BodyKind::kStream;
  return BodyKind::kText;
}

// Several documents, one a line: what Ollama's native interface streams.
bool IsNdjson(std::string_view body) {
  const size_t end = body.find('\n');
  if (end == std::string_view::npos) return false;
  const size_t more = body.find_first_not_of(" \t\r\n", end);
  return more != std::string_view::npos && body[more] == '{' &&
         JsonDocument::Parse(body.substr(0, end)) != nullptr;
}

// True when a text that is no JSON would need more bytes to become it: it ends inside a string, an
// object or an array.
bool EndsInsideJson(std::string_view text) {
  int64_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return in_string || depth > 0;
}

// What the answer's bytes say about how it ended.
struct BytesVerdict {
  bool readable = true;  // False: they decide nothing.
  bool whole = false;
  std::string detail;
};

BytesVerdict ReadDocument(std::string_view body, ModelView* view, AnomalyList* anomalies) {
  const auto document = JsonDocument::Parse(body);
  if (document) {
    anomalies->NoteAll(document->anomalies());
    view->end_marker = true;
    ReadChatDocument(document->root(), view, anomalies);
    return {.whole = true};
  }
  if (IsNdjson(body)) {
    anomalies->Note("ndjson");
    return {.readable = false};
  }
  anomalies->Note("json_error");
  const internal::Utf8Faults faults = internal::FindUtf8Faults(body);
  if (faults.incomplete) anomalies->Note("incomplete_utf8");
  if (faults.invalid) anomalies->Note("invalid_utf8");
  if (EndsInsideJson(body)) return {.detail = "cut_inside_document"};
  if (view->http_status < 300) view->error_kind = "malformed_body";
  return {.whole = true};
}

BytesVerdict ReadAnswer(const LastAttempt& answer, int64_t choices_asked, ModelView* view,
                        AnomalyList* anomalies) {
  switch (KindOf(answer)) {
    case BodyKind::kEmpty:
      anomalies->Note("empty_body");
      return {.detail = "empty_body"};
    case BodyKind::kEncoded: {
      std::string encoding = EncodingOf(answer);
      if (encoding.empty()) encoding = HeaderValue(answer.headers, "content-encoding");
      anomalies->Note("content_encoding:" + encoding);
      return {.readable = false};
    }
    case BodyKind::kNdjson:
      anomalies->Note("ndjson");
      return {.readable = false};
    case BodyKind::kDocument:
      return ReadDocument(answer.body, view, anomalies);
    case BodyKind::kStream: {
      ChatEnding ending = ReadChatStream(answer.body, choices_asked, view, anomalies);
      return {.whole = ending.whole, .detail = std::move(ending.detail)};
    }
    case BodyKind::kText:
      anomalies->Note("unexpected_text");
      if (view->http_status < 300) view->error_kind = "malformed_body";
      view->error_message = internal::CutAtCodePoint(answer.body, kMaxPlainErrorSize);
      return {.whole = true};
  }
  return {.readable = false};
}

LastAttempt AnswerOf(const Event& event) {
  // A record without an exchange (imported, or not from a transport) is one read of everything.
  if (event.exchange.empty()) return {.body = event.response.bytes};
  return FindLastAttempt(event.exchange, event.response.bytes);
}

std::optional<int64_t> FirstByteNs(const Exchange& exchange) {
  std::optional<int64_t> first;
  for (const ExchangeItem& item : exchange) {
    if (item.kind == ExchangeItemKind::kAttemptEnd) first.reset();
    if (item.kind == ExchangeItemKind::kBytes && item.size > 0 && !first) first = item.offset_ns;
  }
  return first;
}

bool IsFailedStatus(int32_t status) {
  return status != 0 && (status < 200 || status >= 300);
}

// The recorder saw the transport, so its word stands where it saw something go wrong. Where it saw
// a clean end, the bytes may know better.
void DecideEnd(const Event& event, const BytesVerdict& verdict, ModelView* view,
               AnomalyList* anomalies) {
  view->end_state = event.end_state;
  view->end_detail = event.end_detail;
  const bool failed = !view->error_kind.empty();
  if (event.end_state == EndState::kAbandonedByCaller && view->end_marker && !failed) {
    // Clients hang up when they have read the end mark.
    anomalies->Note("closed_after_end_mark");
    view->end_state = EndState::kComplete;
    view->end_detail.clear();
  } else if (event.end_state == EndState::kProviderError) {
    if (view->end_detail.empty()) view->end_detail = view->error_kind;
    if (!failed) view->error_kind = view->end_detail;
  } else if (event.end_state != EndState::kComplete) {
    return;
  } else if (failed) {
    view->end_state = EndState::kProviderError;
    view->end_detail = view->error_kind;
  } else if (event.response.cut) {
    view->end_state = EndState::kTruncatedByLimit;
  } else if (verdict.readable && !verdict.whole) {
    view->end_state = EndState::kTruncated;
    view->end_detail = verdict.detail;
  }
}

}  // namespace

ModelView ViewModelCall(const Event& event) {
  ModelView view;
  AnomalyList anomalies;
  view.dialect = DialectOf(event.provider, event.endpoint, event.request.bytes);
  const LastAttempt answer = AnswerOf(event);
  view.http_status = answer.status;
  view.first_byte_ns = FirstByteNs(event.exchange);

  BytesVerdict verdict{.readable = false};
  if (view.dialect == ModelDialect::kOpenAiChat) {
    const int64_t choices_asked = ReadChatRequest(event.request.bytes, &view, &anomalies);
    verdict = ReadAnswer(answer, choices_asked, &view, &anomalies);
  } else if (const auto request = JsonDocument::Parse(event.request.bytes)) {
    view.dialect = ModelDialect::kUnknown;  // Named by its path, and not read yet.
    view.asked_model = request->root()["model"].AsString();
  }
  if (IsFailedStatus(view.http_status) && view.error_kind.empty()) {
    view.error_kind = "http_" + std::to_string(view.http_status);
  }
  DecideEnd(event, verdict, &view, &anomalies);
  view.anomalies = anomalies.Take();
  return view;
}

}  // namespace reenact::schema
