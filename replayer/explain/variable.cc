#include "replayer/explain/variable.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "clock_shim/frozen_process.h"
#include "replayer/explain/request_parts.h"
#include "schema/canonical_json.h"
#include "schema/json_view.h"
#include "schema/model_view.h"
#include "schema/recorded_command.h"
#include "schema/request_key.h"

namespace reenact::explain {
namespace {

using schema::Boundary;
using schema::Event;
using schema::RecordedRun;

// Values are shown to a reader, who needs to tell them apart and no more.
constexpr size_t kShownBytes = 160;

std::string Shown(std::string text) {
  if (text.size() <= kShownBytes) return text;
  text.resize(kShownBytes);
  return text + "...";
}

std::string_view TagOf(const schema::Tags& tags, std::string_view name) {
  for (const auto& [key, value] : tags) {
    if (key == name) return value;
  }
  return "";
}

std::string Canonical(const std::string& bytes) {
  const auto document = schema::JsonDocument::Parse(bytes);
  return document != nullptr ? schema::CanonicalJson(document->root()) : bytes;
}

VariableKind KindOf(Boundary boundary) {
  switch (boundary) {
    case Boundary::kTool:
      return VariableKind::kToolAnswer;
    case Boundary::kRetrieval:
      return VariableKind::kRetrieval;
    case Boundary::kRandom:
      return VariableKind::kRandom;
    case Boundary::kEnv:
      return VariableKind::kEnvironment;
    default:
      return VariableKind::kClock;
  }
}

// The differences of two runs, one subject a function.
class Differ {
 public:
  Differ(const RecordedRun& incident, const RecordedRun& reference, const DecisiveCalls& calls)
      : a_(incident),
        b_(reference),
        call_a_(incident.events[calls.incident]),
        call_b_(reference.events[calls.reference]),
        before_a_(calls.incident),
        before_b_(calls.reference) {}

  std::vector<Variable> Run(bool parts) {
    CompareInput();
    CompareReadings();
    CompareAnswers();
    CompareComponents();
    CompareRequests(parts);
    CompareIdentity();
    CompareCode();
    std::stable_sort(out_.begin(), out_.end(), [](const Variable& x, const Variable& y) {
      return std::tie(x.kind, x.name) < std::tie(y.kind, y.name);
    });
    const auto same = [](const Variable& x, const Variable& y) {
      return x.kind == y.kind && x.name == y.name;
    };
    out_.erase(std::unique(out_.begin(), out_.end(), same), out_.end());
    return std::move(out_);
  }

 private:
  void Add(VariableKind kind, std::string name, std::string a, std::string b) {
    out_.push_back({kind, std::move(name), Shown(std::move(a)), Shown(std::move(b))});
  }

  // Both must tell for a proof; where neither does there is nothing to say.
  void AddIdentity(VariableKind kind, const std::string& a, const std::string& b) {
    if (a == b) return;
    Add(kind, "", a.empty() ? "(not told)" : a, b.empty() ? "(not told)" : b);
    if (a.empty() || b.empty()) out_.back().changed = Changed::kPossible;
  }

  void CompareInput() {
    const auto command_a = schema::CommandOf(a_.run);
    const auto command_b = schema::CommandOf(b_.run);
    if (!command_a || !command_b) {
      if (Canonical(a_.run.input.bytes) == Canonical(b_.run.input.bytes)) return;
      return Add(VariableKind::kInput, "", a_.run.input.bytes, b_.run.input.bytes);
    }
    const auto words = [](const schema::RecordedCommand& command) {
      std::string text;
      for (const std::string& word : command.argv) text += (text.empty() ? "" : " ") + word;
      return text;
    };
    if (command_a->argv != command_b->argv) {
      Add(VariableKind::kInput, "", words(*command_a), words(*command_b));
    }
  }

  using Values = std::map<std::pair<Boundary, std::string>, std::vector<uint64_t>>;

  static Values ReadingsOf(const RecordedRun& run, size_t before) {
    Values values;
    for (size_t i = 0; i < before; ++i) {
      const Event& event = run.events[i];
      if (event.boundary < Boundary::kClock) continue;
      values[{event.boundary, event.name}].push_back(event.value);
    }
    return values;
  }

  void CompareReadings() {
    const Values a = ReadingsOf(a_, before_a_);
    const Values b = ReadingsOf(b_, before_b_);
    for (const auto& [place, values] : a) {
      const auto other = b.find(place);
      if (other == b.end() || other->second == values) continue;
      Add(KindOf(place.first), place.second, std::to_string(values.front()),
          std::to_string(other->second.front()));
    }
    // What the clock of a recorded command read lies in components of its own.
    const auto tape_of = [](const RecordedRun& run) {
      std::string bytes;
      for (const schema::Component& component : run.components) {
        if (clock_shim::IsTape(component)) bytes += component.content.bytes;
      }
      return bytes;
    };
    const std::string tape_a = tape_of(a_);
    const std::string tape_b = tape_of(b_);
    if (tape_a == tape_b || tape_a.empty() || tape_b.empty()) return;
    Add(VariableKind::kClock, "", std::to_string(a_.run.started.wall_ns),
        std::to_string(b_.run.started.wall_ns));
  }

  // Answers to equal requests. A request that one run alone made is a consequence, and no cause.
  void CompareAnswers() {
    using Place = std::tuple<Boundary, std::string, schema::RequestKey>;
    std::map<Place, std::vector<const Event*>> of_b;
    const auto place = [](const Event& event) {
      return Place(
          event.boundary, event.name,
          schema::KeyOf({event.boundary, event.provider, event.endpoint, event.request.bytes}));
    };
    for (size_t i = 0; i < before_b_; ++i) {
      const Event& event = b_.events[i];
      if (IsAsked(event)) of_b[place(event)].push_back(&event);
    }
    std::map<Place, size_t> seen;
    for (size_t i = 0; i < before_a_; ++i) {
      const Event& event = a_.events[i];
      if (!IsAsked(event)) continue;
      const Place where = place(event);
      const size_t ordinal = seen[where]++;
      const auto other = of_b.find(where);
      if (other == of_b.end() || ordinal >= other->second.size()) continue;
      const Event& match = *other->second[ordinal];
      if (Canonical(event.response.bytes) == Canonical(match.response.bytes)) continue;
      Add(KindOf(event.boundary), event.name, event.response.bytes, match.response.bytes);
    }
  }

  static bool IsAsked(const Event& event) {
    return event.boundary == Boundary::kTool || event.boundary == Boundary::kRetrieval;
  }

  void CompareComponents() {
    std::map<std::pair<std::string, std::string>, const schema::Component*> of_b;
    for (const schema::Component& component : b_.components) {
      of_b[{component.kind, component.name}] = &component;
    }
    for (const schema::Component& component : a_.components) {
      if (clock_shim::IsTape(component)) continue;
      const auto other = of_b.find({component.kind, component.name});
      if (other == of_b.end()) continue;
      const schema::Component& match = *other->second;
      if (component.version == match.version && component.content.bytes == match.content.bytes) {
        continue;
      }
      const bool code = component.kind == "application";
      Add(code ? VariableKind::kOwnCode : VariableKind::kComponent,
          code ? "" : component.kind + " " + component.name,
          component.version.empty() ? component.content.bytes : component.version,
          match.version.empty() ? match.content.bytes : match.version);
    }
  }

  void CompareRequests(bool parts) {
    for (const PartDifference& part :
         DifferingParts(call_a_.request.bytes, call_b_.request.bytes)) {
      VariableKind kind = VariableKind::kMessage;
      if (part.name == "model") {
        kind = VariableKind::kAskedModel;
      } else if (part.name == "seed") {
        kind = VariableKind::kSamplingSeed;
      } else if (part.is_setting) {
        kind = VariableKind::kRequestMember;
      }
      if (kind == VariableKind::kMessage && !parts) continue;
      const bool named = kind == VariableKind::kMessage || kind == VariableKind::kRequestMember;
      Add(kind, named ? part.name : "", part.incident, part.reference);
    }
  }

  void CompareIdentity() {
    const schema::ModelView a = schema::ViewModelCall(call_a_);
    const schema::ModelView b = schema::ViewModelCall(call_b_);
    if (a.asked_model == b.asked_model) {
      AddIdentity(VariableKind::kServedModel, a.served_model, b.served_model);
    }
    const bool own = IsOwnEngine(a.system_fingerprint) && IsOwnEngine(b.system_fingerprint);
    AddIdentity(own ? VariableKind::kNumerics : VariableKind::kBackend, a.system_fingerprint,
                b.system_fingerprint);
    AddIdentity(VariableKind::kServiceTier, a.service_tier, b.service_tier);
    const auto cached = [](const schema::ModelView& view) {
      return view.usage.cached_tokens ? std::to_string(*view.usage.cached_tokens) + " tokens" : "";
    };
    AddIdentity(VariableKind::kCache, cached(a), cached(b));
    AddIdentity(VariableKind::kLoad, std::to_string(call_a_.in_flight) + " own calls beside it",
                std::to_string(call_b_.in_flight) + " own calls beside it");
  }

  void CompareCode() {
    AddIdentity(VariableKind::kOwnCode, std::string(TagOf(a_.run.process, "service_version")),
                std::string(TagOf(b_.run.process, "service_version")));
  }

  const RecordedRun& a_;
  const RecordedRun& b_;
  const Event& call_a_;
  const Event& call_b_;
  const size_t before_a_;
  const size_t before_b_;
  std::vector<Variable> out_;
};

}  // namespace

bool IsOwnEngine(std::string_view fingerprint) {
  return fingerprint.starts_with("n1-") || fingerprint.starts_with("stock-");
}

std::string_view ToString(VariableKind kind) {
  static constexpr std::string_view kNames[] = {
      "input",       "clock",       "random draw",     "environment",     "tool answer",
      "retrieval",   "component",   "request part",    "request setting", "sampling seed",
      "model name",  "alias moved", "backend changed", "service tier",    "weights or precision",
      "cache state", "load",        "own code"};
  return kNames[static_cast<size_t>(kind)];
}

std::string NameOf(const Variable& variable) {
  std::string text(ToString(variable.kind));
  if (!variable.name.empty()) text += " " + variable.name;
  return text;
}

std::vector<Variable> DifferencesOf(const RecordedRun& incident, const RecordedRun& reference,
                                    const DecisiveCalls& calls, bool parts) {
  return Differ(incident, reference, calls).Run(parts);
}

}  // namespace reenact::explain
