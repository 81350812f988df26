#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "local_engine/engine/invariance_rows.h"
#include "local_engine/engine/invariance_trial.h"

namespace reenact::local_engine {
void TryRun(Trial* trial) {
  const std::unique_ptr<Engine> engine = trial->NewEngine(Trial::Plain());
  if (engine == nullptr) return;
  const Requests requests = trial->Mixed(3);
  const Answers expected = trial->RunAlone(requests);
  for (int repeat = 0; repeat < 3; ++repeat) {
    trial->Compare(expected, trial->RunTogether(engine.get(), requests), "again");
    trial->Compare(expected, trial->RunAlone(requests), "in a new engine");
  }
  trial->Prove(true, "3 repeats, 2 engines");
}

void TryBatch(Trial* trial) {
  int64_t reached = 0;
  const int32_t largest =
      *std::max_element(trial->settings().batch_sizes.begin(), trial->settings().batch_sizes.end());
  const Requests requests = trial->Mixed(largest);
  const Answers expected = trial->RunAlone(requests);
  for (int32_t size : trial->settings().batch_sizes) {
    const std::unique_ptr<Engine> engine = trial->NewEngine(Trial::Plain());
    if (engine == nullptr) return;
    const std::string where = "batch of " + std::to_string(size);
    const Requests some(requests.begin(), requests.begin() + size);
    trial->Compare(Answers(expected.begin(), expected.begin() + size),
                   trial->RunTogether(engine.get(), some), where);
    // The first one among copies of itself, at every place.
    const Requests copies(static_cast<size_t>(size), requests[0]);
    trial->Compare(Answers(copies.size(), expected[0]), trial->RunTogether(engine.get(), copies),
                   where + ", all equal");
    reached += engine->counters().most_co_resident >= size ? 1 : 0;
  }
  trial->Prove(reached == std::ssize(trial->settings().batch_sizes),
               std::to_string(reached) + " batches were co-resident, of " +
                   std::to_string(largest) + " at most");
}

void TrySeedIsolation(Trial* trial) {
  const std::unique_ptr<Engine> engine = trial->NewEngine({});
  if (engine == nullptr) return;
  Requests requests = trial->Mixed(6);
  requests[1].sample_count = 4;
  const Answers expected = trial->RunAlone(requests);
  int64_t distinct = 0;
  for (size_t shift = 0; shift < requests.size(); ++shift) {
    std::rotate(requests.begin(), requests.begin() + 1, requests.end());
    Answers rotated = expected;
    std::rotate(rotated.begin(),
                rotated.begin() + static_cast<ptrdiff_t>((shift + 1) % expected.size()),
                rotated.end());
    trial->Compare(rotated, trial->RunTogether(engine.get(), requests), "other neighbours");
  }
  if (!trial->status().ok()) return;
  const std::vector<Completion>& siblings = expected[1].completions;
  for (size_t i = 1; i < siblings.size(); ++i) {
    distinct += siblings[i].tokens != siblings[0].tokens ? 1 : 0;
  }
  trial->Prove(distinct > 0 && engine->counters().most_co_resident > 4,
               std::to_string(engine->counters().most_co_resident) + " co-resident, " +
                   std::to_string(distinct) + " siblings of 3 unlike the first");
}

void TryOrder(Trial* trial) {
  Requests requests = trial->Mixed(5);
  requests[2].prompt = requests[0].prompt;  // Something for the cache.
  requests[2].prompt_logprobs = true;
  requests[4].prompt = requests[1].prompt;
  const Answers expected = trial->RunAlone(requests);
  std::minstd_rand random(11);
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  int64_t mixed_steps = 0;
  for (int32_t i = 0; i < trial->settings().orders; ++i) {
    for (size_t k = order.size() - 1; k > 0; --k) std::swap(order[k], order[random() % (k + 1)]);
    const std::unique_ptr<Engine> engine =
        trial->NewEngine({.max_step_rows = 48, .prefix_cache = i % 2 == 0});
    if (engine == nullptr) return;
    Requests shuffled;
    Answers shuffled_expected;
    for (size_t index : order) {
      shuffled.push_back(requests[index]);
      shuffled_expected.push_back(expected[index]);
    }
    trial->Compare(shuffled_expected, trial->RunTogether(engine.get(), shuffled),
                   "order " + std::to_string(i));
    mixed_steps += engine->counters().mixed_steps;
  }
  trial->Prove(mixed_steps > 0, std::to_string(trial->settings().orders) + " orders, " +
                                    std::to_string(mixed_steps) + " steps with prefill and decode");
}

}  // namespace reenact::local_engine
