// Rotary position embedding: the tables, which are part of a model's identity, and the rotation.
// Sources: Su et al., 2021; the llama3 rule of the Llama 3.1 release; YaRN, Peng et al., 2023.

#ifndef REENACT_LOCAL_ENGINE_REFERENCE_ROPE_H_
#define REENACT_LOCAL_ENGINE_REFERENCE_ROPE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "local_engine/model/rope_config.h"
#include "local_engine/numerics/sha256.h"

namespace reenact::local_engine {

// The angle per position of each pair of dimensions, in radians; head_dim / 2 values. Computed in
// binary64 (theta^(-2i / head_dim), then the scaling), rounded once to binary32.
std::vector<float> InverseFrequencies(const RopeConfig& config);

// sin and cos of binary64(position) * binary64(inverse frequency), each times the attention factor
// of YaRN where there is one, each rounded once to binary32.
struct RopeTable {
  int32_t half_dim = 0;    // head_dim / 2
  std::vector<float> cos;  // [positions][half_dim]
  std::vector<float> sin;  // [positions][half_dim]

  Sha256Digest Digest() const;
};

RopeTable MakeRopeTable(const RopeConfig& config, int32_t positions);

// Rotates one head in place: dimension i is paired with i + half_dim (the layout of Hugging Face
// checkpoints).
//   low'  = low cos - high sin      high' = high cos + low sin
// Two products and one sum, each rounded.
//
// Shapes: head [2 half_dim]; position below the table's positions.
void Rotate(const RopeTable& table, int32_t position, std::span<float> head);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_REFERENCE_ROPE_H_
