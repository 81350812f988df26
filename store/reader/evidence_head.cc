#include "store/reader/evidence_head.h"

#include <sys/stat.h>

#include <cerrno>
#include <string_view>

#include "absl/strings/str_cat.h"

#include "store/format/file_digest.h"
#include "store/reader/internal/file_status.h"
#include "store/reader/internal/manifest_file.h"
#include "store/reader/internal/segment_set.h"
#include "store/store_layout.h"

namespace reenact::store {
namespace {

absl::StatusOr<EvidenceHead> HeadOfStore(const StoreLayout& layout, int64_t lines) {
  std::string text;
  if (const int code = internal::ReadManifestText(layout, &text); code != 0 && code != ENOENT)
    return internal::FileStatus(code, layout.manifest());
  EvidenceHead head{.is_store = true};
  size_t end = 0;
  while (lines == 0 || head.lines < lines) {
    const size_t newline = text.find('\n', end);
    if (newline == std::string::npos) break;
    end = newline + 1;
    if (++head.lines == 1)
      head.first_line = schema::HashBytes(std::string_view(text).substr(0, end));
  }
  if (head.lines == 0)
    return absl::FailedPreconditionError(
        absl::StrCat(layout.root, " has no manifest yet: nothing was sealed"));
  if (head.lines < lines)
    return absl::OutOfRangeError(absl::StrCat("the manifest has ", head.lines, " lines"));
  head.bytes = static_cast<int64_t>(end);
  head.sha256 = schema::HashBytes(std::string_view(text).substr(0, end));
  return head;
}

}  // namespace

absl::StatusOr<EvidenceHead> ReadEvidenceHead(const std::string& path, int64_t lines) {
  struct stat status {};

  if (stat(path.c_str(), &status) != 0) return internal::CannotRead(path);
  if (S_ISDIR(status.st_mode)) return HeadOfStore(StoreLayout{path}, lines);
  EvidenceHead head{.bytes = int64_t{status.st_size}};
  if (const int code = DigestOfFile(path, &head.sha256); code != 0)
    return internal::FileStatus(code, path);
  return head;
}

}  // namespace reenact::store
