// The file of the catalog, which may fail without anybody being told: it is then made anew, and
// where that fails too, held in memory.

#ifndef REENACT_STORE_READER_INTERNAL_CATALOG_FILE_H_
#define REENACT_STORE_READER_INTERNAL_CATALOG_FILE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "store/reader/internal/catalog_db.h"

namespace reenact::store::internal {

// Takes everything out of the catalog at `path`, if there is one: whoever needs it next fills it
// again. In place and not by removing the file, for another process may have it open, and would
// leave the journal of what it has beside the one that took its name.
// Errors: Unavailable (it is in use for long), PermissionDenied.
absl::Status EmptyCatalog(const std::string& path);

class CatalogFile {
 public:
  // `path` empty: in memory.
  explicit CatalogFile(std::string path);

  bool is_persistent() const { return !path_.empty(); }

  // Runs `work` under the lock of the file; when the catalog itself fails in it, again on a new
  // file, and then in memory. `work` begins anew each time.
  absl::Status Update(const std::function<absl::Status()>& work);

  // Within Update.
  CatalogDb& db() { return *db_; }

  // Hands on what db() returned, and remembers when it failed: such failures end in another
  // catalog, those of segments do not.
  absl::Status Kept(absl::Status status) {
    failure_.Update(status);
    return status;
  }

  template <typename Value>
  absl::StatusOr<Value> Kept(absl::StatusOr<Value> value) {
    failure_.Update(value.status());
    return value;
  }

  bool failed() const { return !failure_.ok(); }

  // An empty catalog in the place of this one.
  void StartAnew() { Replace(/*in_memory=*/path_.empty()); }

 private:
  void Replace(bool in_memory);

  std::string path_;  // Empty: in memory.
  std::unique_ptr<CatalogDb> db_;
  absl::Status failure_;
};

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_CATALOG_FILE_H_
