// What the rows of the invariance matrix have in common: engines, requests, and the comparison of
// their answers.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_INVARIANCE_TRIAL_H_
#define REENACT_LOCAL_ENGINE_ENGINE_INVARIANCE_TRIAL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "local_engine/engine.h"
#include "local_engine/engine/answer_comparison.h"
#include "local_engine/engine/invariance_matrix.h"

namespace reenact::local_engine {

using Answers = std::vector<Answer>;
using Requests = std::vector<Request>;

// One row in the making. The first error of the engine ends it: what comes after compares nothing.
class Trial {
 public:
  // `settings` outlives it.
  explicit Trial(const MatrixSettings& settings) : settings_(settings) {}

  const MatrixSettings& settings() const { return settings_; }

  const absl::Status& status() const { return status_; }

  const MatrixRow& row() const { return row_; }

  // An engine with pages that hold NaN until they are written. Null after an error.
  std::unique_ptr<Engine> NewEngine(EngineOptions options);

  // The same on the backend that `options` name, whatever the settings say.
  std::unique_ptr<Engine> NewEngineOfBackend(EngineOptions options);

  // Nothing shared, nothing cut: what every other way is compared with.
  static EngineOptions Plain() {
    return {.max_step_rows = 4096, .max_chunk_rows = 4096, .prefix_cache = false};
  }

  void Submit(Engine* engine, const Request& request, std::vector<RequestId>* ids);
  Answer Finish(Engine* engine, RequestId id);

  // Together, submitted in this order; the answers in the same order.
  Answers RunTogether(Engine* engine, const Requests& requests);

  // One after the other, in an engine of their own. A sample's error is the trial's: there is
  // nothing to compare with.
  Answers RunAlone(const Requests& requests);

  void Compare(const Answers& expected, const Answers& actual, const std::string& where);
  void Compare(const Answer& expected, const Answer& actual, const std::string& where);
  void Count(const BitComparison& comparison, const std::string& where);

  // What the counters say about the path under test.
  void Prove(bool path_ran, const std::string& proof);

  // Text `index` of a seeded family, without the lowest ids, which are special tokens in most
  // vocabularies. After the first NewEngine.
  std::vector<int32_t> Text(uint32_t index, int32_t length) const;

  // Every log-probability of the vocabulary is compared, up to a few hundred.
  Request Greedy(std::vector<int32_t> prompt) const;

  // Sampled, with penalties.
  Request Seeded(std::vector<int32_t> prompt, uint64_t seed) const;

  // Texts of different lengths, greedy and sampled by turns.
  Requests Mixed(int32_t count) const;

 private:
  const MatrixSettings& settings_;
  absl::Status status_;
  MatrixRow row_;
  int32_t vocabulary_size_ = 0;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_INVARIANCE_TRIAL_H_
