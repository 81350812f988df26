#include "schema/model_view.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "schema/anthropic_messages.h"
#include "schema/gemini.h"
#include "schema/internal/anomaly_list.h"
#include "schema/internal/answer_body.h"
#include "schema/internal/answer_framing.h"
#include "schema/internal/request_target.h"
#include "schema/internal/utf8.h"
#include "schema/json_view.h"
#include "schema/ollama.h"
#include "schema/openai_chat.h"
#include "schema/openai_completions.h"
#include "schema/openai_embeddings.h"
#include "schema/openai_responses.h"

namespace reenact::schema {
namespace {

using internal::AnomalyList;
using internal::AnswerReader;
using internal::BodyKind;

constexpr size_t kMaxPlainErrorSize = 4096;

// How a dialect is read.
struct DialectForm {
  ModelDialect dialect;
  int64_t (*read_request)(JsonValue, ModelView*, AnomalyList*);
  std::unique_ptr<AnswerReader> (*make_reader)(int64_t, ModelView*, AnomalyList*);
};

constexpr std::array<DialectForm, 7> kForms = {{
    {ModelDialect::kOpenAiChat, ReadChatRequest, MakeChatReader},
    {ModelDialect::kOpenAiCompletions, ReadCompletionsRequest, MakeCompletionsReader},
    {ModelDialect::kOpenAiResponses, ReadResponsesRequest, MakeResponsesReader},
    {ModelDialect::kOpenAiEmbeddings, ReadEmbeddingsRequest, MakeEmbeddingsReader},
    {ModelDialect::kAnthropicMessages, ReadAnthropicRequest, MakeAnthropicReader},
    {ModelDialect::kGemini, ReadGeminiRequest, MakeGeminiReader},
    {ModelDialect::kOllama, ReadOllamaRequest, MakeOllamaReader},
}};

// Null for the unknown one.
const DialectForm* FormOf(ModelDialect dialect) {
  const auto* form = std::find_if(kForms.begin(), kForms.end(), [&](const DialectForm& known) {
    return known.dialect == dialect;
  });
  return form == kForms.end() ? nullptr : form;
}

// What the answer's bytes say about how it ended.
struct BytesVerdict {
  bool readable = true;  // False: they decide nothing.
  bool whole = false;
  std::string detail;
};

BytesVerdict VerdictOf(internal::AnswerEnding ending) {
  return {.whole = ending.whole, .detail = std::move(ending.detail)};
}

BytesVerdict ReadDocument(std::string_view body, AnswerReader* reader, ModelView* view,
                          AnomalyList* anomalies) {
  if (const auto document = JsonDocument::Parse(body)) {
    anomalies->NoteAll(document->anomalies());
    view->end_marker = true;
    reader->ReadDocument(document->root());
    return {.whole = true};
  }
  anomalies->Note("json_error");
  const internal::Utf8Faults faults = internal::FindUtf8Faults(body);
  if (faults.incomplete) anomalies->Note("incomplete_utf8");
  if (faults.invalid) anomalies->Note("invalid_utf8");
  if (internal::EndsInsideJson(body)) return {.detail = "cut_inside_document"};
  if (view->http_status < 300) view->error_kind = "malformed_body";
  return {.whole = true};
}

BytesVerdict ReadAnswer(const LastAttempt& answer, AnswerReader* reader, ModelView* view,
                        AnomalyList* anomalies) {
  switch (internal::KindOfBody(answer)) {
    case BodyKind::kEmpty:
      anomalies->Note("empty_body");
      return {.detail = "empty_body"};
    case BodyKind::kEncoded:
      anomalies->Note("content_encoding:" + internal::EncodingOf(answer));
      return {.readable = false};
    case BodyKind::kLines:
      if (view->dialect == ModelDialect::kOllama) {
        return VerdictOf(ReadJsonLines(answer.body, reader, view, anomalies));
      }
      anomalies->Note("ndjson");
      return {.readable = false};
    case BodyKind::kDocument:
      if (view->dialect == ModelDialect::kGemini && internal::IsList(answer.body)) {
        return VerdictOf(ReadJsonList(answer.body, reader, view, anomalies));
      }
      // The first line of a stream that stops there is a document, but not the answer.
      if (view->dialect == ModelDialect::kOllama && view->stream && view->http_status < 300) {
        return VerdictOf(ReadJsonLines(answer.body, reader, view, anomalies));
      }
      return ReadDocument(answer.body, reader, view, anomalies);
    case BodyKind::kEventStream:
      return VerdictOf(ReadEventStream(answer.body, reader, view, anomalies));
    case BodyKind::kText:
      anomalies->Note("unexpected_text");
      if (view->http_status < 300) view->error_kind = "malformed_body";
      view->error_message = internal::CutAtCodePoint(answer.body, kMaxPlainErrorSize);
      return {.whole = true};
  }
  return {.readable = false};
}

// Fills the request's half. Returns the number of choices asked for.
int64_t ReadRequest(const Event& event, const DialectForm* form, ModelView* view,
                    AnomalyList* anomalies) {
  int64_t choices_asked = 1;
  const auto request = JsonDocument::Parse(event.request.bytes);
  if (!request) {
    const bool is_fault = form != nullptr && !event.request.bytes.empty();
    if (is_fault) anomalies->Note("request:json_error");
  } else if (form == nullptr) {
    view->asked_model = request->root()["model"].AsString();
  } else {
    for (const std::string& anomaly : request->anomalies()) anomalies->Note("request:" + anomaly);
    choices_asked = form->read_request(request->root(), view, anomalies);
  }
  const internal::EndpointFacts facts = internal::FactsOfEndpoint(event.endpoint);
  if (view->asked_model.empty()) view->asked_model = facts.model;
  view->stream = view->stream || facts.streams;
  return choices_asked;
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

  const DialectForm* form = FormOf(view.dialect);
  const int64_t choices_asked = ReadRequest(event, form, &view, &anomalies);
  BytesVerdict verdict{.readable = false};
  if (form != nullptr) {
    const auto reader = form->make_reader(choices_asked, &view, &anomalies);
    verdict = ReadAnswer(answer, reader.get(), &view, &anomalies);
  }
  if (IsFailedStatus(view.http_status) && view.error_kind.empty()) {
    view.error_kind = "http_" + std::to_string(view.http_status);
  }
  DecideEnd(event, verdict, &view, &anomalies);
  view.anomalies = anomalies.Take();
  return view;
}

}  // namespace reenact::schema
