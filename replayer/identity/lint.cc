#include "replayer/identity/lint.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "replayer/identity/fingerprint_timeline.h"
#include "schema/model_name.h"

namespace reenact::identity {
namespace {

using store::Sighting;
using store::Trait;

// What was seen of one thing, over all hours.
struct Total {
  int64_t count = 0;
  Sighting last;

  void Add(int64_t more, const Sighting& sighting) {
    count += more;
    if (sighting.at_wall_ns >= last.at_wall_ns) last = sighting;
  }
};

struct ModelUse {
  Total calls;
  std::map<std::string, Sighting> served;  // The last sighting of each.
  bool is_invariant = true;                // Every answer came from profile n1.
  bool has_fingerprint = false;
  std::map<Trait, Total> traits;

  Total Of(Trait trait) const {
    const auto found = traits.find(trait);
    return found == traits.end() ? Total() : found->second;
  }
};

struct ModelName {
  std::string provider;
  std::string model;
  auto operator<=>(const ModelName&) const = default;
};

struct ServiceUse {
  std::string name;
  std::map<ModelName, ModelUse> models;
  std::map<std::string, Total> component_kinds;
  std::map<std::pair<Trait, std::string>, Total> traits;  // Those of no model, by subject.

  Total Of(Trait trait, const std::string& subject = "") const {
    const auto found = traits.find({trait, subject});
    return found == traits.end() ? Total() : found->second;
  }

  bool is_eval() const { return name.starts_with(kEvalService); }

  // A service of somebody's; not what Reenact asks itself.
  bool is_production() const {
    return !is_eval() && !name.starts_with(kBaselineService) && !name.starts_with(kCheckService);
  }
};

std::map<std::string, ServiceUse> UsesOf(const store::Sightings& sightings) {
  std::map<std::string, ServiceUse> uses;
  for (const auto& seen : sightings.calls) {
    ModelUse& use = uses[seen.what.service].models[{seen.what.provider, seen.what.asked_model}];
    use.calls.Add(seen.count, seen.last);
    if (!seen.what.served_model.empty()) {
      Sighting& last = use.served[seen.what.served_model];
      if (seen.last.at_wall_ns >= last.at_wall_ns) last = seen.last;
    }
    use.is_invariant = use.is_invariant && absl::StartsWith(seen.what.fingerprint, "n1-");
    use.has_fingerprint =
        use.has_fingerprint || seen.what.fingerprint_presence == schema::Presence::kValue;
  }
  for (const auto& seen : sightings.components)
    uses[seen.what.service].component_kinds[seen.what.kind].Add(seen.count, seen.last);
  for (const auto& seen : sightings.traits) {
    ServiceUse& use = uses[seen.what.service];
    if (seen.what.asked_model.empty() && seen.what.provider.empty())
      use.traits[{seen.what.trait, seen.what.subject}].Add(seen.count, seen.last);
    else
      use.models[{seen.what.provider, seen.what.asked_model}].traits[seen.what.trait].Add(
          seen.count, seen.last);
  }
  for (auto& [name, use] : uses) use.name = name;
  return uses;
}

// The findings of one service.
class ServiceLint {
 public:
  ServiceLint(const ServiceUse& use, std::vector<Finding>* findings)
      : use_(use), findings_(*findings) {}

  void Run() {
    for (const auto& [name, model] : use_.models) {
      FindFloatingAlias(name, model);
      FindMissingEvidence(name, model);
      FindFalseGuarantees(name, model);
      FindUnstablePrefix(name, model);
      FindPriceOfDeterminism(name, model);
      if (use_.is_eval()) FindLongAnswers(name, model);
    }
    if (use_.is_production()) {
      FindUnrecordedComponents();
      FindClockOutsideSeam();
      FindUnrecordedTools();
    }
    FindBatchingOff();
    FindWeakJudgements();
  }

 private:
  void Add(std::string rule, Severity severity, const Total& total, std::string text,
           std::string fix) {
    findings_.push_back({std::move(rule), severity, use_.name, std::move(text), std::move(fix),
                         total.count, total.last});
  }

  void FindFloatingAlias(const ModelName& name, const ModelUse& model) {
    const auto pinning = schema::ClassifyModelName(name.provider, name.model);
    if (pinning.pinning != schema::Pinning::kFloating || model.calls.count == 0) return;
    std::string target;
    const auto latest = std::max_element(
        model.served.begin(), model.served.end(),
        [](const auto& a, const auto& b) { return a.second.at_wall_ns < b.second.at_wall_ns; });
    if (latest != model.served.end() && latest->first != name.model) target = latest->first;
    Add("floating_alias", Severity::kWarning, model.calls,
        absl::StrCat(name.model, " is an alias that the provider moves (", pinning.evidence, ")",
                     model.served.size() > 1
                         ? absl::StrCat("; it came to ", model.served.size(), " models")
                         : ""),
        target.empty() ? "ask for a dated name" : absl::StrCat("ask for ", target));
  }

  void FindMissingEvidence(const ModelName& name, const ModelUse& model) {
    const Total logprobs = model.Of(Trait::kLogprobsMissing);
    if (logprobs.count > 0 && logprobs.count >= model.calls.count) {
      Add("logprobs_missing", model.has_fingerprint ? Severity::kNote : Severity::kWarning,
          logprobs,
          absl::StrCat("no call of ", name.model, " asked for logprobs",
                       model.has_fingerprint ? "" : ", and no answer has a fingerprint",
                       ": a near-tie or a moved model cannot be seen afterwards"),
          "ask for logprobs in a share of calls: logprob_rate of the recorder, where the provider "
          "has them");
    }
    const Total seeds = model.Of(Trait::kSeedMissing);
    if (seeds.count > 0) {
      Add("seed_missing", Severity::kNote, seeds,
          absl::StrCat("calls of ", name.model, " were sampled without a seed"),
          "draw a seed with run.Random and send it, where the provider takes one");
    }
  }

  void FindFalseGuarantees(const ModelName& name, const ModelUse& model) {
    if (model.is_invariant) return;
    for (const auto& [trait, setting] :
         {std::pair{Trait::kTemperatureZero, "temperature 0"},
          std::pair{Trait::kTopKOne, "top_k 1"}, std::pair{Trait::kTopPOne, "top_p 1"},
          std::pair{Trait::kSeedRepeated, "the same seed again"}}) {
      const Total total = model.Of(trait);
      if (total.count == 0) continue;
      Add("no_guarantee", Severity::kNote, total,
          absl::StrCat(setting, " was sent to ", name.model,
                       ": there it fixes how a token is drawn, not the logits, which follow load "
                       "and hardware"),
          "compare distributions, of 5 answers or more, or run the model on reenact engine, "
          "profile "
          "n1");
    }
  }

  void FindUnstablePrefix(const ModelName& name, const ModelUse& model) {
    const Total churn = model.Of(Trait::kPrefixChurn);
    if (churn.count == 0 || churn.count <= model.Of(Trait::kPrefixKept).count) return;
    Add("prefix_unstable", Severity::kWarning, churn,
        absl::StrCat("long prompts to ", name.model,
                     " begin alike but for times, ids or counters: no prompt cache can serve them"),
        "move what changes behind what stays");
  }

  void FindPriceOfDeterminism(const ModelName& name, const ModelUse& model) {
    if (model.calls.count == 0) return;
    const Total unseeded = model.Of(Trait::kSeedMissing);
    if (model.is_invariant && unseeded.count > 0) {
      Add("determinism_unused", Severity::kNote, unseeded,
          absl::StrCat(name.model,
                       " runs on profile n1, and samples without a seed: its price is paid, and "
                       "nothing is reproduced"),
          "send a seed; for many candidates, ensembles and creative work profile stock is cheaper");
    }
    if (!model.is_invariant && use_.is_eval()) {
      Add("determinism_worthwhile", Severity::kNote, model.calls,
          absl::StrCat("a baseline is judged on ", name.model,
                       ", which gives no equal bits: regression baselines, debugging, audit and "
                       "on-policy training are where determinism is worth its price"),
          "where the weights are open: reenact engine serve, profile n1");
    }
  }

  void FindLongAnswers(const ModelName& name, const ModelUse& model) {
    const Total total = model.Of(Trait::kLongAnswerAllowed);
    if (total.count == 0) return;
    Add("long_answers_in_eval", Severity::kWarning, total,
        absl::StrCat("an eval lets ", name.model, " answer with more than ",
                     store::kLongAnswerTokens,
                     " tokens: what comes late differs between equal systems"),
        "lower max_tokens to what the grader reads");
  }

  void FindUnrecordedComponents() {
    const Total runs = use_.Of(Trait::kRun);
    if (runs.count == 0 || use_.models.empty()) return;
    if (use_.component_kinds.empty()) {
      Add("components_missing", Severity::kWarning, runs,
          "no component is recorded: which prompt, index and tools shaped an answer is lost",
          "name them when a run begins, or record a manifest at deploy time: reenact snapshot");
    } else if (!use_.component_kinds.contains("application")) {
      Add("code_version_missing", Severity::kNote, runs, "no version of the code is recorded",
          "reenact snapshot in the checkout that is deployed, or Application(name, commit)");
    }
  }

  void FindClockOutsideSeam() {
    if (use_.Of(Trait::kClockRead).count > 0) return;
    for (const auto& [name, model] : use_.models) {
      const Total total = model.Of(Trait::kNamesItsDay);
      if (total.count == 0) continue;
      Add("clock_outside_seam", Severity::kWarning, total,
          absl::StrCat("requests to ", name.model,
                       " name the day on which they were made, and no reading of a clock is "
                       "recorded: on replay they would name another"),
          "read the time with run.Now, or record the program with reenact record");
    }
  }

  void FindUnrecordedTools() {
    for (const auto& [key, total] : use_.traits) {
      if (key.first != Trait::kToolAsked || key.second.empty()) continue;
      if (use_.Of(Trait::kToolRecorded, key.second).count > 0) continue;
      Add("tool_unrecorded", Severity::kWarning, total,
          absl::StrCat("the model asks for the tool ", key.second,
                       ", and no call of it is recorded: what it answered is lost"),
          "wrap it in run.CallTool");
    }
  }

  void FindBatchingOff() {
    for (const auto& [key, total] : use_.traits) {
      if (key.first != Trait::kBatchingOff) continue;
      Add("batching_off", Severity::kWarning, total,
          absl::StrCat(key.second,
                       " holds the server to one request at a time: throughput is lost, and "
                       "answers still follow prefix caches, chunked prefill and hardware"),
          "batch again; where equal bits are needed, a batch-invariant engine: reenact engine, "
          "profile n1");
    }
  }

  void FindWeakJudgements() {
    for (const auto& [key, total] : use_.traits) {
      if (key.first == Trait::kSingleJudgement) {
        Add("too_few_answers", Severity::kWarning, total,
            absl::StrCat(key.second,
                         " was judged from fewer than 5 answers a case: a case that "
                         "passes 9 times of 10 looks sound in one run"),
            "ask each case 5 times or more");
      }
      if (key.first == Trait::kBitwiseExpectation && !IsInvariant()) {
        Add("bitwise_on_hosted", Severity::kError, total,
            absl::StrCat(key.second, " expects equal bytes of a target that does not promise them"),
            "grade what the answer says (regex, JSON schema, judge), or ask reenact engine, "
            "profile n1");
      }
    }
  }

  bool IsInvariant() const {
    return std::all_of(use_.models.begin(), use_.models.end(),
                       [](const auto& entry) { return entry.second.is_invariant; });
  }

  const ServiceUse& use_;
  std::vector<Finding>& findings_;
};

}  // namespace

std::string_view ToString(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "";
}

std::vector<Finding> Lint(const store::Sightings& sightings, const std::string& service) {
  std::vector<Finding> findings;
  for (const auto& [name, use] : UsesOf(sightings)) {
    if (service.empty() || name == service) ServiceLint(use, &findings).Run();
  }
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return std::tuple(-static_cast<int>(a.severity), std::tie(a.service, a.rule)) <
           std::tuple(-static_cast<int>(b.severity), std::tie(b.service, b.rule));
  });
  return findings;
}

}  // namespace reenact::identity
