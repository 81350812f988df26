#include "store/reader/internal/catalog_file.h"

#include <sqlite3.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"

#include "store/format/posix_file.h"
#include "store/reader/internal/lock_file.h"
#include "store/reader/internal/record_file.h"

namespace reenact::store::internal {
namespace {

constexpr int64_t kLockWaitMs = 5000;
// A catalog of a large store takes its time to be filled.
constexpr int64_t kEmptyingWaitMs = 60'000;

void RemoveCatalog(const std::string& path) {
  for (const char* suffix : {"", "-journal"}) unlink(absl::StrCat(path, suffix).c_str());
}

}  // namespace

absl::Status EmptyCatalog(const std::string& path) {
  if (access(path.c_str(), F_OK) != 0) {
    RemoveCatalog(path);  // A journal alone.
    return absl::OkStatus();
  }
  auto lock = LockFile::Lock(absl::StrCat(path, ".lock"), kEmptyingWaitMs);
  if (!lock.ok()) return lock.status();
  sqlite::Connection connection;
  sqlite::Failure failure = connection.Open(path, sqlite::OpenMode::kReadWrite);
  if (failure == sqlite::Failure::kNone) {
    sqlite3_db_config(connection.handle(), SQLITE_DBCONFIG_RESET_DATABASE, 1, nullptr);
    failure = connection.Execute("VACUUM");
    sqlite3_db_config(connection.handle(), SQLITE_DBCONFIG_RESET_DATABASE, 0, nullptr);
  }
  if (failure == sqlite::Failure::kNone) return absl::OkStatus();
  absl::Status status = ToStatus(failure, connection, FileNameOf(path), "emptying it failed");
  if (!absl::IsDataLoss(status)) return status;
  connection = sqlite::Connection();
  RemoveCatalog(path);  // Damaged: nobody can use it.
  return absl::OkStatus();
}

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
    RemoveCatalog(path_);
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
