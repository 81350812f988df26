#include "tools/reenact/causes/explain_epochs.h"

#include <algorithm>
#include <utility>

#include "schema/model_view.h"
#include "store/reader/sighting.h"
#include "tools/reenact/io/time_text.h"

namespace reenact::tools {
namespace {

using explain::Variable;
using explain::VariableKind;
using identity::Change;
using identity::ChangeKind;

std::string ChangeText(const Change& change) {
  std::string text = std::string(ToString(change.kind)) + " " + change.value;
  if (!change.before.empty()) text += " after " + change.before;
  return text + " at " + FormatSeconds(change.at.at_wall_ns);
}

bool TellsWhoAnswers(VariableKind kind) {
  return kind == VariableKind::kServedModel || kind == VariableKind::kBackend ||
         kind == VariableKind::kNumerics;
}

// Epochs count from 1 for readers.
std::string EpochText(int64_t ended) {
  return "epoch " + std::to_string(ended + 1);
}

}  // namespace

bool EpochDifference::is_proof() const {
  return std::any_of(changes.begin(), changes.end(), [](const Change& change) {
    return change.kind == ChangeKind::kServedModel || change.kind == ChangeKind::kNovel;
  });
}

std::optional<EpochDifference> EpochsBetween(store::StoreReader* reader,
                                             const schema::Event& incident,
                                             const schema::Event& reference) {
  const std::string model = schema::ViewModelCall(incident).asked_model;
  if (incident.provider != reference.provider || incident.endpoint != reference.endpoint ||
      model != schema::ViewModelCall(reference).asked_model) {
    return std::nullopt;
  }
  const auto seen = reader->Seen({.calls = true});
  if (!seen.ok()) return std::nullopt;
  const std::vector<identity::EndpointTimeline> timelines = identity::TimelinesOf(*seen, "");
  const identity::EndpointTimeline* timeline =
      identity::FindTimeline(timelines, incident.provider, incident.endpoint, model);
  if (timeline == nullptr) return std::nullopt;
  const int64_t a = incident.started.wall_ns;
  const int64_t b = reference.started.wall_ns;
  EpochDifference epochs{.endpoint = timeline->endpoint,
                         .incident = timeline->EpochAt(a),
                         .reference = timeline->EpochAt(b)};
  for (const Change& change : timeline->changes) {
    const bool between =
        change.at.at_wall_ns > std::min(a, b) && change.at.at_wall_ns <= std::max(a, b);
    if (change.ends_epoch() && between) epochs.changes.push_back(change);
  }
  if (epochs.changes.empty()) return std::nullopt;
  return epochs;
}

void AddEpochs(const EpochDifference& epochs, std::vector<Variable>* variables) {
  if (!epochs.is_proof()) return;
  const bool told = std::any_of(variables->begin(), variables->end(), [](const Variable& variable) {
    return TellsWhoAnswers(variable.kind) && variable.changed == explain::Changed::kProved;
  });
  if (told) return;
  const auto known = std::find_if(
      variables->begin(), variables->end(),
      [](const Variable& variable) { return variable.kind == VariableKind::kBackend; });
  if (known != variables->end()) {
    known->changed = explain::Changed::kProved;
    return;
  }
  Variable epoch{.kind = VariableKind::kBackend,
                 .incident = EpochText(epochs.incident),
                 .reference = EpochText(epochs.reference)};
  const auto place =
      std::find_if(variables->begin(), variables->end(),
                   [](const Variable& variable) { return variable.kind > VariableKind::kBackend; });
  variables->insert(place, std::move(epoch));
}

std::string EpochSentence(const EpochDifference& epochs) {
  std::string text = "the runs lie in different epochs of " + epochs.endpoint +
                     " (incident: " + EpochText(epochs.incident) +
                     ", reference: " + EpochText(epochs.reference) + "): ";
  for (const Change& change : epochs.changes) {
    text += (&change == &epochs.changes.front() ? "" : ", ") + ChangeText(change);
  }
  return text + (epochs.is_proof()
                     ? "; that is proof that another system answered, and none of what it changed"
                     : "; that is evidence that another system answered, and no proof");
}

void WriteEpochs(const std::optional<EpochDifference>& epochs, JsonWriter* json) {
  json->Key("epochs");
  if (!epochs) return json->Null();
  json->BeginObject();
  json->IntField("incident", epochs->incident);
  json->IntField("reference", epochs->reference);
  json->BoolField("proof", epochs->is_proof());
  json->Key("changes");
  json->BeginArray();
  for (const Change& change : epochs->changes) {
    json->BeginObject();
    json->TextField("kind", ToString(change.kind));
    json->TextField("value", change.value);
    json->GivenTextField("before", change.before);
    json->TimeField("at", change.at.at_wall_ns);
    json->EndObject();
  }
  json->EndArray();
  json->EndObject();
}

}  // namespace reenact::tools
