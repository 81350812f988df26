#include "replayer/explain/decision.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "replayer/rerun/action.h"
#include "replayer/rerun/token_comparison.h"
#include "schema/model_view.h"
#include "schema/request_key.h"
#include "schema/request_settings.h"

namespace reenact::explain {
namespace {

std::vector<size_t> ModelCalls(const schema::RecordedRun& run) {
  std::vector<size_t> calls;
  for (size_t i = 0; i < run.events.size(); ++i) {
    if (run.events[i].boundary == schema::Boundary::kModel) calls.push_back(i);
  }
  return calls;
}

// A provider's default temperature is not known, and is not 0 at any of them.
bool Draws(const schema::RequestSettings& settings) {
  if (settings.seed || settings.top_k == 1) return false;
  return !settings.temperature || *settings.temperature > 0;
}

// The margin of the closer of the two records: near in one is a near-tie.
std::optional<double> SmallerMargin(const rerun::Parting& parting) {
  if (!parting.recorded_margin) return parting.new_margin;
  if (!parting.new_margin) return parting.recorded_margin;
  return std::fabs(*parting.recorded_margin) < std::fabs(*parting.new_margin)
             ? parting.recorded_margin
             : parting.new_margin;
}

}  // namespace

std::optional<DecisiveCalls> FindDecisiveCalls(const schema::RecordedRun& incident,
                                               const schema::RecordedRun& reference) {
  const std::vector<size_t> a = ModelCalls(incident);
  const std::vector<size_t> b = ModelCalls(reference);
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (rerun::ActionOf(schema::ViewModelCall(incident.events[a[i]])) !=
        rerun::ActionOf(schema::ViewModelCall(reference.events[b[i]]))) {
      return DecisiveCalls{a[i], b[i], i};
    }
  }
  return std::nullopt;
}

RecordEvidence EvidenceOf(const schema::Event& incident, const schema::Event& reference) {
  RecordEvidence evidence;
  const schema::ModelView a = schema::ViewModelCall(incident);
  const schema::ModelView b = schema::ViewModelCall(reference);
  evidence.same_request =
      schema::KeyOf(incident.boundary, incident.provider, incident.request.bytes) ==
      schema::KeyOf(reference.boundary, reference.provider, reference.request.bytes);
  evidence.draws = Draws(schema::SettingsOf(incident.request.bytes));
  evidence.hosted = !IsOwnEngine(a.system_fingerprint);
  evidence.incident_in_flight = incident.in_flight;
  evidence.reference_in_flight = reference.in_flight;
  if (!evidence.same_request) return evidence;
  const rerun::TokenComparison comparison = rerun::CompareAnswers(a, b);
  if (comparison.basis == rerun::TokenBasis::kText) {
    evidence.missing = "no logprobs were recorded: how close the decision was is not known";
  }
  if (!comparison.parting) return evidence;
  evidence.token_index = comparison.parting->token_index;
  evidence.margin_nats = SmallerMargin(*comparison.parting);
  evidence.incident_token = comparison.parting->recorded.text;
  evidence.reference_token = comparison.parting->now.text;
  return evidence;
}

}  // namespace reenact::explain
