// Digests of weights that were read before, so that a start need not read gigabytes to know them.
//
// A digest is found by the identities of all files that the tensors come from: device, inode, size,
// times of modification and change. Whoever writes to a file changes these; the one case in which a
// file system does not say so, a write within the same tick of its clock, is met by keeping no
// digest of a file that was changed just now. What can still deceive it is somebody who writes past
// the file system, to the disk itself: verification reads the weights anew.
//
// An entry is a small text file of its own, written aside and renamed, with a checksum: programs
// that write at once do no harm, and one that is damaged is as good as none. A cache that cannot be
// read or written is no error.

#ifndef REENACT_LOCAL_ENGINE_WEIGHTS_DIGEST_CACHE_H_
#define REENACT_LOCAL_ENGINE_WEIGHTS_DIGEST_CACHE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "local_engine/numerics/sha256.h"
#include "local_engine/weights/mapped_file.h"
#include "local_engine/weights/tensor_set.h"

namespace reenact::local_engine {

class DigestCache {
 public:
  // Longer than the tick of any file system's clock: two seconds with FAT.
  static constexpr int64_t kSettledNs = 3'000'000'000;

  // Empty `folder`: finds and keeps nothing. It is made when the first digest is kept.
  // `settled_ns`: how long ago the last change of a file has to be.
  explicit DigestCache(std::string folder, int64_t settled_ns = kSettledNs)
      : folder_(std::move(folder)), settled_ns_(settled_ns) {}

  // The root of DigestOf(tensors), where it is known.
  std::optional<Sha256Digest> Find(const TensorSet& tensors) const;

  // Unless a file has changed since it was opened, or shortly before.
  void Keep(const TensorSet& tensors, const Sha256Digest& root) const;

 private:
  bool IsSettled(const MappedFile& file) const;

  std::string folder_;
  int64_t settled_ns_;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_WEIGHTS_DIGEST_CACHE_H_
