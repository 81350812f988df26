// The tensors of a model, from one file or many, by name.

#ifndef REENACT_LOCAL_ENGINE_WEIGHTS_TENSOR_SET_H_
#define REENACT_LOCAL_ENGINE_WEIGHTS_TENSOR_SET_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

#include "local_engine/numerics/sha256.h"
#include "local_engine/weights/mapped_file.h"
#include "local_engine/weights/tensor.h"

namespace reenact::local_engine {

// Holds the mapped files for as long as it lives; tensors point into them.
class TensorSet {
 public:
  // InvalidArgument when the name is empty, longer than 256 bytes, not printable ASCII, or taken.
  absl::Status Add(Tensor tensor);

  void Hold(std::shared_ptr<const MappedFile> file) { files_.push_back(std::move(file)); }

  const std::vector<std::shared_ptr<const MappedFile>>& files() const { return files_; }

  // Null when there is none of that name.
  const Tensor* Find(std::string_view name) const;

  // In the order of their names.
  const std::map<std::string, Tensor, std::less<>>& tensors() const { return tensors_; }

 private:
  std::map<std::string, Tensor, std::less<>> tensors_;
  std::vector<std::shared_ptr<const MappedFile>> files_;
};

// Where a tensor's bytes lie in a file's data section: what overlap is checked on.
struct DataExtent {
  uint64_t begin = 0;
  uint64_t end = 0;
  std::string name;
};

// InvalidArgument names two tensors that share bytes. Sorts the extents by their beginning.
absl::Status CheckNoOverlap(std::vector<DataExtent>* extents);

// The weights' part of a model's identity: a Merkle tree over the tensors in the order of their
// names, so that the same tensors in other shards have the same digest, and a tensor's own digest
// proves that it belongs. Leaf: SHA-256 of byte 0 and name, type, shape, data, each with its length
// before it; node: SHA-256 of byte 1 and its two children; a child without a sibling moves up.
struct WeightsDigest {
  Sha256Digest root = {};
  std::map<std::string, Sha256Digest> leaves;
};

// Reads every byte of the weights, some megabytes at a time and several tensors at once; `on_read`
// is told which ones, after each time, on the calling thread. Of no tensors, the root is the
// SHA-256 of nothing.
WeightsDigest DigestOf(
    const TensorSet& tensors, absl::FunctionRef<void(std::span<const std::byte>)> on_read =
                                  [](std::span<const std::byte>) {});

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_WEIGHTS_TENSOR_SET_H_
