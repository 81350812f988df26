// Keeps a store from filling the disk. On by default: a size cap, and a floor of free space.
// Whole sealed segments go, the oldest first, which works on a full disk; a segment with a marked
// run stays. A signed tombstone in the manifest says what went.

#ifndef REENACT_STORE_WRITER_RETENTION_H_
#define REENACT_STORE_WRITER_RETENTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "store/store_layout.h"

namespace reenact::store {

struct RetentionLimits {
  uint64_t max_store_bytes = uint64_t{10} << 30;
  uint64_t min_free_bytes = uint64_t{512} << 20;  // And at least min_free_percent of the disk.
  int min_free_percent = 5;                       // Capped: never more than 5 GiB.
};

struct RetentionResult {
  std::vector<std::string> pruned;  // Segment file names.
  uint64_t freed_bytes = 0;
  uint64_t store_bytes = 0;   // After.
  uint64_t free_bytes = 0;    // After, on the disk.
  bool within_limits = true;  // False: nothing more could go, recording must stop.
};

// `reason` goes into the tombstone: "size_cap", "free_space_floor".
// Never touches unsealed segments, or segments pinned in incidents.db. When incidents.db exists and
// cannot be read, nothing is pruned.
RetentionResult EnforceRetention(const StoreLayout& layout, const RetentionLimits& limits);

}  // namespace reenact::store

#endif  // REENACT_STORE_WRITER_RETENTION_H_
