// What is not finite, found on the way and told once: for each row of a step the first thing.

#ifndef REENACT_LOCAL_ENGINE_CUDA_FINITE_CHECK_H_
#define REENACT_LOCAL_ENGINE_CUDA_FINITE_CHECK_H_

namespace reenact::local_engine {

// Codes grow in the order in which a pass looks: layer * kFaultsOfLayer + one of these.
enum LayerFault {
  kKeyFault,
  kValueFault,
  kQueryFault,
  kAttentionFault,
  kGateFault,
  kFeedForwardFault,
  kFaultsOfLayer
};

inline constexpr int kNoFault = 0x7f7f7f7f;  // A byte that repeats: Fill writes it.

// Where a kernel notes it.
struct FiniteCheck {
  int* first_fault = nullptr;  // [rows], or null: not checked.
  int code = 0;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CUDA_FINITE_CHECK_H_
