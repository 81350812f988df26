// Where probes come from: the first token of answers, new ones or recorded ones.

#ifndef REENACT_REPLAYER_DRIFT_PROBING_H_
#define REENACT_REPLAYER_DRIFT_PROBING_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "replayer/drift/drift_check.h"
#include "replayer/rerun/target.h"
#include "schema/model_view.h"
#include "schema/record.h"

namespace reenact::drift {

// A model call as a probe; nothing where its first token came without alternatives. Calls are of
// one prompt when all of their request is equal but what decides neither the prompt nor the logits:
// the model's name, limits, seeds, settings of the sampler.
std::optional<Probe> ProbeOf(const schema::Event& call, const schema::ModelView& view);

// Short prompts whose first token is open: a distribution that moves shows there at once.
std::vector<std::string> CanaryPrompts();

// How an endpoint is probed; kept with the baseline, so that a check asks the same.
struct ProbePlan {
  std::string model;                 // As asked.
  std::vector<std::string> prompts;  // Lists of messages (JSON).
  int64_t probes_per_prompt = 8;     // In each window.
  int64_t top_count = 20;            // Alternatives to ask for.
  double temperature = 1;            // At 1, logprobs before and after temperature are the same.
  bool scaled = false;               // The server gives logprobs after temperature and penalties.

  int64_t probes_per_window() const {
    return static_cast<int64_t>(prompts.size()) * probes_per_prompt;
  }

  bool operator==(const ProbePlan&) const = default;
};

// Asks everything once over, one token each.
struct ProbedWindow {
  Window window;
  std::vector<schema::Event> calls;
  bool stopped = false;         // By the user or the budget: the window is not whole.
  std::string failure_example;  // Why a probe is none: "HTTP 400: …".
};

ProbedWindow ProbeOnce(rerun::Target* target, const ProbePlan& plan);

// Recorded calls as windows of `length_ns`, in order of time. Only probes of the most frequent
// settings are taken, since others are not compared with them; `left_out` counts the rest.
struct RecordedProbe {
  int64_t at_wall_ns = 0;
  Probe probe;
};

std::vector<Window> WindowsOf(std::vector<RecordedProbe> probes, int64_t length_ns,
                              int64_t* left_out);

}  // namespace reenact::drift

#endif  // REENACT_REPLAYER_DRIFT_PROBING_H_
