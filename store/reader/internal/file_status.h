// A failed call on a file, as a status.

#ifndef REENACT_STORE_READER_INTERNAL_FILE_STATUS_H_
#define REENACT_STORE_READER_INTERNAL_FILE_STATUS_H_

#include <string>

#include "absl/status/status.h"

namespace reenact::store::internal {

// `code` is an errno, 0 is Ok. Names the file. Errors: NotFound, AlreadyExists, ResourceExhausted
// (the disk or the quota is full), else PermissionDenied.
absl::Status FileStatus(int code, const std::string& path);

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_FILE_STATUS_H_
