// Attention of one query head over the keys and values that it may see.

#ifndef REENACT_LOCAL_ENGINE_REFERENCE_ATTENTION_H_
#define REENACT_LOCAL_ENGINE_REFERENCE_ATTENTION_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace reenact::local_engine {

inline constexpr int32_t kKvSplit = 256;    // Positions in a split.
inline constexpr int32_t kKvSubBlock = 32;  // Positions in a sub-block; 8 to a split.

// Keys and values of one KV head as they stand in the cache (rounded to its type, widened), row
// `position` at data + position * stride.
struct KvRows {
  const float* keys = nullptr;    // [position][head_dim]
  const float* values = nullptr;  // [position][head_dim]
  size_t stride = 0;              // Floats from one position to the next.
};

// Positions first <= j < end; end > first. Causal attention of the token at p has end = p + 1; with
// a sliding window of w tokens, first = max(0, p + 1 - w).
struct LiveKeys {
  int32_t first = 0;
  int32_t end = 0;
};

// out = sum_j softmax_j(scale q.k_j) v_j over the live keys.
//
// Splits are the ranges [256 s, 256 (s + 1)) of absolute positions, so the tree is a function of
// the query's position alone: never of the batch, a chunk's edges, a cached prefix or a thread
// count. In a split, in this order:
//   score_j = (fma chain over d from +0 of q[d] k_j[d]) scale
//   m = the largest score; p_j = Exp(score_j - m)
//   per sub-block of 32: the halving tree 16 ... 1 over the p_j, and per d the fma chain over the
//   keys from +0 of p_j v_j[d]; sub-blocks are added in index order from +0
// Splits are combined in index order with w_s = Exp(m_s - M): L = fma(w_s, l_s, L), o = fma(w_s,
// o_s, o), from +0; out = o / L. Keys that are not live execute nothing in a chain and count as +0
// in a tree; a split without live keys does not exist.
//
// Shapes: query, out [head_dim], any head_dim. out may not be query.
void Attend(std::span<const float> query, const KvRows& rows, LiveKeys live, float scale,
            std::span<float> out);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_REFERENCE_ATTENTION_H_
