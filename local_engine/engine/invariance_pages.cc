#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "local_engine/engine/backend.h"
#include "local_engine/engine/invariance_rows.h"
#include "local_engine/engine/invariance_trial.h"

namespace reenact::local_engine {
namespace {

// Prompts that share beginnings of every length with each other, and pages that are equal in
// themselves behind different beginnings.
Requests SharingRequests(const Trial& trial) {
  Requests requests;
  const std::vector<int32_t> trunk = trial.Text(20, 3 * kPagePositions + 2);
  for (int32_t length = kPagePositions - 1; length <= 2 * kPagePositions + 1;
       length += trial.settings().residue_step) {
    requests.push_back(trial.Greedy({trunk.begin(), trunk.begin() + length}));
    requests.back().max_tokens = 2;
  }
  for (uint32_t branch = 0; branch < 3; ++branch) {
    std::vector<int32_t> other = trial.Text(30 + branch, 3 * kPagePositions + 2);
    std::copy(trunk.begin() + kPagePositions, trunk.begin() + 2 * kPagePositions,
              other.begin() + kPagePositions);
    requests.push_back(trial.Seeded(std::move(other), branch));
    std::vector<int32_t> late = trunk;
    late[static_cast<size_t>(2 * kPagePositions) + branch] = trial.Text(40 + branch, 1)[0];
    requests.push_back(trial.Greedy(std::move(late)));
  }
  return requests;
}

// Texts that each grow into another page, with room for three pages, and a cache that keeps some of
// what was taken or does not. Returns how many preemptions there were.
int64_t PreemptForWantOfPages(Trial* trial) {
  Requests requests;
  for (int32_t i = 0; i < 4; ++i) {
    requests.push_back(trial->Seeded(trial->Text(50 + static_cast<uint32_t>(i), 26 + i), 5));
    requests.back().max_tokens = 10;
  }
  const Answers expected = trial->RunAlone(requests);
  int64_t preemptions = 0;
  for (bool prefix_cache : {false, true}) {
    const std::unique_ptr<Engine> engine =
        trial->NewEngine({.page_count = 3, .prefix_cache = prefix_cache});
    if (engine == nullptr) break;
    trial->Compare(expected, trial->RunTogether(engine.get(), requests), "few pages");
    preemptions += engine->counters().preemptions;
  }
  return preemptions;
}

}  // namespace

void TryCache(Trial* trial) {
  const Requests requests = SharingRequests(*trial);
  const Answers expected = trial->RunAlone(requests);
  int64_t hits = 0;
  int64_t evictions = 0;
  int64_t collisions = 0;
  // Roomy; with hashes of one bit, which nearly always collide; and with room for little.
  for (const EngineOptions& options :
       {EngineOptions{}, EngineOptions{.prefix_hash_bits = 1}, EngineOptions{.page_count = 9}}) {
    const std::unique_ptr<Engine> engine = trial->NewEngine(options);
    if (engine == nullptr) return;
    for (const char* temperature : {"cold", "warm"}) {
      for (size_t i = 0; i < requests.size(); ++i) {
        const Answers actual = trial->RunTogether(engine.get(), {requests[i]});
        trial->Compare({expected[i]}, actual,
                       std::string(temperature) + " cache, prompt of " +
                           std::to_string(requests[i].prompt.size()));
      }
    }
    trial->Compare(expected, trial->RunTogether(engine.get(), requests), "warm cache, together");
    hits += engine->counters().cache_hit_pages;
    evictions += engine->counters().cache_evictions;
    collisions += engine->counters().hash_collisions;
  }
  // Equal prompts that begin while the first is still being computed.
  const std::unique_ptr<Engine> engine = trial->NewEngine({.max_chunk_rows = 8});
  if (engine == nullptr) return;
  std::vector<RequestId> ids;
  const size_t longest = requests.size() - 1;
  while (ids.size() < 12 && trial->status().ok()) {
    trial->Submit(engine.get(), requests[longest], &ids);
    if (!engine->Step().ok()) return;
  }
  for (RequestId id : ids) {
    trial->Compare(expected[longest], trial->Finish(engine.get(), id), "while it is computed");
  }
  hits += engine->counters().cache_hit_pages;
  trial->Prove(hits > 0 && evictions > 0 && collisions > 0,
               std::to_string(hits) + " pages found, " + std::to_string(evictions) + " evicted, " +
                   std::to_string(collisions) + " collisions refused");
}

void TryPreempt(Trial* trial) {
  EngineOptions options = Trial::Plain();
  options.max_chunk_rows = 16;
  const std::unique_ptr<Engine> engine = trial->NewEngine(options);
  if (engine == nullptr) return;
  const Requests pair = {trial->Mixed(2)[1], trial->Greedy(trial->Text(5, 6))};
  const Answers expected = trial->RunAlone(pair);
  // Once at every step of its life, then at every step, then at every third.
  const int32_t steps = trial->settings().prompt_tokens / 16 + trial->settings().output_tokens + 2;
  for (int32_t at = 0; at < steps + 2; ++at) {
    std::vector<RequestId> ids;
    for (const Request& request : pair) trial->Submit(engine.get(), request, &ids);
    if (!trial->status().ok()) return;
    for (int32_t step = 0; step < 40 * steps && !engine->IsFinished(ids[0]); ++step) {
      if (absl::StatusOr<bool> more = engine->Step(); !more.ok()) return;
      // A sequence that is preempted at each step of its prefill would never end.
      const bool now = at < steps ? step == at : step % (at == steps ? 7 : 9) == 6;
      if (now) (void)engine->Preempt(ids[0]);
    }
    for (size_t i = 0; i < ids.size(); ++i) {
      trial->Compare(expected[i], trial->Finish(engine.get(), ids[i]),
                     "preempted at step " + std::to_string(at));
    }
  }
  const int64_t forced = engine->counters().preemptions;
  const int64_t wanted = PreemptForWantOfPages(trial);
  const int64_t recomputed = engine->counters().recomputed_rows;
  // After every token but the last there was one.
  trial->Prove(forced >= trial->settings().output_tokens - 1 && wanted > 0 && recomputed > 0,
               std::to_string(forced) + " forced, " + std::to_string(wanted) +
                   " for want of pages, " + std::to_string(recomputed) + " tokens computed again");
}

}  // namespace reenact::local_engine
