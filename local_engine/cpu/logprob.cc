#include "local_engine/cpu/logprob.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/status.h"

#include "local_engine/cpu/internal/kernel_table.h"
#include "local_engine/cpu/internal/planted_kernel_fault.h"
#include "local_engine/numerics/exp_log.h"
#include "local_engine/numerics/operations.h"

namespace reenact::local_engine {
namespace {

// Of the written order: a chunk is summed, then added.
size_t ChunkSize(size_t vocabulary, CpuDevice& device) {
  if (!Planted(KernelFault::kVocabularyByThreads)) return 4096;
  return vocabulary / static_cast<size_t>(device.pool().thread_count()) + 1;
}

}  // namespace

absl::Status NormaliseRows(std::span<const float> logits, CpuDevice& device,
                           std::span<RowNormaliser> normalisers) {
  if (normalisers.empty()) return absl::OkStatus();
  const size_t rows = normalisers.size();
  const size_t vocabulary = logits.size() / rows;
  const size_t chunk_size = ChunkSize(vocabulary, device);
  const size_t chunks = (vocabulary + chunk_size - 1) / chunk_size;
  absl::Status status = device.Run(rows, vocabulary / 4, [&](size_t row, int) {
    normalisers[row].maximum = device.kernels().largest(&logits[row * vocabulary], vocabulary);
  });
  if (!status.ok()) return status;
  std::vector<float> sums(rows * chunks);
  status = device.Run(sums.size(), chunk_size, [&](size_t index, int) {
    const size_t row = index / chunks;
    const size_t begin = index % chunks * chunk_size;
    sums[index] = device.kernels().sum_of_exp_chunk(&logits[row * vocabulary + begin],
                                                    std::min(chunk_size, vocabulary - begin),
                                                    normalisers[row].maximum);
  });
  if (!status.ok()) return status;
  for (size_t row = 0; row < rows; ++row) {
    float total = 0.0f;
    for (size_t chunk = 0; chunk < chunks; ++chunk)
      total = add_rn(total, sums[row * chunks + chunk]);
    normalisers[row].log_sum = add_rn(normalisers[row].maximum, Log(total));
  }
  return absl::OkStatus();
}

}  // namespace reenact::local_engine
