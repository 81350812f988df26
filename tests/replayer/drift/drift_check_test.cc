#include "replayer/drift/drift_check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "gtest/gtest.h"

#include "replayer/analysis/random.h"
#include "replayer/analysis/special_functions.h"

namespace reenact::drift {
namespace {

constexpr int kPrompts = 4;
constexpr int kTokens = 40;
constexpr size_t kTop = 20;

// An endpoint whose logits carry noise of one sample, and noise that all samples of a window share.
struct Endpoint {
  double sample_noise = 0.05;
  double window_noise = 0.25 * 0.05;
  std::string fingerprint = "fp_a";
  std::string served_model = "m-1";
  int64_t prompt_tokens = 12;
  double logits[kPrompts][kTokens] = {};
};

double Normal(analysis::RandomStream* random) {
  return analysis::NormalQuantile(random->Uniform());
}

Endpoint MakeEndpoint(analysis::RandomStream* random) {
  Endpoint endpoint;
  for (auto& prompt : endpoint.logits) {
    for (double& logit : prompt) logit = 2 * Normal(random);
    prompt[0] = 7;  // The text that is answered, before and after.
  }
  return endpoint;
}

// Other logits, `size` nats away.
Endpoint Moved(Endpoint endpoint, double size, analysis::RandomStream* random) {
  for (auto& prompt : endpoint.logits) {
    for (double& logit : prompt) logit += size * Normal(random);
  }
  return endpoint;
}

analysis::TopTokens TopOf(const double (&logits)[kTokens]) {
  double total = 0;
  for (const double logit : logits) total += std::exp(logit);
  std::vector<std::pair<double, int>> order;
  for (int t = 0; t < kTokens; ++t) order.emplace_back(logits[t] - std::log(total), t);
  std::partial_sort(order.begin(), order.begin() + kTop, order.end(), std::greater<>());
  analysis::TopTokens top;
  for (size_t i = 0; i < kTop; ++i) top["t" + std::to_string(order[i].second)] = order[i].first;
  return top;
}

Window Probed(const Endpoint& endpoint, int probes, int64_t at, analysis::RandomStream* random) {
  Window window{.at_wall_ns = at};
  for (int p = 0; p < kPrompts; ++p) {
    double shared[kTokens];
    for (int t = 0; t < kTokens; ++t)
      shared[t] = endpoint.logits[p][t] +
                  (endpoint.window_noise > 0 ? endpoint.window_noise * Normal(random) : 0);
    for (int i = 0; i < probes; ++i) {
      double logits[kTokens];
      for (int t = 0; t < kTokens; ++t)
        logits[t] =
            shared[t] + (endpoint.sample_noise > 0 ? endpoint.sample_noise * Normal(random) : 0);
      window.probes.push_back({.prompt = "p" + std::to_string(p),
                               .fingerprint = endpoint.fingerprint,
                               .served_model = endpoint.served_model,
                               .prompt_tokens = endpoint.prompt_tokens,
                               .top_count = kTop,
                               .top = TopOf(logits)});
    }
  }
  return window;
}

std::vector<Window> Windows(const Endpoint& endpoint, int count, int probes,
                            analysis::RandomStream* random) {
  std::vector<Window> windows;
  for (int w = 0; w < count; ++w) windows.push_back(Probed(endpoint, probes, w, random));
  return windows;
}

Baseline BaselineOf(const Endpoint& endpoint, analysis::RandomStream* random, int windows = 20) {
  return {.name = "canary", .windows = Windows(endpoint, windows, 5, random)};
}

// A monitor looks after every window: an alarm is a change that stood at any of them.
bool Alarms(const DriftReport& report, int64_t persistence) {
  int64_t running = 0;
  for (const WindowJudgement& window : report.windows) {
    running = window.stands_out ? running + 1 : 0;
    if (running >= persistence) return true;
  }
  return false;
}

bool Has(const DriftReport& report, const std::string& cause) {
  return std::find(report.causes.begin(), report.causes.end(), cause) != report.causes.end();
}

class Drift : public testing::Test {
 protected:
  analysis::RandomStream random_{7, 0};
  Endpoint endpoint_ = MakeEndpoint(&random_);
};

TEST_F(Drift, AnEndpointThatStaysIsWithinItsNoiseFloor) {
  const Baseline baseline = BaselineOf(endpoint_, &random_);
  const DriftReport report = Check(baseline, Windows(endpoint_, 5, 5, &random_));
  EXPECT_EQ(report.verdict, Verdict::kNoChange);
  EXPECT_EQ(report.null.size(), 19U);
  EXPECT_EQ(report.probe_count, 5 * 5 * kPrompts);
}

TEST_F(Drift, AShiftThatTheTextDoesNotShowIsToldWithItsCause) {
  const Baseline baseline = BaselineOf(endpoint_, &random_);
  const Endpoint moved = Moved(endpoint_, 0.15, &random_);
  const DriftReport report = Check(baseline, Windows(moved, 3, 5, &random_));
  EXPECT_EQ(report.verdict, Verdict::kChanged);
  EXPECT_TRUE(Has(report, "shift_without_fingerprint_change"));
  EXPECT_NE(report.sentence.find("quantisation"), std::string::npos);
  for (const PromptShift& prompt : report.prompts) {
    EXPECT_TRUE(prompt.top.top1_same);
    EXPECT_GT(prompt.top.tv_lower_bound.value(), 0);
  }
}

TEST_F(Drift, AChangeMustStay) {
  const Baseline baseline = BaselineOf(endpoint_, &random_);
  const Endpoint moved = Moved(endpoint_, 0.5, &random_);
  std::vector<Window> windows = Windows(endpoint_, 2, 5, &random_);
  for (Window& window : Windows(moved, 2, 5, &random_)) windows.push_back(std::move(window));
  const DriftReport report = Check(baseline, windows);
  EXPECT_EQ(report.verdict, Verdict::kInconclusive);
  EXPECT_EQ(report.persistent, 2);
  windows.push_back(Probed(endpoint_, 5, 9, &random_));
  EXPECT_EQ(Check(baseline, windows).verdict, Verdict::kNoChange);
}

TEST_F(Drift, TooFewWindowsCannotSayThatNothingChanged) {
  const Baseline baseline = BaselineOf(endpoint_, &random_);
  EXPECT_EQ(Check(baseline, Windows(endpoint_, 1, 5, &random_)).verdict, Verdict::kInconclusive);
  // Fewer baselines than alpha needs: no p is small enough, ever.
  const Baseline few = BaselineOf(endpoint_, &random_, 5);
  const Endpoint moved = Moved(endpoint_, 1, &random_);
  EXPECT_NE(Check(few, Windows(moved, 5, 5, &random_)).verdict, Verdict::kChanged);
}

TEST_F(Drift, AnEndpointWithoutNoiseThatGivesOtherBitsHasChanged) {
  endpoint_.sample_noise = endpoint_.window_noise = 0;
  const Baseline baseline = BaselineOf(endpoint_, &random_);
  const DriftReport same = Check(baseline, Windows(endpoint_, 3, 5, &random_));
  EXPECT_EQ(same.verdict, Verdict::kNoChange);
  EXPECT_EQ(same.windows.back().floor.status, analysis::Status::kBitStable);
  const Endpoint moved = Moved(endpoint_, 0.001, &random_);
  const DriftReport report = Check(baseline, Windows(moved, 3, 5, &random_));
  EXPECT_EQ(report.verdict, Verdict::kChanged);
  EXPECT_TRUE(Has(report, "bitwise_change"));
}

TEST_F(Drift, AMovedAliasAndAnotherTemplateAreNamed) {
  const Baseline baseline = BaselineOf(endpoint_, &random_);
  Endpoint other = Moved(endpoint_, 2, &random_);
  other.served_model = "m-2";
  other.prompt_tokens = 31;
  const DriftReport report = Check(baseline, Windows(other, 3, 5, &random_));
  EXPECT_EQ(report.verdict, Verdict::kChanged);
  EXPECT_TRUE(Has(report, "served_model_changed"));
  EXPECT_TRUE(Has(report, "prompt_tokens_changed"));
  EXPECT_NE(report.sentence.find("another model"), std::string::npos);
}

TEST_F(Drift, AFingerprintEpochVoidsABaseline) {
  const Baseline baseline = BaselineOf(endpoint_, &random_);
  Endpoint other = endpoint_;
  other.fingerprint = "fp_b";
  std::vector<Window> windows = Windows(other, 3, 5, &random_);
  const absl::Status refused = Comparable(baseline, windows, {});
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_NE(std::string(refused.message()).find("fp_b"), std::string::npos);
  EXPECT_TRUE(Comparable(baseline, windows, {.across_epochs = true}).ok());
  const DriftReport report = Check(baseline, windows, {.across_epochs = true});
  EXPECT_EQ(report.verdict, Verdict::kChanged);
  EXPECT_EQ(report.sentence, "novel fingerprint, logprobs unchanged");
}

TEST_F(Drift, WhereOldReplicasStillAnswerTheyAloneAreCompared) {
  const Baseline baseline = BaselineOf(endpoint_, &random_);
  Endpoint other = Moved(endpoint_, 1, &random_);
  other.fingerprint = "fp_b";
  std::vector<Window> windows = Windows(endpoint_, 3, 5, &random_);
  for (Window& window : windows) {
    for (Probe& probe : Probed(other, 5, 0, &random_).probes) window.probes.push_back(probe);
  }
  ASSERT_TRUE(Comparable(baseline, windows, {}).ok());
  const DriftReport report = Check(baseline, windows);
  EXPECT_EQ(report.stratum, std::set<std::string>{"fp_a"});
  EXPECT_EQ(report.persistent, 0);
  EXPECT_EQ(report.verdict, Verdict::kChanged);  // By its fingerprint, and not by its logprobs.
  EXPECT_EQ(report.sentence, "novel fingerprint, logprobs unchanged");
}

TEST_F(Drift, UnlikeIsNotCompared) {
  const Baseline baseline = BaselineOf(endpoint_, &random_);
  const auto refusal = [&](auto change) {
    std::vector<Window> windows = Windows(endpoint_, 1, 1, &random_);
    for (Probe& probe : windows[0].probes) change(&probe);
    return std::string(Comparable(baseline, windows, {}).message());
  };
  EXPECT_NE(refusal([](Probe* probe) { probe->scaled = true; }).find("raw"), std::string::npos);
  EXPECT_NE(refusal([](Probe* probe) { probe->temperature = 0; }).find("temperature"),
            std::string::npos);
  EXPECT_NE(refusal([](Probe* probe) { probe->top_count = 5; }).find("alternatives"),
            std::string::npos);
  EXPECT_NE(refusal([](Probe* probe) { probe->prompt = "other"; }).find("prompt"),
            std::string::npos);
}

// Checks of 20 windows of 48 probe tokens, each with a baseline of its own. In short form a few of
// 6 windows; REENACT_LONG=1 makes 1,000 of an endpoint that stays, in about half an hour.
TEST(DriftRates, FalseAlarmsAreRareAndChangesAreFound) {
  const char* const wanted = std::getenv("REENACT_LONG");
  const bool is_long = wanted != nullptr && *wanted != '\0' && *wanted != '0';
  const int windows = is_long ? 20 : 6;
  constexpr int kProbes = 12;  // Of each prompt and window.

  struct Scenario {
    const char* name;
    double size;  // Of the change of each logit, in nats; 0: none.
  };

  // Weights of eight bits move a logit by about 0.1 (a divergence of 0.005 nats); a model of the
  // same family and another system prompt by 1 and more.
  static constexpr Scenario kScenarios[] = {{"unchanged", 0},
                                            {"eight-bit weights", 0.1},
                                            {"another system prompt", 1},
                                            {"another model of the family", 2}};
  std::printf("%-28s alarms of checks\n", "endpoint");
  for (const Scenario& scenario : kScenarios) {
    const int checks = !is_long ? 2 : scenario.size > 0 ? 100 : 1000;
    int alarms = 0;
    for (int check = 0; check < checks; ++check) {
      analysis::RandomStream random(20261130, static_cast<uint64_t>(check));
      const Endpoint endpoint = MakeEndpoint(&random);
      const Baseline baseline{.name = "canary", .windows = Windows(endpoint, 20, kProbes, &random)};
      const Endpoint now = scenario.size > 0 ? Moved(endpoint, scenario.size, &random) : endpoint;
      const DriftReport report = Check(baseline, Windows(now, windows, kProbes, &random));
      alarms += Alarms(report, analysis::DriftGates().persistence) ? 1 : 0;
    }
    const double share = static_cast<double>(alarms) / checks;
    std::printf("%-28s %d of %d (%.3f)\n", scenario.name, alarms, checks, share);
    if (scenario.size == 0)
      EXPECT_LE(share, 0.06);
    else
      EXPECT_GE(share, 0.95) << scenario.name;
  }
}

// The trap: samples of one window that share its load. A test that takes them for independent
// raises an alarm most of the time; the noise floor does not.
TEST(DriftRates, SharedLoadIsNoChange) {
  int alarms = 0;
  int permutation_alarms = 0;
  constexpr int kChecks = 10;
  for (int check = 0; check < kChecks; ++check) {
    analysis::RandomStream random(5, static_cast<uint64_t>(check));
    Endpoint endpoint = MakeEndpoint(&random);
    endpoint.window_noise = endpoint.sample_noise;
    const Baseline baseline = BaselineOf(endpoint, &random);
    const std::vector<Window> windows = Windows(endpoint, 6, 5, &random);
    alarms += Alarms(Check(baseline, windows), 3) ? 1 : 0;
    std::vector<analysis::TopTokens> before, now;
    for (const Probe& probe : baseline.windows[0].probes)
      if (probe.prompt == "p0") before.push_back(probe.top);
    for (const Probe& probe : windows[0].probes)
      if (probe.prompt == "p0") now.push_back(probe.top);
    permutation_alarms += analysis::TestShift(before, now).p.value() <= 0.05 ? 1 : 0;
  }
  EXPECT_LE(alarms, kChecks / 10);
  EXPECT_GE(permutation_alarms, kChecks / 2);
}

TEST(DriftCheck, ManyProbesThatFailedLeaveNoVerdictOnTheOthers) {
  analysis::RandomStream random(6, 0);
  const Endpoint endpoint = MakeEndpoint(&random);
  const Baseline baseline = BaselineOf(endpoint, &random);
  std::vector<Window> windows = Windows(Moved(endpoint, 2, &random), 3, 5, &random);
  EXPECT_EQ(Check(baseline, windows).verdict, Verdict::kChanged);
  windows[0].failed = static_cast<int64_t>(windows[0].probes.size());
  const DriftReport report = Check(baseline, windows);
  EXPECT_EQ(report.verdict, Verdict::kInconclusive);
  EXPECT_NE(report.sentence.find("were not answered, or without logprobs"), std::string::npos);
}

}  // namespace
}  // namespace reenact::drift
