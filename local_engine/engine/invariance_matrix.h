// The invariances that the engine claims, each tried on a model at hand: a request is answered once
// alone and again under one kind of disturbance, and every token, log-probability and KV byte is
// compared as bits.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_INVARIANCE_MATRIX_H_
#define REENACT_LOCAL_ENGINE_ENGINE_INVARIANCE_MATRIX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "local_engine/engine.h"

namespace reenact::local_engine {

enum class Invariance {
  kRun,            // The same again, in the same engine and in a new one.
  kBatch,          // Any number of co-tenants, any place among them.
  kPrefillDecode,  // A token's logprob from decode and from prefill.
  kChunk,          // Any cut of a prompt into chunks.
  kCache,          // A prefix that is computed and one that is found, every residue of a page.
  kPreempt,        // Uninterrupted, and computed again from any token on.
  kSeedIsolation,  // Draws depend on seed, sample and position alone.
  kOrder,          // Any order of submission.
  kThreads,        // Any number of threads of the CPU backend.
  kIsa,            // Any instruction set of it, weights packed or in place.
  kDevice,         // Any other backend; not tried where settings name none.
};

// Those that every machine can try.
inline constexpr Invariance kInvariances[] = {
    Invariance::kRun,     Invariance::kBatch,   Invariance::kPrefillDecode, Invariance::kChunk,
    Invariance::kCache,   Invariance::kPreempt, Invariance::kSeedIsolation, Invariance::kOrder,
    Invariance::kThreads, Invariance::kIsa};

// "RUN", "BATCH", "P/D"...
const char* InvarianceName(Invariance invariance);

struct MatrixSettings {
  std::string model_path;
  // Of every row; threads and instruction sets are those of the CPU backend, whose answers are
  // compared with this one's.
  BackendKind backend = BackendKind::kCpu;
  std::vector<BackendKind> other_backends;  // Of DEVICE.
  std::vector<int32_t> batch_sizes = {2, 3, 4, 7, 8, 16};
  std::vector<int32_t> chunk_sizes = {1, 3, 31, 32, 33, 64};
  // Of a text, in P/D: up to the longest; around powers of two and the size of a page.
  std::vector<int32_t> lengths = {2,  3,  4,  5,  8,   9,   16,  17,  31,  32,  33,
                                  63, 64, 65, 96, 127, 128, 129, 255, 256, 257, 289};
  int32_t prompt_tokens = 40;
  int32_t output_tokens = 12;
  int32_t residue_step = 1;  // 1: every residue of a page.
  int32_t orders = 20;
  std::vector<int32_t> thread_counts = {1, 2, 3, 8};
  std::vector<std::string> isas;  // Empty: every one that is available.
};

struct MatrixRow {
  int64_t comparisons = 0;  // Of 32 bits each.
  int64_t differences = 0;
  std::string first_difference;  // What differed, for a reader.
  // Whether the counters prove that the path under test ran, and what they say.
  bool path_ran = false;
  std::string proof;
};

// Errors: those of the engine; a sample that ends with an error is a difference.
absl::StatusOr<MatrixRow> RunInvariance(Invariance invariance, const MatrixSettings& settings);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_INVARIANCE_MATRIX_H_
