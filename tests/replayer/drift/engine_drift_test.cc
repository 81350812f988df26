// Drift of a real model's first tokens: the demo's model, asked the canaries by the local engine,
// behind the noise of a hosted endpoint. Prints the table of docs/monitoring.md; REENACT_LONG=1
// makes a thousand checks of it.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/engine.h"
#include "nlohmann/json.hpp"
#include "replayer/analysis/descriptive.h"
#include "replayer/analysis/random.h"
#include "replayer/drift/drift_check.h"
#include "replayer/drift/probing.h"
#include "tests/replayer/drift/demo_model_variants.h"
#include "tests/support/temp_folder.h"

namespace reenact::drift {
namespace {

constexpr int kWindows = 20;
constexpr int kProbes = 8;  // Of each of the three canaries: 24 tokens a window.
constexpr size_t kTop = 20;
constexpr int32_t kKnownTokens = 60;   // So that noise can bring others into the list.
constexpr double kSampleNoise = 0.05;  // Of a logit, in nats.
constexpr double kSharedNoise = 0.25 * kSampleNoise;

constexpr char kSystem[] = "You are the refund desk of a small shop.";
constexpr char kOtherSystem[] = "You are the refund desk of a small shop. Be brief.";

struct KnownToken {
  std::string text;
  double logprob = 0;
};

// By canary: the first token, as the engine has it.
using Answers = std::vector<std::vector<KnownToken>>;

Answers Ask(const std::string& folder, const std::string& system) {
  Answers answers;
  auto engine = local_engine::Engine::Load(folder, {.backend = local_engine::BackendKind::kCpu});
  EXPECT_TRUE(engine.ok()) << engine.status();
  if (!engine.ok()) return answers;
  for (const std::string& canary : CanaryPrompts()) {
    // A provider's system prompt is nothing that the client sends.
    nlohmann::ordered_json messages = nlohmann::ordered_json::parse(canary, nullptr, false);
    messages.insert(messages.begin(),
                    nlohmann::ordered_json::object({{"role", "system"}, {"content", system}}));
    const auto prompt = (*engine)->EncodeChat({.messages_json = messages.dump()});
    EXPECT_TRUE(prompt.ok()) << prompt.status();
    if (!prompt.ok()) return answers;
    const auto id = (*engine)->Submit({.prompt = *prompt,
                                       .max_tokens = 1,
                                       .sampling = {.temperature = 0},
                                       .logprobs = true,
                                       .top_logprobs = kKnownTokens});
    EXPECT_TRUE(id.ok()) << id.status();
    if (!id.ok()) return answers;
    const auto answer = (*engine)->RunToEnd(*id);
    EXPECT_TRUE(answer.ok()) << answer.status();
    if (!answer.ok()) return answers;
    std::vector<KnownToken>& tokens = answers.emplace_back();
    for (const auto& token : answer->completions.at(0).scores.at(0).top)
      tokens.push_back({"t" + std::to_string(token.token), double{token.logprob}});
  }
  return answers;
}

class Noise {
 public:
  explicit Noise(uint64_t check) : random_(20261201, check) {}

  double Draw() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const double radius = std::sqrt(-2 * std::log(random_.Uniform()));
    const double angle = 2 * M_PI * random_.Uniform();
    spare_ = radius * std::sin(angle);
    has_spare_ = true;
    return radius * std::cos(angle);
  }

 private:
  analysis::RandomStream random_;
  double spare_ = 0;
  bool has_spare_ = false;
};

// What the endpoint shows of one answer, with noise in its logits.
analysis::TopTokens Shown(const std::vector<KnownToken>& tokens, const std::vector<double>& shared,
                          bool noisy, Noise* noise) {
  std::vector<std::pair<double, size_t>> logits;
  double known = 0;
  double total = 0;
  for (size_t t = 0; t < tokens.size(); ++t) {
    const double logit = tokens[t].logprob + shared[t] + (noisy ? kSampleNoise * noise->Draw() : 0);
    known += std::exp(tokens[t].logprob);
    total += std::exp(logit);
    logits.emplace_back(logit, t);
  }
  total += std::fmax(0, 1 - known);
  std::partial_sort(logits.begin(), logits.begin() + kTop, logits.end(), std::greater<>());
  analysis::TopTokens top;
  for (size_t i = 0; i < kTop; ++i)
    top[tokens[logits[i].second].text] =
        noisy ? logits[i].first - std::log(total) : tokens[logits[i].second].logprob;
  return top;
}

std::vector<Window> Probed(const Answers& answers, int count, bool noisy, Noise* noise) {
  std::vector<Window> windows;
  for (int w = 0; w < count; ++w) {
    Window& window = windows.emplace_back(Window{.at_wall_ns = w});
    for (size_t p = 0; p < answers.size(); ++p) {
      std::vector<double> shared(answers[p].size());
      for (double& offset : shared) offset = noisy ? kSharedNoise * noise->Draw() : 0;
      for (int i = 0; i < kProbes; ++i) {
        window.probes.push_back({.prompt = "canary " + std::to_string(p),
                                 .fingerprint = "fp_gateway",
                                 .top_count = kTop,
                                 .top = Shown(answers[p], shared, noisy, noise)});
      }
    }
  }
  return windows;
}

// The window at which a monitor that looks after each of them raises its alarm; 0: at none.
int AlarmAt(const DriftReport& report) {
  int64_t running = 0;
  for (size_t w = 0; w < report.windows.size(); ++w) {
    running = report.windows[w].stands_out ? running + 1 : 0;
    if (running >= analysis::DriftGates().persistence) return static_cast<int>(w) + 1;
  }
  return 0;
}

struct Rate {
  double share = 0;
  double shift = 0;     // Mean over checks of the last window's statistic, in nats.
  double alarm_at = 0;  // Mean over alarms.
};

Rate Checked(const Answers& before, const Answers& now, int checks) {
  Rate rate;
  int alarms = 0;
  for (int check = 0; check < checks; ++check) {
    Noise noise(static_cast<uint64_t>(check));
    const Baseline baseline{.name = "canary", .windows = Probed(before, kWindows, true, &noise)};
    const DriftReport report = Check(baseline, Probed(now, kWindows, true, &noise));
    const int at = AlarmAt(report);
    alarms += at > 0 ? 1 : 0;
    rate.alarm_at += at;
    rate.shift += report.windows.back().statistic.value() / checks;
  }
  rate.share = static_cast<double>(alarms) / checks;
  if (alarms > 0) rate.alarm_at /= alarms;
  return rate;
}

bool IsLong() {
  const char* const wanted = std::getenv("REENACT_LONG");
  return wanted != nullptr && *wanted != '\0' && *wanted != '0';
}

struct Scenario {
  const char* name;
  Variant variant;
  const char* system = kSystem;
  bool must_be_found = true;
};

// The first is not held to a rate: a change that is smaller than the gate of 0.05 nats.
constexpr Scenario kScenarios[] = {
    {"F32 weights, where BF16 ones were", {Weights::kF32}, kSystem, false},
    {"Q8_0 weights", {Weights::kQ8_0}},
    {"a model of the family with a layer less", {Weights::kBf16, 2}},
    {"a sentence more in the system prompt", {Weights::kBf16}, kOtherSystem},
};

Answers Of(const Variant& variant, const std::string& system) {
  const reenact::testing::TempFolder folder;
  WriteVariant(DEMO_MODEL, variant, folder.path());
  return Ask(folder.path(), system);
}

TEST(EngineDrift, FalseAlarmsAreRareAndChangesOfARealModelAreFound) {
  const Answers before = Of({Weights::kBf16}, kSystem);
  ASSERT_EQ(before.size(), CanaryPrompts().size());
  const int same = IsLong() ? 1000 : 20;
  const int changed = IsLong() ? 300 : 5;
  const Rate unchanged = Checked(before, before, same);
  std::printf("| endpoint | statistic, nats | alarms | of checks | first alarm, window |\n");
  std::printf("| --- | --- | --- | --- | --- |\n");
  std::printf("| unchanged | %.3f | %.1f %% | %d | |\n", unchanged.shift, 100 * unchanged.share,
              same);
  EXPECT_LE(unchanged.share, 0.06);
  for (const Scenario& scenario : kScenarios) {
    const Rate rate = Checked(before, Of(scenario.variant, scenario.system), changed);
    std::printf("| %s | %.3f | %.1f %% | %d | %.1f |\n", scenario.name, rate.shift,
                100 * rate.share, changed, rate.alarm_at);
    if (scenario.must_be_found) {
      EXPECT_GE(rate.share, 0.95) << scenario.name;
    }
  }
}

// Where the endpoint has no noise, as the engine has none, the least rounding is found at once.
TEST(EngineDrift, WithoutNoiseEveryChangeIsSeenInThreeWindows) {
  const Answers before = Of({Weights::kBf16}, kSystem);
  ASSERT_EQ(before.size(), CanaryPrompts().size());
  Noise none(0);
  const Baseline baseline{.name = "canary", .windows = Probed(before, 5, false, &none)};
  EXPECT_EQ(AlarmAt(Check(baseline, Probed(before, kWindows, false, &none))), 0);
  for (const Scenario& scenario : kScenarios) {
    const Answers now = Of(scenario.variant, scenario.system);
    EXPECT_EQ(AlarmAt(Check(baseline, Probed(now, kWindows, false, &none))), 3) << scenario.name;
  }
}

}  // namespace
}  // namespace reenact::drift
