#include "replayer/explain/recorded_experiment.h"

#include <algorithm>
#include <utility>

#include "replayer/explain/request_parts.h"
#include "replayer/rerun/question.h"
#include "schema/model_view.h"
#include "schema/recorded_command.h"
#include "schema/request_key.h"

namespace reenact::explain {
namespace {

using rerun::SampleStatus;
using schema::Boundary;
using schema::Event;

// A program that asks ever new things on the way to its decision is not followed for ever.
constexpr int kMostSteps = 32;

Trial NotPossible(std::string why) {
  return {.status = TrialStatus::kNotPossible, .text = std::move(why)};
}

Trial Failed(std::string why) {
  return {.status = TrialStatus::kFailed, .text = std::move(why)};
}

// Parts of the request, which are put in as it is asked.
bool IsOfRequest(VariableKind kind) {
  return kind == VariableKind::kMessage || kind == VariableKind::kRequestMember ||
         kind == VariableKind::kSamplingSeed || kind == VariableKind::kAskedModel;
}

// What the reference's server alone can give.
bool IsOfServer(VariableKind kind) {
  return kind == VariableKind::kBackend || kind == VariableKind::kNumerics ||
         kind == VariableKind::kServiceTier;
}

std::string PartOf(const Variable& variable) {
  if (variable.kind == VariableKind::kSamplingSeed) return "seed";
  if (variable.kind == VariableKind::kAskedModel) return "model";
  return variable.name;
}

// "prompt_template refund": the kind, then the name.
std::string ComponentName(const Variable& variable) {
  return variable.name.substr(variable.name.find(' ') + 1);
}

const schema::Component* FindComponent(const schema::RecordedRun& run, const Variable& variable) {
  for (const schema::Component& component : run.components) {
    if (component.kind + " " + component.name == variable.name) return &component;
  }
  return nullptr;
}

std::string QuotedJson(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

RecordedExperiment::RecordedExperiment(const RecordedPair& pair,
                                       const std::vector<Variable>& variables,
                                       ExperimentDoors doors)
    : pair_(pair), variables_(variables), doors_(std::move(doors)) {}

bool RecordedExperiment::IsOwn(VariableKind kind) const {
  if (IsOfRequest(kind)) return true;
  return kind == VariableKind::kServedModel || (IsOfServer(kind) && doors_.reference != nullptr);
}

bool RecordedExperiment::CanSet(size_t variable, std::string* why_not) const {
  const VariableKind kind = variables_[variable].kind;
  if (IsOfServer(kind)) {
    if (doors_.reference == nullptr) {
      *why_not = "no target serves it as the reference had it";
      return false;
    }
    // One server is one variable, whatever it is told by.
    for (size_t i = 0; i < variable; ++i) {
      if (!IsOfServer(variables_[i].kind)) continue;
      *why_not = "it comes with " + NameOf(variables_[i]);
      return false;
    }
    return true;
  }
  switch (kind) {
    case VariableKind::kCache:
    case VariableKind::kLoad:
      *why_not = "no request can ask for it";
      return false;
    case VariableKind::kOwnCode:
      *why_not = "run explain again with the other version of the program";
      return false;
    case VariableKind::kServedModel:
      if (variables_[variable].changed == Changed::kProved) return true;
      *why_not = "an answer does not tell its model";
      return false;
    default:
      break;
  }
  if (IsOfRequest(kind)) return true;
  if (!doors_.replay) {
    *why_not = "no program was named that would use it";
    return false;
  }
  const bool command = schema::CommandOf(pair_.incident->run).has_value();
  if (command && (kind == VariableKind::kInput || kind == VariableKind::kComponent)) {
    *why_not = "a recorded command has its own";
    return false;
  }
  return true;
}

std::vector<replayer::Override> RecordedExperiment::OverridesOf(const Setting& setting) const {
  std::vector<replayer::Override> overrides;
  if (schema::CommandOf(pair_.incident->run)) return overrides;
  // The program may have other components by now than either run.
  std::map<std::string, std::string> contents;
  for (const schema::Component& component : pair_.incident->components) {
    // What was removed or cut is no content that a program could go on with.
    if (component.content.redacted || component.content.cut) continue;
    contents[component.name] = component.content.bytes;
  }
  for (size_t i = 0; i < variables_.size(); ++i) {
    if (!setting[i] || variables_[i].kind != VariableKind::kComponent) continue;
    const schema::Component* component = FindComponent(*pair_.reference, variables_[i]);
    if (component != nullptr) contents[component->name] = component->content.bytes;
  }
  for (const auto& [name, content] : contents) {
    overrides.push_back({replayer::Override::Target::kComponent, name, content});
  }
  return overrides;
}

RecordedExperiment::Step RecordedExperiment::Advance(const Setting& setting,
                                                     schema::RecordedRun tape) {
  Step step;
  step.tape = std::move(tape);
  const std::vector<replayer::Override> overrides = OverridesOf(setting);
  for (int i = 0; i < kMostSteps; ++i) {
    const absl::StatusOr<replayer::ReplayReport> report = doors_.replay(step.tape, overrides);
    if (!report.ok()) {
      step.trial = NotPossible(std::string(report.status().message()));
      if (absl::IsCancelled(report.status())) step.trial.status = TrialStatus::kStopped;
      return step;
    }
    std::string unmatched;
    if (AdoptScopes(report->derived, &step.tape, &unmatched) > 0) continue;
    if (!Read(setting, *report, &step) && !unmatched.empty()) {
      step.trial = {.status = TrialStatus::kDone,
                    .text = "calls " + unmatched + " with what nobody recorded"};
    }
    return step;
  }
  step.trial = NotPossible("the program asks for ever more");
  return step;
}

bool RecordedExperiment::Read(const Setting& setting, const replayer::ReplayReport& report,
                              Step* step) const {
  for (size_t i = 0; i < variables_.size(); ++i) {
    if (variables_[i].kind != VariableKind::kComponent) continue;
    const schema::Component* used = FindComponent(report.derived, variables_[i]);
    const schema::Component* wanted =
        FindComponent(setting[i] ? *pair_.reference : *pair_.incident, variables_[i]);
    if (used != nullptr && wanted != nullptr && used->content.bytes != wanted->content.bytes) {
      step->trial = NotPossible("the program does not ask for the content of " +
                                ComponentName(variables_[i]) + ", and goes on with its own");
      return true;
    }
  }
  size_t model_calls = 0;
  for (const Event& event : report.derived.events) {
    if (event.boundary != Boundary::kModel) continue;
    if (event.end_detail.starts_with(kDivergedDetail)) {
      step->call = event;
      // A replay keeps none, and some decide what is answered.
      step->call->request_headers = pair_.incident->events[pair_.calls.incident].request_headers;
      step->decisive = model_calls == pair_.calls.ordinal;
      return true;
    }
    ++model_calls;
  }
  if (!report.bound) {
    step->trial = NotPossible("the program did not begin the run");
    return true;
  }
  step->trial = {.status = TrialStatus::kDone, .text = "ended before the decisive call"};
  return false;
}

RecordedExperiment::Step RecordedExperiment::RecordedStep(const Setting& setting) const {
  Step step;
  step.decisive = true;
  Event call = pair_.incident->events[pair_.calls.incident];
  const std::string& from = pair_.reference->events[pair_.calls.reference].request.bytes;
  for (size_t i = 0; i < variables_.size(); ++i) {
    if (!setting[i] || variables_[i].kind != VariableKind::kMessage) continue;
    std::optional<std::string> request = WithPart(call.request.bytes, from, variables_[i].name);
    if (!request) {
      step.trial = NotPossible("the request has no " + variables_[i].name);
      return step;
    }
    call.request.bytes = *std::move(request);
  }
  step.call = std::move(call);
  return step;
}

RecordedExperiment::Step RecordedExperiment::FirstStep(const Setting& setting) {
  if (!doors_.replay) return RecordedStep(setting);
  Setting of_program = setting;
  for (size_t i = 0; i < setting.size(); ++i) {
    if (IsOwn(variables_[i].kind)) of_program[i] = false;
  }
  const auto known = first_steps_.find(of_program);
  if (known != first_steps_.end()) return known->second;
  Step step = Advance(of_program, SpliceTape(pair_, variables_, of_program));
  const bool unchanged = std::find(of_program.begin(), of_program.end(), true) == of_program.end();
  if (unchanged && step.call && step.decisive) {
    const Event& recorded = pair_.incident->events[pair_.calls.incident];
    comes_to_recorded_request_ =
        schema::KeyOf(Boundary::kModel, step.call->provider,
                      Compose(of_program, step.call->request.bytes)) ==
        schema::KeyOf(Boundary::kModel, recorded.provider, recorded.request.bytes);
  }
  return first_steps_.emplace(std::move(of_program), std::move(step)).first->second;
}

std::string RecordedExperiment::Compose(const Setting& setting, std::string request) const {
  const std::string& incident = pair_.incident->events[pair_.calls.incident].request.bytes;
  const std::string& reference = pair_.reference->events[pair_.calls.reference].request.bytes;
  for (size_t i = 0; i < variables_.size(); ++i) {
    const Variable& variable = variables_[i];
    if (!IsOfRequest(variable.kind) || variable.kind == VariableKind::kMessage) continue;
    // The program may have another setting by now than either run.
    std::optional<std::string> with =
        WithPart(request, setting[i] ? reference : incident, PartOf(variable));
    if (with) request = *std::move(with);
  }
  for (size_t i = 0; i < variables_.size(); ++i) {
    if (!setting[i] || variables_[i].kind != VariableKind::kServedModel) continue;
    std::optional<std::string> with =
        rerun::WithMember(request, "model", QuotedJson(variables_[i].reference));
    if (with) request = *std::move(with);
  }
  return request;
}

rerun::Sample RecordedExperiment::Ask(const Setting& setting, const Event& call) {
  rerun::Question question = rerun::QuestionOf(call, {});
  question.request = Compose(setting, std::move(question.request));
  rerun::Target* target = doors_.target;
  for (size_t i = 0; i < variables_.size(); ++i) {
    if (setting[i] && IsOfServer(variables_[i].kind)) target = doors_.reference;
  }
  return target->Ask(question);
}

Trial RecordedExperiment::TrialOf(const rerun::Sample& sample) const {
  switch (sample.status) {
    case SampleStatus::kAnswered:
      break;
    case SampleStatus::kOverBudget:
    case SampleStatus::kInterrupted:
      return {.status = TrialStatus::kStopped, .text = std::string(ToString(sample.status))};
    case SampleStatus::kUnsupported:
      return NotPossible(sample.detail);
    default:
      return Failed(std::string(ToString(sample.status)) + ": " + sample.detail);
  }
  const absl::StatusOr<Judgement> judgement = doors_.judge(sample.view);
  if (!judgement.ok()) return Failed(std::string(judgement.status().message()));
  return {.status = TrialStatus::kDone, .outcome = judgement->outcome, .text = judgement->text};
}

Trial RecordedExperiment::Run(const Setting& setting) {
  Step step = FirstStep(setting);
  for (int i = 0; i < kMostSteps; ++i) {
    if (!step.call) return step.trial;
    rerun::Sample sample = Ask(setting, *step.call);
    if (step.decisive || !sample.answered()) return TrialOf(sample);
    Event answer = std::move(sample.event);
    // The record stands where the program asked, with what it asked.
    answer.scope = step.call->scope;
    answer.name = step.call->name;
    answer.provider = step.call->provider;
    answer.endpoint = step.call->endpoint;
    answer.request = step.call->request;
    AppendTo(&step.tape, std::move(answer));
    step = Advance(setting, std::move(step.tape));
  }
  return NotPossible("the program did not come to the decisive call");
}

}  // namespace reenact::explain
