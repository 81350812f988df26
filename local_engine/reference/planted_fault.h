// Faults that tests plant in the reference, to show that the golden hashes would catch them. Each
// is one that a real engine had or could have. Only a build with REENACT_PLANTED_FAULTS has them,
// all of them, to be chosen while it runs; everywhere else the conditions fold away.

#ifndef REENACT_LOCAL_ENGINE_REFERENCE_PLANTED_FAULT_H_
#define REENACT_LOCAL_ENGINE_REFERENCE_PLANTED_FAULT_H_

namespace reenact::local_engine {

enum class PlantedFault {
  kNone,
  kDotClassOrder,         // Class k mod 32 in place of (k / 2) mod 32.
  kDotUnfused,            // A multiplication and an addition in place of one fma.
  kDotTailSkipped,        // The padding of K to 64 is not executed.
  kDotFlushesSubnormals,  // Subnormal weights are read as zero.
  kTreeOfNeighbours,      // Tree 1, 2, 4... in place of the halving one.
  kNormScaleFirst,        // x (inv g) in place of (x inv) g.
  kNormFewerClasses,      // 128 classes, as a narrower thread block would give.
  kVocabularyUnchunked,   // One set of classes for the whole vocabulary.
  kRopeFloatAngle,        // The angle is a product in binary32.
  kRopeFused,             // The rotation's second product is fused.
  kSplitByCount,          // KV splits of equal size by count, not at absolute positions.
  kSplitFromFirstKey,     // Splits start at the window's first key.
  kOnlineMaximum,         // Rescales as the maximum grows, in place of two passes.
  kCombineBackwards,      // Splits are combined from the last to the first.
  kQueryScaled,           // The scale goes into the query, not onto the score.
  kQ8Reciprocal,          // Activations are quantised by a reciprocal.
  kQ8ClassTree,           // (a0 + a1) + (a2 + a3).
  kSiluReciprocal,        // g (1 / (1 + e^-g)).
  kLogprobOfProbability,  // log(p) in place of logit - (max + log sum).
  kTieToHighestId,
  kNoiseByRank,  // The draw's noise follows the rank among the kept tokens.
  kTopPInFloat,  // The nucleus is summed in binary32.
  kCount
};

#if defined(REENACT_PLANTED_FAULTS)
// Defined by the test, which changes it between computations. One thread.
extern PlantedFault planted_fault;

inline bool Planted(PlantedFault fault) {
  return fault == planted_fault;
}
#else
constexpr bool Planted(PlantedFault) {
  return false;
}
#endif

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_REFERENCE_PLANTED_FAULT_H_
