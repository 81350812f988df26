// What must hold of the tensors of any file that was accepted.

#ifndef REENACT_TESTS_FUZZ_TENSOR_WALK_H_
#define REENACT_TESTS_FUZZ_TENSOR_WALK_H_

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "local_engine/weights/tensor_set.h"
#include "tests/fuzz/fuzz_target.h"

namespace reenact::fuzz {

// Each tensor lies within `file`, and its first and last row can be widened.
inline void ReadEveryTensor(const local_engine::TensorSet& tensors,
                            std::span<const std::byte> file) {
  const std::less_equal<const std::byte*> not_after;
  for (const auto& [name, tensor] : tensors.tensors()) {
    const std::byte* const file_end = file.data() + file.size();
    if (!not_after(file.data(), tensor.data) || !not_after(tensor.data, file_end) ||
        tensor.size_bytes > static_cast<uint64_t>(file_end - tensor.data)) {
      Broken("a tensor outside its file: " + name);
    }
    if (tensor.RowCount() == 0) Broken("a tensor without rows: " + name);
    std::vector<float> row(tensor.ValuesPerRow());
    local_engine::WidenRow(tensor, 0, row);
    local_engine::WidenRow(tensor, tensor.RowCount() - 1, row);
  }
  local_engine::DigestOf(tensors);
}

}  // namespace reenact::fuzz

#endif  // REENACT_TESTS_FUZZ_TENSOR_WALK_H_
