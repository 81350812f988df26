// The rows of the invariance matrix, each a trial of its own. What a row stands for is told beside
// the names in invariance_matrix.h.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_INVARIANCE_ROWS_H_
#define REENACT_LOCAL_ENGINE_ENGINE_INVARIANCE_ROWS_H_

#include "local_engine/engine/invariance_trial.h"

namespace reenact::local_engine {

// invariance_batch.cc: the same requests in other company.
void TryRun(Trial* trial);
void TryBatch(Trial* trial);
void TrySeedIsolation(Trial* trial);
void TryOrder(Trial* trial);

// invariance_positions.cc: the same positions in other steps.
void TryPrefillDecode(Trial* trial);
void TryChunk(Trial* trial);

// invariance_pages.cc: the same keys and values from other pages.
void TryCache(Trial* trial);
void TryPreempt(Trial* trial);

// invariance_devices.cc: the same steps on other kernels.
void TryThreads(Trial* trial);
void TryIsa(Trial* trial);
void TryDevice(Trial* trial);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_INVARIANCE_ROWS_H_
