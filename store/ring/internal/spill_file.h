// Bodies that were too large for the ring, on its file system.

#ifndef REENACT_STORE_RING_INTERNAL_SPILL_FILE_H_
#define REENACT_STORE_RING_INTERNAL_SPILL_FILE_H_

#include <cstdint>
#include <string>

namespace reenact::store {

// Reads at most `size` bytes, as many as are there. False when the file is not one of ours.
bool ReadSpill(const std::string& path, uint64_t size, std::string* out);
// Zeroes and unlinks it.
void RemoveSpill(const std::string& path);

}  // namespace reenact::store

#endif  // REENACT_STORE_RING_INTERNAL_SPILL_FILE_H_
