#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "local_engine/engine/answer_comparison.h"
#include "local_engine/engine/invariance_rows.h"
#include "local_engine/engine/invariance_trial.h"

namespace reenact::local_engine {
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

}  // namespace reenact::local_engine
