#include "store/reader/internal/catalog_file.h"

#include <unistd.h>

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"

#include "store/reader/internal/lock_file.h"

namespace reenact::store::internal {
namespace {

constexpr int64_t kLockWaitMs = 5000;

}  // namespace

CatalogFile::CatalogFile(std::string path) : path_(std::move(path)) {
  if (auto opened = CatalogDb::Open(path_); opened.ok()) {
    db_ = *std::move(opened);
  } else {
    // A newer version is somebody else's; one that may not be written is of no use.
    Replace(/*in_memory=*/!absl::IsDataLoss(opened.status()));
  }
}

void CatalogFile::Replace(bool in_memory) {
  db_.reset();
  failure_ = absl::OkStatus();
  if (!in_memory && !path_.empty()) {
    for (const char* suffix : {"", "-journal"}) unlink(absl::StrCat(path_, suffix).c_str());
    if (auto opened = CatalogDb::Open(path_); opened.ok()) db_ = *std::move(opened);
  }
  if (db_ != nullptr) return;
  path_.clear();
  if (auto opened = CatalogDb::Open(""); opened.ok()) db_ = *std::move(opened);
}

absl::Status CatalogFile::Update(const std::function<absl::Status()>& work) {
  std::unique_ptr<LockFile> lock;
  if (!path_.empty()) {
    auto locked = LockFile::Lock(absl::StrCat(path_, ".lock"), kLockWaitMs);
    if (locked.ok())
      lock = *std::move(locked);
    else
      Replace(/*in_memory=*/true);
  }
  // On the catalog as it is, then on a new file, then in memory.
  for (int attempt = 0;; ++attempt) {
    if (db_ == nullptr) Replace(/*in_memory=*/attempt > 0);
    if (db_ == nullptr) return absl::ResourceExhaustedError("no memory for a catalog");
    absl::Status done = work();
    if (failure_.ok()) return done;
    if (attempt == 2) break;
    db_->Rollback();
    Replace(/*in_memory=*/attempt == 1);
  }
  return std::exchange(failure_, absl::OkStatus());
}

}  // namespace reenact::store::internal
