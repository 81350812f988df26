#include "store/writer/internal/segment_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>

#include "store/format/migration.h"
#include "store/format/posix_file.h"
#include "store/store_layout.h"

namespace reenact::store {
namespace {

using sqlite::Failure;

constexpr int64_t kPageBytes = 4096;
constexpr int64_t kCheckpointFrames = (int64_t{4} << 20) / kPageBytes;
// While a reader keeps the WAL from starting again, a try is made only when it has grown by as much
// again.
constexpr int64_t kRetryFrames = (int64_t{1} << 20) / kPageBytes;
// A reader that is in the way at the end is not waited for: the ring is filling up meanwhile.
constexpr int kSealTimeoutMs = 200;

// SQLite would make the file readable by all.
int MakeFile(const std::string& path, bool* made) {
  FileDescriptor file;
  const int code = OpenFile(path, O_RDWR | O_CREAT | O_EXCL, 0600, &file);
  *made = code == 0;
  return code != 0 ? code : SyncFolder(FolderOf(path));
}

int CheckWritable(const std::string& path) {
  struct stat status {};

  if (::stat(path.c_str(), &status) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return kNoRegularFile;
  // The mode bits tell a sealed file even to root, whom access() lets through.
  return (status.st_mode & 0200) != 0 ? 0 : EACCES;
}

}  // namespace

WriteCode ErrnoToWriteCode(int code) {
  switch (code) {
    case 0:
      return WriteCode::kOk;
    case ENOSPC:
    case EDQUOT:
      return WriteCode::kFull;
    case EROFS:
    case EACCES:
    case EPERM:
    case EEXIST:
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case kNoRegularFile:
      return WriteCode::kRefused;
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return WriteCode::kUnavailable;
    default:
      return WriteCode::kBroken;
  }
}

WriteCode ToWriteCode(Failure failure) {
  switch (failure) {
    case Failure::kNone:
      return WriteCode::kOk;
    case Failure::kBusy:
    case Failure::kNoMemory:
      return WriteCode::kUnavailable;
    case Failure::kFull:
      return WriteCode::kFull;
    case Failure::kReadOnly:
      return WriteCode::kRefused;
    case Failure::kConstraint:
    case Failure::kTooBig:
      return WriteCode::kInvalid;
    case Failure::kIo:
    case Failure::kCannotOpen:
    case Failure::kCorrupt:
    case Failure::kNotADatabase:
    case Failure::kOther:
      return WriteCode::kBroken;
  }
  return WriteCode::kBroken;
}

WriteCode SegmentFile::Fail(Failure failure, const std::string& what, std::string* why) {
  *why = path_ + " " + what + ": " + connection_.message();
  Close();
  return failure == Failure::kNotADatabase ? WriteCode::kRefused : ToWriteCode(failure);
}

WriteCode SegmentFile::Open(const SegmentOptions& options, std::string* why) {
  path_ = options.path;
  wal_ = !options.deterministic;
  if (const std::string type = NetworkFileSystem(FolderOf(path_)); wal_ && !type.empty()) {
    *why = path_ + " lies on a network file system (" + type + ")";
    return WriteCode::kRefused;
  }
  const bool create = options.open == SegmentOptions::Open::kCreate;
  if (const int code = create ? MakeFile(path_, &made_) : CheckWritable(path_); code != 0) {
    *why = path_ + (create ? " cannot be made: " : " cannot be opened for writing: ") +
           DescribeErrno(code);
    return ErrnoToWriteCode(code);
  }
  Failure failure = connection_.Open(path_, sqlite::OpenMode::kReadWrite);
  if (failure != Failure::kNone) return Fail(failure, "cannot be opened", why);
  // Before anything is written: the page size and the journal are part of the first page.
  const char* journal = wal_ ? "PRAGMA page_size=4096; PRAGMA journal_mode=WAL;"
                               "PRAGMA wal_autocheckpoint=0; PRAGMA journal_size_limit=8388608"
                             : "PRAGMA page_size=4096; PRAGMA journal_mode=MEMORY";
  if (create) failure = connection_.Execute(journal);
  if (failure != Failure::kNone) return Fail(failure, "cannot be set up", why);
  std::string problem;
  switch (Migrate(&connection_, SegmentPlan(), &failure, &problem)) {
    case MigrationResult::kOk:
      break;
    case MigrationResult::kForeign:
    case MigrationResult::kNewer:
      *why = path_ + " may not be written: " + problem;
      Close();
      return WriteCode::kRefused;
    case MigrationResult::kFailed:
      *why = path_ + " " + problem;
      Close();
      return ToWriteCode(failure);
  }
  if (!create) failure = connection_.Execute(journal);
  if (failure != Failure::kNone) return Fail(failure, "cannot be set up", why);
  checkpoint_at_frames_ = kCheckpointFrames;
  if (wal_) sqlite3_wal_hook(connection_.handle(), &SegmentFile::OnWalCommit, this);
  return WriteCode::kOk;
}

void SegmentFile::RemoveIfMade() noexcept {
  Close();
  if (!made_) return;
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    try {
      ::unlink((path_ + suffix).c_str());
    } catch (const std::bad_alloc&) {
      // An empty file stays; whoever lists segments finds no run in it.
    }
  }
}

int SegmentFile::OnWalCommit(void* self, sqlite3*, const char*, int frames) {
  static_cast<SegmentFile*>(self)->wal_frames_ = frames;
  return SQLITE_OK;
}

Failure SegmentFile::CheckpointIfDue() {
  if (!wal_ || !connection_.is_open()) return Failure::kNone;
  if (wal_frames_ < kCheckpointFrames) checkpoint_at_frames_ = kCheckpointFrames;
  if (wal_frames_ < checkpoint_at_frames_) return Failure::kNone;
  const Failure failure = connection_.RunCheckpoint(sqlite::Connection::Checkpoint::kPassive);
  if (failure != Failure::kNone && failure != Failure::kBusy) return failure;
  checkpoint_at_frames_ = wal_frames_ + kRetryFrames;
  return Failure::kNone;
}

Failure SegmentFile::EndJournal() {
  if (ended_) return Failure::kNone;
  Failure failure = Failure::kNone;
  if (!connection_.is_open()) failure = connection_.Open(path_, sqlite::OpenMode::kReadWrite);
  if (failure == Failure::kNone && wal_) failure = LeaveWal();
  ended_ = failure == Failure::kNone;
  // After a failure as well: half way through, SQLite takes the journal mode for changed and would
  // say so next time, while the file says otherwise. A new connection asks the file.
  if (!ended_) problem_ = connection_.message();
  Close();
  return failure;
}

Failure SegmentFile::LeaveWal() {
  sqlite3_busy_timeout(connection_.handle(), kSealTimeoutMs);
  Failure failure = connection_.RunCheckpoint(sqlite::Connection::Checkpoint::kTruncate);
  std::string mode;
  if (failure == Failure::kNone) {
    failure = connection_.QueryText("PRAGMA journal_mode=DELETE", &mode);
  }
  return failure == Failure::kNone && mode != "delete" ? Failure::kBusy : failure;
}

std::string SegmentFile::message() const {
  return path_ + ": " + (connection_.is_open() ? connection_.message() : problem_);
}

int SegmentFile::MakeReadOnly() {
  // SQLite removes them, but does not say so when it could not. Both are empty by now.
  for (const char* suffix : {"-wal", "-shm"}) {
    if (::unlink((path_ + suffix).c_str()) != 0 && errno != ENOENT) return errno;
  }
  FileDescriptor file;
  int code = OpenFile(path_, O_RDONLY, 0, &file);
  if (code == 0) code = SyncFile(file.get());
  if (code == 0 && ::fchmod(file.get(), 0444) != 0) code = errno;
  // The -wal and -shm that went are entries of the folder.
  return code != 0 ? code : SyncFolder(FolderOf(path_));
}

uint64_t SegmentFile::size_bytes() const {
  uint64_t size = 0;
  for (const char* suffix : {"", "-wal"}) {
    struct stat status {};

    if (::stat((path_ + suffix).c_str(), &status) == 0)
      size += static_cast<uint64_t>(status.st_size);
  }
  return size;
}

}  // namespace reenact::store
