// Small files, read and written whole.

#ifndef REENACT_TOOLS_REENACT_IO_WRITE_FILE_H_
#define REENACT_TOOLS_REENACT_IO_WRITE_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace reenact::tools {

// Written beside `path` and renamed over it: readers see the old file or the new one.
// Errors: AlreadyExists unless `replace`; PermissionDenied; ResourceExhausted for a full disk.
absl::Status WriteFile(const std::string& path, const std::string& bytes, bool replace);
// Errors: NotFound; PermissionDenied.
absl::StatusOr<std::string> ReadFile(const std::string& path);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_IO_WRITE_FILE_H_
