#include "store/reader/internal/file_status.h"

#include <cerrno>

#include "absl/strings/str_cat.h"

#include "store/format/posix_file.h"

namespace reenact::store::internal {

absl::Status FileStatus(int code, const std::string& path) {
  if (code == 0) return absl::OkStatus();
  const std::string text = absl::StrCat(path, ": ", DescribeErrno(code));
  switch (code) {
    case ENOENT:
      return absl::NotFoundError(text);
    case EEXIST:
      return absl::AlreadyExistsError(text);
    case ENOSPC:
    case EDQUOT:
      return absl::ResourceExhaustedError(text);
    default:
      return absl::PermissionDeniedError(text);
  }
}

}  // namespace reenact::store::internal
