// How far a target can be trusted to say the same twice: asked alone, under load, short and long.
// The check-up of a provider or a stack before anything is built on it.

#ifndef REENACT_REPLAYER_RERUN_DIAGNOSIS_H_
#define REENACT_REPLAYER_RERUN_DIAGNOSIS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replayer/analysis/agreement.h"
#include "replayer/analysis/first_divergence.h"
#include "replayer/analysis/measure.h"
#include "replayer/rerun/repeated_asking.h"
#include "replayer/rerun/target.h"

namespace reenact::rerun {

// Fewer answers than this to a question say nothing about it.
inline constexpr int64_t kLeastAnswers = 5;

struct Prompt {
  std::string label;   // "short", "call #6".
  schema::Event call;  // As it would be recorded.
};

// Two prompts of Reenact's own, a short and a long one, at temperature 0.
std::vector<Prompt> OwnPrompts(schema::ModelDialect dialect, const std::string& model);

struct DiagnosisOptions {
  int64_t repeats = 10;
  // So many questions at a time; being asked alone is always the first.
  std::vector<int64_t> loads = {4, 16};
  std::vector<int64_t> lengths = {64, 256};  // Of answers, at most, in tokens.
  RequestEdits edits;                        // `max_tokens` is set from `lengths`.
  std::function<void(int64_t done, int64_t total)> on_progress;
};

// One question, repeated under one load.
struct DiagnosisCell {
  std::string prompt;
  int64_t max_tokens = 0;
  int64_t at_once = 1;
  Question question;
  std::vector<Sample> samples;
  int64_t answered = 0;
  analysis::Agreement agreement;  // Of the whole answers, by bytes.
  // Nothing where no answer names its tokens; then also without `observed`.
  analysis::Measure first_divergence;        // Div_Index: the earliest of all pairs.
  std::vector<analysis::Observed> observed;  // Each answer against the first.
  int64_t unlike_alone = 0;  // Answers that are not the most frequent one of being asked alone.
  double seconds = 0;
  int64_t completion_tokens = 0;
};

// What being asked under load changes.
struct LoadEffect {
  int64_t alone_unlike = 0, alone = 0;    // Answers unlike the most frequent one; all answers.
  int64_t loaded_unlike = 0, loaded = 0;  // The same under load.
  analysis::Measure p;                    // Fisher's exact test, two-sided.
  bool depends = false;  // p < 0.01, and more of them under load: nothing less is claimed.
};

// X, Y, Y, ...: the first answer is computed without a cache, the others with it.
struct CachePattern {
  int64_t questions = 0;   // That were asked alone often enough.
  int64_t cold_first = 0;  // In which the first answer differs from all others, which agree.
  bool cached_tokens_seen = false;
};

struct Diagnosis {
  std::vector<DiagnosisCell> cells;  // By prompt, length and load, being asked alone first.
  bool enough = false;               // Each question has kLeastAnswers asked alone.
  std::string not_enough_because;
  analysis::TotalAgreement alone;  // TARr@N over questions asked alone.
  analysis::DivergenceSurvival alone_survival, loaded_survival;
  int64_t partings = 0;       // Of answers and the first answer to their question.
  int64_t margins_known = 0;  // Of them.
  int64_t near_ties = 0;      // Of those.
  LoadEffect load;
  CachePattern cache;
  std::map<std::string, int64_t> fingerprints;  // "" counts answers without one.
  std::vector<BrokenPromise> broken_promises;   // Each name once.
  bool provider_blind =
      false;           // No logprobs and no fingerprint: a change cannot be told from noise.
  bool draws = false;  // A temperature above 0 without a seed: answers differ by design.
  std::map<std::string, int64_t> failures;
  Abilities abilities;

  // The survival to judge by: under load where it was measured, else alone.
  const analysis::DivergenceSurvival& survival() const;
  bool deterministic() const;  // No two answers to a question differed.
};

// Stops early when the budget is spent or the user interrupts: what was measured is in the result.
Diagnosis Diagnose(const std::vector<Prompt>& prompts, Target* target,
                   const DiagnosisOptions& options);

// The verdict in one sentence, and what it means: use ("exact regression tests") and advice.
std::string DiagnosisSentence(const Diagnosis& diagnosis);
std::vector<std::pair<std::string, std::string>> Recommend(const Diagnosis& diagnosis);

}  // namespace reenact::rerun

#endif  // REENACT_REPLAYER_RERUN_DIAGNOSIS_H_
