#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "replayer/internal/session_report.h"
#include "schema/varint.h"

namespace reenact::replayer {
namespace {

using schema::Event;

// Hashes fields so that no two lists of them read alike.
class FieldHash {
 public:
  void Number(uint64_t value) {
    std::string bytes;
    schema::PutVarint(&bytes, value);
    hash_.Update(bytes);
  }

  void Text(std::string_view text) {
    Number(text.size());
    hash_.Update(text);
  }

  void Place(const Address& address) {
    Text(address.scope);
    Number(static_cast<uint64_t>(address.boundary));
    Text(address.name);
  }

  std::string Finish() { return schema::ToHex(hash_.Finish()); }

 private:
  schema::Sha256 hash_;
};

std::string_view ServedBody(const MadeCall& call) {
  if (call.overridden) return *call.overridden;
  return call.record == nullptr ? std::string_view() : call.record->event->response.bytes;
}

// Statuses and cuts, without the times at which they came.
void AddExchange(const schema::Exchange& exchange, FieldHash* hash) {
  hash->Number(exchange.size());
  for (const schema::ExchangeItem& item : exchange) {
    hash->Number(static_cast<uint64_t>(item.kind));
    hash->Number(item.size);
    hash->Number(static_cast<uint64_t>(static_cast<uint32_t>(item.status)));
    hash->Text(item.detail);
  }
}

void AddCall(const MadeCall& call, FieldHash* hash) {
  hash->Place(call.address);
  hash->Text(schema::AsBytes(call.request.key.digest));
  if (call.record == nullptr) {
    hash->Text(ToString(call.refused_as));
    return;
  }
  const Event& event = *call.record->event;
  hash->Text("served");
  hash->Text(ServedBody(call));
  if (!call.overridden) AddExchange(event.exchange, hash);
  hash->Text(schema::DescribeEnd(event.end_state, event.end_detail));
  hash->Number(call.consumed_bytes);
}

std::vector<const MadeCall*> CallsByAddress(const std::vector<MadeCall>& calls) {
  std::vector<const MadeCall*> sorted;
  for (const MadeCall& call : calls) sorted.push_back(&call);
  // Refused calls have no place on the tape: they come last, by key.
  const auto place = [](const MadeCall* call) {
    return std::tuple<const Address&, bool, size_t, const schema::RequestKey&>(
        call->address, call->record == nullptr, call->record_index, call->request.key);
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const MadeCall* a, const MadeCall* b) { return place(a) < place(b); });
  return sorted;
}

std::vector<const MadeReading*> ReadingsByAddress(const std::vector<MadeReading>& readings) {
  std::vector<const MadeReading*> sorted;
  for (const MadeReading& reading : readings) sorted.push_back(&reading);
  std::stable_sort(sorted.begin(), sorted.end(), [](const MadeReading* a, const MadeReading* b) {
    return std::tie(a->address, a->position) < std::tie(b->address, b->position);
  });
  return sorted;
}

Event DeriveCall(const MadeCall& call) {
  Event event;
  if (call.record != nullptr) event = *call.record->event;
  event.sequence = call.sequence;
  event.end_sequence = call.end_sequence;
  event.scope = call.address.scope;
  event.boundary = call.address.boundary;
  event.name = call.address.name;
  event.provider = call.provider;
  event.endpoint = call.endpoint;
  event.request = schema::Body();
  event.request.bytes = call.request.bytes;
  event.request.redacted = call.request.redacted;
  event.response.salt.reset();
  if (call.overridden) {
    event.response = schema::Body();
    event.response.bytes = *call.overridden;
    schema::ExchangeItem bytes;
    bytes.size = call.overridden->size();
    event.exchange = {bytes};
    event.end_state = schema::EndState::kComplete;
    event.end_detail.clear();
  }
  if (call.record == nullptr) {
    event.end_state = schema::EndState::kError;
    event.end_detail = "diverged:" + std::string(ToString(call.refused_as));
  } else if (call.ended && call.consumed_bytes < event.response.bytes.size()) {
    event.end_state = schema::EndState::kAbandonedByCaller;
  }
  return event;
}

Event DeriveReading(const MadeReading& reading) {
  Event event;
  if (reading.record != nullptr) event = *reading.record;
  event.sequence = reading.sequence;
  event.end_sequence = reading.sequence;
  event.scope = reading.address.scope;
  event.boundary = reading.address.boundary;
  event.name = reading.address.name;
  event.value = reading.value;
  event.end_state =
      reading.record != nullptr ? schema::EndState::kComplete : schema::EndState::kError;
  if (reading.record == nullptr) event.end_detail = "diverged:novel_reading";
  return event;
}

// What the program went on with, where that was given to it.
void UseOverride(const SessionState& session, schema::Component* component) {
  const std::optional<size_t> index =
      session.IndexOfOverride(Override::Target::kComponent, component->name);
  if (!index || !session.override_used[*index]) return;
  const std::string& value = session.options.overrides[*index].value;
  component->content = schema::Body();
  component->content.bytes = session.tape.Redact(value);
  component->content.redacted = component->content.bytes != value;
}

// An id of its own: no two replays end at the same nanosecond of both clocks with the same result.
schema::Ulid DeriveId(const schema::Ulid& parent, const std::string& fingerprint,
                      schema::Moment now) {
  FieldHash hash;
  hash.Text(parent.AsBytes());
  hash.Text(fingerprint);
  hash.Number(static_cast<uint64_t>(now.wall_ns));
  hash.Number(static_cast<uint64_t>(now.monotonic_ns));
  const std::string digest = hash.Finish();
  std::array<uint8_t, 10> entropy{};
  for (size_t i = 0; i < entropy.size(); ++i) {
    const auto nibble = [&](size_t at) {
      const char c = digest[at];
      return static_cast<uint8_t>(c <= '9' ? c - '0' : c - 'a' + 10);
    };
    entropy[i] = static_cast<uint8_t>(nibble(2 * i) << 4 | nibble(2 * i + 1));
  }
  return schema::MakeUlid(now.wall_ns / 1'000'000, entropy);
}

}  // namespace

std::string Fingerprint(const SessionState& session) {
  FieldHash hash;
  for (const MadeCall* call : CallsByAddress(session.calls)) AddCall(*call, &hash);
  for (const MadeReading* reading : ReadingsByAddress(session.readings)) {
    hash.Place(reading->address);
    hash.Number(reading->position);
    hash.Number(reading->value);
  }
  if (session.finish) {
    hash.Text(CanonicalContent(session.finish->output));
    hash.Number(static_cast<uint64_t>(session.finish->state));
  }
  return hash.Finish();
}

schema::RecordedRun DeriveRun(const SessionState& session, const ReplayReport& report,
                              schema::Moment now) {
  const schema::RecordedRun& tape = session.tape.run();
  schema::RecordedRun derived;
  derived.run = tape.run;
  derived.run.id = DeriveId(tape.run.id, report.fingerprint, now);
  derived.run.parent = tape.run.id;
  derived.run.origin = schema::RunOrigin::kReplay;
  derived.run.input.salt.reset();
  derived.run.started = now;
  // Of a run that is a replay itself, these say what that one came to.
  std::erase_if(derived.run.tags,
                [](const auto& tag) { return tag.first.starts_with("reenact."); });
  derived.run.tags.emplace_back("reenact.level", ToString(report.level));
  derived.run.tags.emplace_back("reenact.verdict", ToString(report.verdict));
  derived.run.tags.emplace_back("reenact.fingerprint", report.fingerprint);

  for (const MadeCall& call : session.calls) derived.events.push_back(DeriveCall(call));
  for (const MadeReading& reading : session.readings) {
    derived.events.push_back(DeriveReading(reading));
  }
  std::sort(derived.events.begin(), derived.events.end(),
            [](const Event& a, const Event& b) { return a.sequence < b.sequence; });
  for (Event& event : derived.events) {
    event.run = derived.run.id;
    event.started = now;
  }
  derived.components = session.components;
  for (schema::Component& component : derived.components) {
    component.at = now;
    UseOverride(session, &component);
  }
  if (session.finish) {
    schema::RunEnd end;
    end.run = derived.run.id;
    end.at = now;
    end.state = session.finish->state;
    end.detail = session.finish->detail;
    end.output.bytes = session.finish->output;
    end.output.redacted = session.output_redacted;
    derived.state = end.state;
    derived.end = std::move(end);
  }
  return derived;
}

}  // namespace reenact::replayer
