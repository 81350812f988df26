// Model, tool and retrieval calls: which record answers a request, and why none does.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "replayer/internal/message_text.h"
#include "replayer/internal/session_state.h"

namespace reenact::replayer {
namespace {

using schema::EndState;
using schema::Event;
using schema::Message;

constexpr size_t kDifferenceLimit = 50;

// The record that answers `request`, among those of its address that are unused: of equal keys the
// first one that is equal in every member, else the first one.
std::optional<size_t> Match(const std::vector<TapeCall>& records, const std::vector<bool>& used,
                            const ComparableRequest& request) {
  std::optional<size_t> first;
  for (size_t i = 0; i < records.size(); ++i) {
    if (used[i] || records[i].request.key != request.key) continue;
    if (records[i].request.exact == request.exact) return i;
    if (!first) first = i;
  }
  return first;
}

// True when a record differs from the request in nothing but secrets that were unknown so far.
bool LearnSecrets(const Tape& tape, const std::vector<TapeCall>& records,
                  const std::vector<bool>& used, const ComparableRequest& request) {
  for (size_t i = 0; i < records.size(); ++i) {
    if (!used[i] && tape.LearnSecrets(records[i].request.bytes, request.bytes)) return true;
  }
  return false;
}

size_t CountEqual(const std::vector<TapeCall>& records, const ComparableRequest& request) {
  return static_cast<size_t>(
      std::count_if(records.begin(), records.end(),
                    [&](const TapeCall& record) { return record.request.key == request.key; }));
}

// The unused record whose request was cut, and of which the cut text is the beginning.
std::optional<size_t> MatchCut(const std::vector<TapeCall>& records, const std::vector<bool>& used,
                               const ComparableRequest& request) {
  for (size_t i = 0; i < records.size(); ++i) {
    const schema::Body& recorded = records[i].event->request;
    if (!used[i] && recorded.cut && request.bytes.starts_with(recorded.bytes)) return i;
  }
  return std::nullopt;
}

// The record to compare a miss with: an unused one as near as can be to the call's own position.
const TapeCall* Closest(const std::vector<TapeCall>& records, const std::vector<bool>& used,
                        size_t position) {
  const TapeCall* closest = nullptr;
  auto distance = std::pair<bool, size_t>();
  for (size_t i = 0; i < records.size(); ++i) {
    const size_t away = i > position ? i - position : position - i;
    const auto candidate = std::pair<bool, size_t>(used[i], away);
    if (closest != nullptr && !(candidate < distance)) continue;
    closest = &records[i];
    distance = candidate;
  }
  return closest;
}

// A record of the same name in another scope, one with the same key where there is one.
const TapeCall* FindElsewhere(const Tape& tape, const Address& address,
                              const ComparableRequest& request) {
  const TapeCall* found = nullptr;
  for (const auto& [other, records] : tape.calls()) {
    if (other.boundary != address.boundary || other.name != address.name) continue;
    for (const TapeCall& record : records) {
      if (record.request.key == request.key) return &record;
      if (found == nullptr) found = &record;
    }
  }
  return found;
}

Divergence StartDivergence(DivergenceKind kind, const MadeCall& call, size_t position) {
  Divergence divergence;
  divergence.kind = kind;
  divergence.scope = call.address.scope;
  divergence.boundary = call.address.boundary;
  divergence.name = call.address.name;
  divergence.ordinal = static_cast<int64_t>(position);
  divergence.key = schema::Shorten(call.request.key);
  return divergence;
}

Divergence Exhausted(const Tape& tape, const MadeCall& call, size_t position, size_t count) {
  Divergence divergence = StartDivergence(DivergenceKind::kExhausted, call, position);
  for (const TapeCall& record : tape.CallsAt(call.address)) {
    if (record.request.key == call.request.key) divergence.closest = tape.IndexOf(*record.event);
  }
  divergence.summary = "recording exhausted: no field differs from " +
                       EventText(*divergence.closest) +
                       "; all matching records already used (n=" + std::to_string(count) + ")";
  return divergence;
}

Divergence Ambiguous(const MadeCall& call, size_t position, std::vector<size_t> candidates) {
  Divergence divergence = StartDivergence(DivergenceKind::kAmbiguous, call, position);
  divergence.summary = "the tape holds unequal answers in one place:";
  for (const size_t event : candidates) {
    divergence.summary += (event == candidates.front() ? " " : ", ") + EventText(event);
  }
  divergence.candidates = std::move(candidates);
  return divergence;
}

Divergence Unusable(const Tape& tape, const MadeCall& call, size_t position,
                    const TapeCall& record) {
  Divergence divergence = StartDivergence(DivergenceKind::kUnusable, call, position);
  divergence.closest = tape.IndexOf(*record.event);
  divergence.summary = EventText(*divergence.closest) + " must not be served: " + record.unusable;
  return divergence;
}

schema::CallRequest ToCallRequest(const MadeCall& call, const ComparableRequest& request) {
  return {call.address.boundary, call.provider, request.endpoint, request.bytes};
}

Divergence Novel(const Tape& tape, const MadeCall& call, size_t position,
                 const std::vector<bool>& used) {
  Divergence divergence = StartDivergence(DivergenceKind::kNovelCall, call, position);
  const std::vector<TapeCall>& records = tape.CallsAt(call.address);
  const TapeCall* closest = Closest(records, used, position);
  if (closest == nullptr) {
    divergence.summary = "nothing is recorded at this address";
    closest = FindElsewhere(tape, call.address, call.request);
    if (closest != nullptr) {
      divergence.summary +=
          "; calls of this name were recorded in scope " + Quote(closest->event->scope);
    }
  } else {
    divergence.summary = "no record has this request";
  }
  if (closest == nullptr) return divergence;
  divergence.closest = tape.IndexOf(*closest->event);
  divergence.differences = schema::DiffRequests(
      ToCallRequest(call, closest->request), ToCallRequest(call, call.request), kDifferenceLimit);
  HideSecrets(&divergence.differences);
  divergence.summary += "; closest is " + EventText(*divergence.closest) + " (key " +
                        schema::Shorten(closest->request.key) + ")";
  if (divergence.differences.empty()) divergence.summary += ", in which no field differs";
  return divergence;
}

std::string LostText(const std::vector<schema::Gap>& gaps) {
  uint64_t count = 0;
  for (const schema::Gap& gap : gaps) count += gap.count;
  if (count == 0) return "";
  return "; " + std::to_string(count) + " records were lost while it was recorded (" +
         gaps.front().reason + ")";
}

// The recorded answer with other bytes in it: heads stay, the reads become one.
schema::Exchange WithBody(const schema::Exchange& recorded, size_t size) {
  schema::Exchange exchange;
  int64_t last_offset_ns = 0;
  for (const schema::ExchangeItem& item : recorded) {
    last_offset_ns = item.offset_ns;
    if (item.kind == schema::ExchangeItemKind::kAttemptEnd) exchange.clear();
    if (item.kind == schema::ExchangeItemKind::kHead) exchange.push_back(item);
  }
  schema::ExchangeItem bytes;
  bytes.kind = schema::ExchangeItemKind::kBytes;
  bytes.offset_ns = last_offset_ns;
  bytes.size = size;
  exchange.push_back(std::move(bytes));
  return exchange;
}

Message Serve(const MadeCall& call, uint64_t token) {
  const Event& event = *call.record->event;
  schema::OnTape answer;
  answer.call_token = token;
  if (call.overridden) {
    answer.exchange = WithBody(event.exchange, call.overridden->size());
    answer.body = *call.overridden;
    return answer;
  }
  answer.exchange = event.exchange;
  answer.body = event.response.bytes;
  answer.end_state = event.end_state;
  answer.end_detail = event.end_detail;
  return answer;
}

std::optional<Override::Target> OverrideTarget(schema::Boundary boundary) {
  if (boundary == schema::Boundary::kTool) return Override::Target::kTool;
  if (boundary == schema::Boundary::kRetrieval) return Override::Target::kRetrieval;
  return std::nullopt;
}

// How the end of a call differs from the recorded one; empty: it does not.
std::string EndDifference(const MadeCall& call) {
  const Event& event = *call.record->event;
  const uint64_t size = call.overridden ? call.overridden->size() : event.response.bytes.size();
  if (call.consumed_bytes != size) {
    return "the program read " + std::to_string(call.consumed_bytes) + " of the " +
           std::to_string(size) + " bytes that it read when it was recorded";
  }
  if (call.overridden) return "";
  if (event.end_state == EndState::kAbandonedByCaller && call.state == EndState::kComplete) {
    return "the program wanted more than the " + std::to_string(size) +
           " bytes after which it stopped reading when it was recorded";
  }
  if (event.end_state == EndState::kComplete && call.state == EndState::kError) {
    return "the program failed on an answer that it took when it was recorded";
  }
  return "";
}

schema::CallRequest ToCallRequest(const schema::BeginCall& call) {
  return {call.boundary, call.provider, call.endpoint, call.request};
}

}  // namespace

std::optional<size_t> SessionState::FindRecord(const schema::BeginCall& request, MadeCall* call) {
  const std::vector<TapeCall>& records = tape.CallsAt(call->address);
  const std::vector<bool>& used = call_used[call->address];
  std::optional<size_t> match = Match(records, used, call->request);
  if (!match && LearnSecrets(tape, records, used, call->request)) {
    call->request = tape.Comparable(ToCallRequest(request));
    match = Match(records, used, call->request);
  }
  return match ? match : MatchCut(records, used, call->request);
}

AnswerSource SessionState::SourceOf(const schema::BeginCall& request, const ForkPoint& fork) {
  MadeCall call;
  call.address = tape.AddressOf(request.scope, request.boundary, request.name);
  call.provider = request.provider;
  call.request = tape.Comparable(ToCallRequest(request));
  const std::lock_guard<std::mutex> lock(mutex);
  const std::optional<size_t> match = FindRecord(request, &call);
  const bool past = match && tape.IndexOf(*tape.CallsAt(call.address)[*match].event) >= fork.step;
  if (match && !past) return AnswerSource::kTape;
  if (fork.only_model && request.boundary != schema::Boundary::kModel) {
    return match ? AnswerSource::kTape : AnswerSource::kNowhere;
  }
  return past || Reached(fork.step) ? AnswerSource::kLive : AnswerSource::kNowhere;
}

bool SessionState::Reached(size_t step) const {
  for (const auto& [address, records] : tape.calls()) {
    const auto used = call_used.find(address);
    for (size_t i = 0; i < records.size(); ++i) {
      if (tape.IndexOf(*records[i].event) >= step) continue;
      if (used == call_used.end() || !used->second[i]) return false;
    }
  }
  return true;
}

Message SessionState::Refuse(MadeCall call, Divergence divergence) {
  call.refused_as = divergence.kind;
  Message answer = ToDiverged(divergence);
  if (divergences.size() < kKeptDivergences) calls.push_back(std::move(call));
  Diverge(std::move(divergence));
  return answer;
}

Message SessionState::Answer(const schema::BeginCall& request) {
  if (request.run_token != kRunToken) return NotThisRun();
  MadeCall call;
  call.address = tape.AddressOf(request.scope, request.boundary, request.name);
  call.provider = request.provider;
  call.request = tape.Comparable(ToCallRequest(request));
  call.endpoint = call.request.endpoint;

  const std::lock_guard<std::mutex> lock(mutex);
  call.sequence = ++last_sequence;
  const size_t position = calls_made[call.address]++;
  const std::vector<TapeCall>& records = tape.CallsAt(call.address);
  const std::optional<size_t> match = FindRecord(request, &call);
  if (!match) {
    const size_t equal_count = CountEqual(records, call.request);
    Divergence divergence = equal_count > 0 ? Exhausted(tape, call, position, equal_count)
                                            : Novel(tape, call, position, call_used[call.address]);
    divergence.summary += LostText(tape.run().gaps);
    return Refuse(std::move(call), std::move(divergence));
  }
  const TapeCall& record = records[*match];
  call_used[call.address][*match] = true;
  if (std::vector<uint64_t> ties = tape.TiesOf(call.address, record); !ties.empty()) {
    Divergence divergence = Ambiguous(call, position, std::move(ties));
    return Refuse(std::move(call), std::move(divergence));
  }
  if (!record.unusable.empty()) {
    Divergence divergence = Unusable(tape, call, position, record);
    return Refuse(std::move(call), std::move(divergence));
  }
  call.record = &record;
  call.record_index = *match;
  if (record.bag) ++interchangeable;
  if (const auto target = OverrideTarget(request.boundary)) {
    if (const Override* given = FindOverride(*target, request.name)) call.overridden = given->value;
  }
  calls.push_back(std::move(call));
  return Serve(calls.back(), calls.size());
}

Message SessionState::Answer(const schema::EndCall& request) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (request.call_token == 0 || request.call_token > calls.size()) return schema::Done{};
  MadeCall& call = calls[request.call_token - 1];
  if (call.ended || call.record == nullptr) return schema::Done{};
  call.ended = true;
  call.end_sequence = ++last_sequence;
  call.state = request.state;
  call.consumed_bytes = request.consumed_bytes;
  if (const std::string difference = EndDifference(call); !difference.empty()) {
    Divergence divergence;
    divergence.kind = DivergenceKind::kNotRead;
    divergence.scope = call.address.scope;
    divergence.boundary = call.address.boundary;
    divergence.name = call.address.name;
    divergence.ordinal = static_cast<int64_t>(call.record_index);
    divergence.key = schema::Shorten(call.request.key);
    divergence.closest = tape.IndexOf(*call.record->event);
    divergence.summary = EventText(*divergence.closest) + ": " + difference;
    Diverge(std::move(divergence));
  }
  return schema::Done{};
}

}  // namespace reenact::replayer
