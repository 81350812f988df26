#include "replayer/tape.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "replayer/internal/message_text.h"
#include "schema/canonical_json.h"
#include "schema/json_view.h"
#include "schema/request_edit.h"

namespace reenact::replayer {
namespace {

using schema::Boundary;
using schema::EndState;
using schema::Event;

std::string WhyUnusable(const Event& event) {
  if (event.end_state == EndState::kIncomplete) {
    return "the recording process died before the call ended";
  }
  if (event.response.cut) return CutText("answer", event.response);
  if (event.request.cut) return CutText("request", event.request);
  if (event.end_state == EndState::kTruncatedByLimit) return "its bytes were cut by a limit";
  if (schema::BodySize(event.exchange) != event.response.bytes.size()) {
    return "the record is damaged: its reads do not add up to its answer";
  }
  return "";
}

bool BeginsBefore(const Event& a, const Event& b) {
  if (a.sequence != b.sequence) return a.sequence < b.sequence;
  return a.started.monotonic_ns < b.started.monotonic_ns;
}

// `a` began first. Sequence numbers tell; records from elsewhere may have only times.
bool Overlap(const Event& a, const Event& b) {
  if (a.end_sequence != 0) return b.sequence < a.end_sequence;
  if (a.end_state == EndState::kIncomplete) return true;  // It never ended.
  return b.started.monotonic_ns < a.started.monotonic_ns + a.elapsed_ns;
}

// Two records that claim the same place: a tape that was put together wrongly.
bool SamePlace(const Event& a, const Event& b) {
  return a.sequence == b.sequence && a.started == b.started;
}

bool SameAnswer(const Event& a, const Event& b) {
  return a.response.bytes == b.response.bytes && a.end_state == b.end_state &&
         a.end_detail == b.end_detail;
}

void NumberBags(std::vector<TapeCall>* calls, size_t* next_bag) {
  std::map<schema::RequestKey, std::vector<TapeCall*>> by_key;
  for (TapeCall& call : *calls) by_key[call.request.key].push_back(&call);
  for (auto& [key, equal] : by_key) {
    // Whatever overlaps the call that reached furthest so far belongs to its bag.
    TapeCall* furthest = equal.front();
    for (size_t i = 1; i < equal.size(); ++i) {
      TapeCall* call = equal[i];
      if (!Overlap(*furthest->event, *call->event)) {
        furthest = call;
        continue;
      }
      if (!furthest->bag) furthest->bag = (*next_bag)++;
      call->bag = furthest->bag;
      const bool further = call->event->end_sequence > furthest->event->end_sequence ||
                           call->event->end_state == EndState::kIncomplete;
      if (further) furthest = call;
    }
  }
}

}  // namespace

bool IsCall(Boundary boundary) {
  return boundary == Boundary::kModel || boundary == Boundary::kTool ||
         boundary == Boundary::kRetrieval;
}

std::string CanonicalContent(std::string_view bytes) {
  const std::unique_ptr<schema::JsonDocument> document = schema::JsonDocument::Parse(bytes);
  return document ? schema::CanonicalJson(document->root()) : std::string(bytes);
}

bool EqualContent(std::string_view a, std::string_view b) {
  return a == b || CanonicalContent(a) == CanonicalContent(b);
}

std::string Describe(const Address& address) {
  std::string text(schema::ToString(address.boundary));
  text += ' ' + Quote(address.name);
  text += address.scope.empty() ? " of the run" : " in scope " + Quote(address.scope);
  return text;
}

Tape::Tape(schema::RecordedRun run) : run_(std::move(run)), redactor_(run_.run) {
  std::stable_sort(run_.events.begin(), run_.events.end(), BeginsBefore);
  for (const Event& event : run_.events) {
    const Address address{event.scope, event.boundary, event.name};
    if (!IsCall(event.boundary)) {
      readings_[address].push_back(&event);
      continue;
    }
    TapeCall call;
    call.event = &event;
    // What the program asked; Reenact may have sent something else.
    const std::string asked = schema::WithoutEdits(event.request.bytes, event.meta);
    call.request = Comparable({event.boundary, event.provider, event.endpoint, asked});
    call.unusable = WhyUnusable(event);
    calls_[address].push_back(std::move(call));
  }
  size_t next_bag = 0;
  for (auto& [address, calls] : calls_) NumberBags(&calls, &next_bag);
}

const std::vector<TapeCall>& Tape::CallsAt(const Address& address) const {
  static const std::vector<TapeCall>* const kNone = new std::vector<TapeCall>();
  const auto found = calls_.find(address);
  return found == calls_.end() ? *kNone : found->second;
}

const std::vector<const Event*>& Tape::ReadingsAt(const Address& address) const {
  static const std::vector<const Event*>* const kNone = new std::vector<const Event*>();
  const auto found = readings_.find(address);
  return found == readings_.end() ? *kNone : found->second;
}

int64_t Tape::call_count() const {
  int64_t count = 0;
  for (const auto& [address, calls] : calls_) count += static_cast<int64_t>(calls.size());
  return count;
}

int64_t Tape::reading_count() const {
  int64_t count = 0;
  for (const auto& [address, readings] : readings_) count += static_cast<int64_t>(readings.size());
  return count;
}

int64_t Tape::model_attempt_count() const {
  int64_t count = 0;
  for (const Event& event : run_.events) {
    if (event.boundary == Boundary::kModel) count += schema::AttemptCount(event.exchange);
  }
  return count;
}

ComparableRequest Tape::Comparable(const schema::CallRequest& request) const {
  ComparableRequest result;
  result.bytes = Redact(request.body);
  result.endpoint = RedactUrl(request.endpoint);
  result.redacted = result.bytes != request.body;
  result.key = schema::KeyOf({request.boundary, request.provider, result.endpoint, result.bytes});
  result.exact = schema::HashBytes(CanonicalContent(result.bytes));
  return result;
}

size_t Tape::IndexOf(const Event& event) const {
  return static_cast<size_t>(&event - run_.events.data());
}

std::vector<size_t> Tape::TiesOf(const Address& address, const TapeCall& call) const {
  std::vector<size_t> ties;
  for (const TapeCall& other : CallsAt(address)) {
    if (&other == &call || other.request.key != call.request.key) continue;
    if (!SamePlace(*other.event, *call.event) || SameAnswer(*other.event, *call.event)) continue;
    ties.push_back(IndexOf(*other.event));
  }
  if (!ties.empty()) ties.insert(ties.begin(), IndexOf(*call.event));
  return ties;
}

std::string CutText(std::string_view what, const schema::Body& body) {
  return "the " + std::string(what) + " was cut at " + std::to_string(body.bytes.size()) + " of " +
         std::to_string(body.original_size) + " bytes";
}

std::string_view ComparablePart(const schema::Body& recorded, std::string_view expected,
                                std::string_view actual) {
  return recorded.cut ? actual.substr(0, expected.size()) : actual;
}

}  // namespace reenact::replayer
