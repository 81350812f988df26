// An exclusive lock between processes: a file that is locked, never removed. The lock goes with the
// process that holds it.

#ifndef REENACT_STORE_READER_INTERNAL_LOCK_FILE_H_
#define REENACT_STORE_READER_INTERNAL_LOCK_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace reenact::store::internal {

// Makes the file, readable by its owner only, unless it is there. SQLite would let everybody read
// it. Whoever opens the file next sees what is wrong with its place.
void MakePrivateFile(const std::string& path);

class LockFile {
 public:
  // Waits up to `wait_ms` (0: does not wait). Errors: Unavailable (somebody else holds it),
  // PermissionDenied.
  static absl::StatusOr<std::unique_ptr<LockFile>> Lock(const std::string& path, int64_t wait_ms);
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

 private:
  explicit LockFile(int fd) : fd_(fd) {}

  int fd_;
};

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_LOCK_FILE_H_
