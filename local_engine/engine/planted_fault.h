// Faults that tests plant in the engine, each one that a serving engine has had, to show that a row
// of the invariance matrix would catch it. Only a build with REENACT_ENGINE_FAULTS has them;
// everywhere else the conditions fold away.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_PLANTED_FAULT_H_
#define REENACT_LOCAL_ENGINE_ENGINE_PLANTED_FAULT_H_

#include <cstdint>

namespace reenact::local_engine {

enum class EngineFault {
  kNone,
  kDrawByProcessCounter,  // Noise from one stream of the process, not from the position.
  kBatchPicksKernel,      // Four sequences or more: logits of another rounding.
  kPrefillPicksKernel,    // More than one token of a sequence in a step: another rounding.
  kChunkEdgeLost,         // The last token of a chunk is not stored.
  kCacheIgnoresParent,    // A page is found by its own tokens, whatever came before them.
  kCacheTrustsHash,       // The tokens of a page that was found by its hash are not compared.
  kCachePublishesEarly,   // A page is shared before its last position is computed.
  kPreemptMovesDraw,      // The noise after a preemption is that of another position.
  kPreemptCountsTwice,    // Penalties count tokens once more when they are recomputed.
  kDrawByBatchRow,        // Noise belongs to the row of the batch.
  kDrawByRequest,         // Noise belongs to the number of the request.
  kThreadsPickKernel,     // More than one thread: another rounding.
  kIsaPicksKernel,        // Another instruction set than the fastest: another rounding.
  kStopTextLeaks,         // The beginning of a stop text is given out.
  kCount
};

#if defined(REENACT_ENGINE_FAULTS)
// Defined by the test, which changes it between runs. One thread.
extern EngineFault engine_fault;

inline bool Planted(EngineFault fault) {
  return fault == engine_fault;
}

inline uint32_t NextOfProcess() {
  static uint32_t last = 0;
  return ++last;
}
#else
constexpr bool Planted(EngineFault) {
  return false;
}

constexpr uint32_t NextOfProcess() {
  return 0;
}
#endif

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_PLANTED_FAULT_H_
