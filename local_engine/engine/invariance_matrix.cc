#include "local_engine/engine/invariance_matrix.h"

#include "absl/status/statusor.h"

#include "local_engine/engine/invariance_rows.h"
#include "local_engine/engine/invariance_trial.h"

namespace reenact::local_engine {

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
    case Invariance::kThreads:
      return "THREADS";
    case Invariance::kIsa:
      return "ISA";
    case Invariance::kDevice:
      return "DEVICE";
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
    case Invariance::kThreads:
      TryThreads(&trial);
      break;
    case Invariance::kIsa:
      TryIsa(&trial);
      break;
    case Invariance::kDevice:
      TryDevice(&trial);
      break;
  }
  if (!trial.status().ok()) return trial.status();
  return trial.row();
}

}  // namespace reenact::local_engine
