#include "local_engine/engine/invariance_matrix.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/engine/answer_comparison.h"
#include "local_engine/engine/backend.h"
#include "local_engine/engine/invariance_trial.h"

namespace reenact::local_engine {
namespace {

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

// The answer to a prompt of one token, decoded, against the same tokens scored in one prefill and
// replayed as forced ones.
void TryPrefillDecode(Trial* trial) {
  const std::vector<int32_t>& lengths = trial->settings().lengths;
  const std::unique_ptr<Engine> decoding = trial->NewEngine(Trial::Plain());
  const std::unique_ptr<Engine> prefilling = trial->NewEngine(Trial::Plain());
  if (prefilling == nullptr) return;
  Request request = trial->Seeded(trial->Text(1, 1), 3);
  request.max_tokens = *std::max_element(lengths.begin(), lengths.end()) - 1;
  const Answer whole = trial->RunAlone({request})[0];
  if (!trial->status().ok()) return;
  for (int32_t length : lengths) {
    request.max_tokens = length - 1;
    const std::vector<int32_t>& tokens = whole.completions[0].tokens;
    const std::string where = "length " + std::to_string(length);

    Answer expected = whole;  // Cut to the length.
    Completion& cut = expected.completions[0];
    cut.tokens.resize(static_cast<size_t>(length) - 1);
    cut.scores.resize(cut.tokens.size());
    Request forced = request;
    forced.forced_tokens.assign(tokens.begin(), tokens.begin() + length - 1);
    const Answer replayed = trial->RunTogether(prefilling.get(), {forced})[0];
    if (!trial->status().ok()) return;
    cut.kv_digest = replayed.completions[0].kv_digest;  // Compared below.
    cut.text = replayed.completions[0].text;
    trial->Compare(expected, replayed, where + ", replayed");

    Request scoring = request;
    scoring.prompt.insert(scoring.prompt.end(), forced.forced_tokens.begin(),
                          forced.forced_tokens.end());
    scoring.max_tokens = 0;
    scoring.prompt_logprobs = true;
    Answer scored = trial->RunTogether(prefilling.get(), {scoring})[0];
    trial->Count(CompareScores(cut.scores, scored.prompt_scores), where + ", scored");
    const Answer decoded = trial->RunTogether(decoding.get(), {request})[0];
    if (!trial->status().ok()) return;
    const Sha256Digest& kv = decoded.completions[0].kv_digest;
    trial->Count(CompareDigests(kv, replayed.completions[0].kv_digest), where + ", replayed KV");
    trial->Count(CompareDigests(kv, scored.completions[0].kv_digest), where + ", scored KV");
  }
  const int64_t decoded = decoding->counters().decode_rows;
  const int64_t prefilled = prefilling->counters().prefill_rows;
  trial->Prove(
      decoded > 0 && prefilled > 0 && decoding->counters().prefill_rows == 0,
      std::to_string(decoded) + " tokens decoded, " + std::to_string(prefilled) + " prefilled");
}

void TryChunk(Trial* trial) {
  Requests requests = trial->Mixed(2);
  requests.push_back(trial->Greedy(trial->Text(9, 3 * trial->settings().prompt_tokens)));
  const Answers expected = trial->RunAlone(requests);
  int64_t chunks = 0;
  for (int32_t size : trial->settings().chunk_sizes) {
    // Together, and with a limit on rows that cuts chunks once more, at other places.
    const std::unique_ptr<Engine> engine = trial->NewEngine(
        {.max_step_rows = size + size / 2 + 1, .max_chunk_rows = size, .prefix_cache = false});
    if (engine == nullptr) return;
    trial->Compare(expected, trial->RunTogether(engine.get(), requests),
                   "chunks of " + std::to_string(size));
    chunks += engine->counters().chunks;
  }
  trial->Prove(chunks > 0, std::to_string(chunks) + " chunks that were not the last");
}

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

}  // namespace

const char* InvarianceName(Invariance invariance) {
  switch (invariance) {
    case Invariance::kRun:
      return "RUN";
    case Invariance::kBatch:
      return "BATCH";
    case Invariance::kPrefillDecode:
      return "P/D";
    case Invariance::kChunk:
      return "CHUNK";
    case Invariance::kCache:
      return "CACHE";
    case Invariance::kPreempt:
      return "PREEMPT";
    case Invariance::kSeedIsolation:
      return "SEED-ISO";
    case Invariance::kOrder:
      return "ORDER";
  }
  return "";
}

absl::StatusOr<MatrixRow> RunInvariance(Invariance invariance, const MatrixSettings& settings) {
  Trial trial(settings);
  if (trial.NewEngine(Trial::Plain()) == nullptr) return trial.status();  // Learns the vocabulary.
  switch (invariance) {
    case Invariance::kRun:
      TryRun(&trial);
      break;
    case Invariance::kBatch:
      TryBatch(&trial);
      break;
    case Invariance::kPrefillDecode:
      TryPrefillDecode(&trial);
      break;
    case Invariance::kChunk:
      TryChunk(&trial);
      break;
    case Invariance::kCache:
      TryCache(&trial);
      break;
    case Invariance::kPreempt:
      TryPreempt(&trial);
      break;
    case Invariance::kSeedIsolation:
      TrySeedIsolation(&trial);
      break;
    case Invariance::kOrder:
      TryOrder(&trial);
      break;
  }
  if (!trial.status().ok()) return trial.status();
  return trial.row();
}

}  // namespace reenact::local_engine
