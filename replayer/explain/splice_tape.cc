#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "clock_shim/frozen_process.h"
#include "replayer/explain/recorded_experiment.h"
#include "schema/request_key.h"

namespace reenact::explain {
namespace {

using schema::Boundary;
using schema::Event;
using schema::RecordedRun;

// Equal requests to one thing, whatever the scope: scopes are keyed by ids that models make up.
using Asked = std::tuple<Boundary, std::string, schema::RequestKey>;
using Read = std::pair<Boundary, std::string>;

Asked AskedOf(const Event& event) {
  return {event.boundary, event.name,
          schema::KeyOf({event.boundary, event.provider, event.endpoint, event.request.bytes})};
}

bool IsReading(const Event& event) {
  return event.boundary >= Boundary::kClock;
}

// The variable that an event's value belongs to.
bool IsOf(const Variable& variable, const Event& event) {
  if (variable.name != event.name) return false;
  switch (variable.kind) {
    case VariableKind::kClock:
      return event.boundary == Boundary::kClock;
    case VariableKind::kRandom:
      return event.boundary == Boundary::kRandom;
    case VariableKind::kEnvironment:
      return event.boundary == Boundary::kEnv;
    case VariableKind::kToolAnswer:
      return event.boundary == Boundary::kTool;
    case VariableKind::kRetrieval:
      return event.boundary == Boundary::kRetrieval;
    default:
      return false;
  }
}

// The events of a run by what they answer, in order.
struct Index {
  std::map<Asked, std::vector<const Event*>> calls;
  std::map<Read, std::vector<const Event*>> readings;

  explicit Index(const RecordedRun& run) {
    for (const Event& event : run.events) {
      if (IsReading(event)) {
        readings[{event.boundary, event.name}].push_back(&event);
      } else {
        calls[AskedOf(event)].push_back(&event);
      }
    }
  }
};

template <typename Map, typename Key>
const Event* At(const Map& map, const Key& key, size_t ordinal) {
  const auto found = map.find(key);
  return found != map.end() && ordinal < found->second.size() ? found->second[ordinal] : nullptr;
}

class Splicer {
 public:
  Splicer(const RecordedPair& pair, const std::vector<Variable>& variables, const Setting& setting)
      : pair_(pair), variables_(variables), setting_(setting), other_(*pair.reference) {}

  RecordedRun Run() {
    RecordedRun tape = *pair_.incident;
    std::vector<Event> events;
    for (size_t i = 0; i < tape.events.size(); ++i) {
      Event event = tape.events[i];
      if (event.boundary == Boundary::kModel && i >= pair_.calls.incident) continue;
      Replace(&event);
      events.push_back(std::move(event));
    }
    AddOthers(&events);
    for (size_t i = 0; i < events.size(); ++i) {
      events[i].run = tape.run.id;
      events[i].sequence = 2 * i + 1;
      if (events[i].end_sequence != 0) events[i].end_sequence = 2 * i + 2;
    }
    tape.events = std::move(events);
    ReplaceRest(&tape);
    return tape;
  }

 private:
  bool FromReference(const Event& event) const {
    for (size_t i = 0; i < variables_.size(); ++i) {
      if (setting_[i] && IsOf(variables_[i], event)) return true;
    }
    return false;
  }

  bool FromReference(VariableKind kind) const {
    for (size_t i = 0; i < variables_.size(); ++i) {
      if (setting_[i] && variables_[i].kind == kind && variables_[i].name.empty()) return true;
    }
    return false;
  }

  void Replace(Event* event) {
    if (IsReading(*event)) {
      const Read read(event->boundary, event->name);
      const Event* match = At(other_.readings, read, seen_readings_[read]++);
      if (match != nullptr && FromReference(*event)) event->value = match->value;
      return;
    }
    const Asked asked = AskedOf(*event);
    const Event* match = At(other_.calls, asked, seen_calls_[asked]++);
    if (match == nullptr || !FromReference(*event)) return;
    event->response = match->response;
    event->exchange = match->exchange;
    event->end_state = match->end_state;
    event->end_detail = match->end_detail;
  }

  // Requests that only the reference made, and readings past the incident's: what was put in may
  // lead there.
  void AddOthers(std::vector<Event>* events) {
    const std::vector<Event>& all = pair_.reference->events;
    std::map<Asked, size_t> calls;
    std::map<Read, size_t> readings;
    for (size_t i = 0; i < all.size(); ++i) {
      const Event& event = all[i];
      if (event.boundary == Boundary::kModel && i >= pair_.calls.reference) continue;
      bool is_more = false;
      if (IsReading(event)) {
        const Read read(event.boundary, event.name);
        is_more = readings[read]++ >= seen_readings_[read];
      } else {
        const Asked asked = AskedOf(event);
        is_more = calls[asked]++ >= seen_calls_[asked];
      }
      if (is_more) events->push_back(event);
    }
  }

  void ReplaceRest(RecordedRun* tape) const {
    if (FromReference(VariableKind::kInput)) tape->run.input = pair_.reference->run.input;
    if (!FromReference(VariableKind::kClock)) return;
    // The readings of a recorded command's clock.
    std::erase_if(tape->components, clock_shim::IsTape);
    for (const schema::Component& component : pair_.reference->components) {
      if (clock_shim::IsTape(component)) tape->components.push_back(component);
    }
  }

  const RecordedPair& pair_;
  const std::vector<Variable>& variables_;
  const Setting& setting_;
  const Index other_;
  std::map<Asked, size_t> seen_calls_;
  std::map<Read, size_t> seen_readings_;
};

}  // namespace

void AppendTo(RecordedRun* tape, Event event) {
  event.run = tape->run.id;
  event.sequence = tape->events.empty() ? 1 : tape->events.back().sequence + 2;
  event.end_sequence = event.sequence + 1;
  tape->events.push_back(std::move(event));
}

size_t AdoptScopes(const RecordedRun& derived, RecordedRun* tape, std::string* unmatched) {
  size_t adopted = 0;
  const size_t recorded = tape->events.size();
  for (const Event& event : derived.events) {
    if (!event.end_detail.starts_with(kDivergedDetail)) continue;
    // What comes after a model call that nobody answered is a consequence of that.
    if (event.boundary == Boundary::kModel) break;
    const auto is_like = [&](const Event& other) {
      return IsReading(event) ? other.boundary == event.boundary && other.name == event.name
                              : AskedOf(other) == AskedOf(event);
    };
    const Event* match = nullptr;
    size_t taken = 0;  // Of those like it, in its scope.
    for (const Event& other : tape->events) taken += other.scope == event.scope && is_like(other);
    for (size_t i = 0; i < recorded && match == nullptr; ++i) {
      const Event& other = tape->events[i];
      if (other.scope == event.scope || !is_like(other)) continue;
      if (taken == 0) match = &other;
      taken -= taken > 0;
    }
    if (match == nullptr) {
      if (!IsReading(event) && unmatched->empty()) *unmatched = event.name;
      continue;
    }
    Event copy = *match;
    copy.scope = event.scope;
    AppendTo(tape, std::move(copy));
    ++adopted;
  }
  return adopted;
}

RecordedRun SpliceTape(const RecordedPair& pair, const std::vector<Variable>& variables,
                       const Setting& from_reference) {
  return Splicer(pair, variables, from_reference).Run();
}

}  // namespace reenact::explain
