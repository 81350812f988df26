#include "replayer/drift/drift_check.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace reenact::drift {
namespace {

using analysis::Measure;
using analysis::Status;
using analysis::TopTokens;

// A larger mean shift is no matter of rounding.
constexpr double kSmallShiftNats = 0.5;
// Of all probes; more that failed make a verdict one of the others alone.
constexpr double kMostFailed = 0.1;

using Strata = std::map<std::string, std::vector<TopTokens>>;  // By prompt.

std::set<std::string> FingerprintsOf(const std::vector<Window>& windows) {
  std::set<std::string> fingerprints;
  for (const Window& window : windows) {
    for (const Probe& probe : window.probes) fingerprints.insert(probe.fingerprint);
  }
  return fingerprints;
}

std::set<std::string> Common(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::set<std::string> common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(),
                        std::inserter(common, common.begin()));
  return common;
}

// Probes of the stratum alone, where there is one.
Strata StrataOf(const Window& window, const std::set<std::string>& stratum) {
  Strata strata;
  for (const Probe& probe : window.probes) {
    if (stratum.empty() || stratum.contains(probe.fingerprint))
      strata[probe.prompt].push_back(probe.top);
  }
  return strata;
}

Measure PromptStatistic(const std::vector<TopTokens>& a, const std::vector<TopTokens>& b) {
  // The permutation test is not asked: its p holds for independent samples only.
  return analysis::TestShift(a, b, {.exact_up_to = 0, .draws = 0}).statistic;
}

// Every prompt weighs the same.
Measure StatisticOf(const Strata& reference, const Strata& window) {
  std::vector<double> values;
  for (const auto& [prompt, samples] : window) {
    const auto there = reference.find(prompt);
    if (there == reference.end()) continue;
    const Measure statistic = PromptStatistic(there->second, samples);
    if (statistic.ok()) values.push_back(statistic.value());
  }
  if (values.empty()) return Status::kNoData;
  return analysis::MeanOf(values);
}

TopTokens MeanList(const std::vector<TopTokens>& samples) {
  TopTokens sums;
  std::map<std::string, int64_t> counts;
  for (const TopTokens& sample : samples) {
    for (const auto& [token, logprob] : sample) {
      if (logprob <= analysis::kCensoredFrom) continue;
      sums[token] += logprob;
      ++counts[token];
    }
  }
  for (auto& [token, sum] : sums) sum /= static_cast<double>(counts[token]);
  return sums;
}

// A baseline that does not move at all needs no gate: whatever else is seen is another endpoint.
bool StandsOut(const analysis::NoiseFloor& floor, double statistic,
               const analysis::DriftGates& gates) {
  if (floor.status == Status::kBitwiseChange && floor.mad.ok() && floor.median.value() == 0)
    return statistic > 0;
  return analysis::PassesGates(floor, statistic, gates);
}

analysis::Counts FingerprintCounts(const std::vector<Window>& windows) {
  analysis::Counts counts;
  for (const Window& window : windows) {
    for (const Probe& probe : window.probes) ++counts[probe.fingerprint];
  }
  return counts;
}

// The value of a field, by prompt, where all probes agree.
template <typename Value>
std::map<std::string, std::optional<Value>> FieldOf(const std::vector<Window>& windows,
                                                    Value Probe::*field) {
  std::map<std::string, std::optional<Value>> values;
  for (const Window& window : windows) {
    for (const Probe& probe : window.probes) {
      const auto [there, is_new] = values.try_emplace(probe.prompt, probe.*field);
      if (!is_new && there->second && *there->second != probe.*field) there->second = std::nullopt;
    }
  }
  return values;
}

template <typename Value>
bool FieldMoved(const Baseline& baseline, const std::vector<Window>& windows, Value Probe::*field,
                const Value& unknown) {
  const auto before = FieldOf(baseline.windows, field);
  for (const auto& [prompt, now] : FieldOf(windows, field)) {
    const auto there = before.find(prompt);
    if (there == before.end() || !there->second || !now) continue;
    if (*there->second != unknown && *now != unknown && *there->second != *now) return true;
  }
  return false;
}

void FindCauses(const Baseline& baseline, const std::vector<Window>& windows, DriftReport* report) {
  if (FieldMoved(baseline, windows, &Probe::served_model, std::string()))
    report->causes.push_back("served_model_changed");
  if (!report->fingerprints.novel.empty()) report->causes.push_back("fingerprint_changed");
  // Same prompt, another count: what stands around it, or how it is cut, is another.
  if (FieldMoved(baseline, windows, &Probe::prompt_tokens, int64_t{0}))
    report->causes.push_back("prompt_tokens_changed");
}

bool SameBestTokens(const DriftReport& report) {
  return std::all_of(report.prompts.begin(), report.prompts.end(),
                     [](const PromptShift& prompt) { return prompt.top.top1_same; });
}

std::string ConsistentWith(const DriftReport& report) {
  double largest = 0;
  for (const PromptShift& prompt : report.prompts) {
    if (prompt.statistic.ok()) largest = std::max(largest, prompt.statistic.value());
  }
  if (SameBestTokens(report) && largest < kSmallShiftNats)
    return "small and without another best token: consistent with quantisation or other hardware";
  return "large: consistent with another model, system prompt or template";
}

void Judge(const DriftOptions& options, DriftReport* report) {
  const bool moved = report->persistent >= options.gates.persistence;
  const bool identity_moved = !report->causes.empty();
  const auto has = [&](std::string_view cause) {
    return std::find(report->causes.begin(), report->causes.end(), cause) != report->causes.end();
  };
  if (moved) {
    report->verdict = Verdict::kChanged;
    const bool bitwise = report->windows.back().floor.status == Status::kBitwiseChange;
    if (bitwise) report->causes.push_back("bitwise_change");
    if (!has("fingerprint_changed")) report->causes.push_back("shift_without_fingerprint_change");
    report->sentence =
        absl::StrCat(has("fingerprint_changed") ? "novel fingerprint and logprob shift"
                                                : "logprob shift without fingerprint change",
                     "; ", ConsistentWith(*report));
    return;
  }
  if (identity_moved) {
    report->verdict = Verdict::kChanged;
    report->sentence = absl::StrCat(
        has("served_model_changed")  ? "the name came to another model"
        : has("fingerprint_changed") ? "novel fingerprint"
                                     : "the prompt's tokens are counted differently",
        report->persistent == 0 ? ", logprobs unchanged" : ", and logprobs may be moving");
    return;
  }
  if (report->persistent > 0) {
    report->sentence =
        absl::StrCat("above the noise floor in the last ", report->persistent, " of ",
                     options.gates.persistence, " windows that a change needs");
    return;
  }
  if (static_cast<int64_t>(report->windows.size()) < options.gates.persistence) {
    report->sentence =
        absl::StrCat("a change could not have been told from ", report->windows.size(),
                     " windows: it needs ", options.gates.persistence);
    return;
  }
  report->verdict = Verdict::kNoChange;
  report->sentence = "within the noise floor of the baseline";
}

}  // namespace

std::string_view ToString(Verdict verdict) {
  switch (verdict) {
    case Verdict::kNoChange:
      return "no_change";
    case Verdict::kChanged:
      return "changed";
    case Verdict::kInconclusive:
      break;
  }
  return "inconclusive";
}

absl::Status Comparable(const Baseline& baseline, const std::vector<Window>& windows,
                        const DriftOptions& options) {
  const auto refuse = [](std::string text) {
    return absl::FailedPreconditionError(std::move(text));
  };
  const Probe* before = nullptr;
  std::set<std::string> prompts;
  for (const Window& window : baseline.windows) {
    for (const Probe& probe : window.probes) {
      before = &probe;
      prompts.insert(probe.prompt);
    }
  }
  if (before == nullptr) return refuse("the baseline has no probe");
  bool common_prompt = false;
  for (const Window& window : windows) {
    for (const Probe& probe : window.probes) {
      common_prompt = common_prompt || prompts.contains(probe.prompt);
      if (probe.scaled != before->scaled)
        return refuse("raw logprobs are not compared with scaled ones");
      if (probe.temperature != before->temperature)
        return refuse(absl::StrCat("the baseline was taken at temperature ", before->temperature,
                                   ", and these probes at ", probe.temperature));
      if (probe.top_count != before->top_count)
        return refuse(absl::StrCat("the baseline asked for ", before->top_count,
                                   " alternatives, and these probes for ", probe.top_count));
    }
  }
  if (!common_prompt) return refuse("no prompt of the baseline was probed");
  if (!options.across_epochs &&
      Common(FingerprintsOf(baseline.windows), FingerprintsOf(windows)).empty()) {
    return refuse(absl::StrCat("every fingerprint of the baseline is gone (now ",
                               *FingerprintsOf(windows).begin(), "): it is void"));
  }
  return absl::OkStatus();
}

DriftReport Check(const Baseline& baseline, const std::vector<Window>& windows,
                  const DriftOptions& options) {
  DriftReport report;
  const std::set<std::string> before = FingerprintsOf(baseline.windows);
  const std::set<std::string> now = FingerprintsOf(windows);
  const std::set<std::string> common = Common(before, now);
  // Like with like; where nothing is alike, or all is, everything.
  if (!common.empty() && (common.size() < before.size() || common.size() < now.size()))
    report.stratum = common;
  report.fingerprints = analysis::CompareFingerprints(FingerprintCounts(baseline.windows),
                                                      FingerprintCounts(windows));

  const Strata reference = StrataOf(baseline.windows.front(), report.stratum);
  for (size_t i = 1; i < baseline.windows.size(); ++i) {
    const Measure statistic = StatisticOf(reference, StrataOf(baseline.windows[i], report.stratum));
    if (statistic.ok()) report.null.push_back(statistic.value());
  }
  for (const Window& window : windows) {
    report.probe_count += static_cast<int64_t>(window.probes.size());
    report.failed_probes += window.failed;
    WindowJudgement judgement{.at_wall_ns = window.at_wall_ns};
    judgement.statistic = StatisticOf(reference, StrataOf(window, report.stratum));
    if (judgement.statistic.ok()) {
      judgement.floor = analysis::JudgeAgainstBaselines(report.null, judgement.statistic.value());
      judgement.stands_out = StandsOut(judgement.floor, judgement.statistic.value(), options.gates);
    }
    report.persistent = judgement.stands_out ? report.persistent + 1 : 0;
    report.windows.push_back(std::move(judgement));
  }
  if (windows.empty() || !report.windows.back().statistic.ok() || report.null.empty()) {
    report.sentence = report.null.empty() ? "the baseline has too few windows"
                                          : "the last window has no probe to compare";
    return report;
  }
  for (const auto& [prompt, samples] : StrataOf(windows.back(), report.stratum)) {
    const auto there = reference.find(prompt);
    if (there == reference.end()) continue;
    report.prompts.push_back({prompt, PromptStatistic(there->second, samples),
                              analysis::CompareTop(MeanList(there->second), MeanList(samples))});
    report.invalid_probes +=
        analysis::TestShift(there->second, samples, {.exact_up_to = 0, .draws = 0}).invalid_samples;
  }
  const int64_t asked = report.probe_count + report.failed_probes;
  if (static_cast<double>(report.failed_probes) > kMostFailed * static_cast<double>(asked)) {
    report.sentence = absl::StrCat(report.failed_probes, " of ", asked,
                                   " probes were not answered, or without logprobs");
    return report;
  }
  FindCauses(baseline, windows, &report);
  Judge(options, &report);
  return report;
}

}  // namespace reenact::drift
