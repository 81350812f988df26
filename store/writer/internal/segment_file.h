// The file of a segment: made or found, checked, opened for writing, and sealed at the end.

#ifndef REENACT_STORE_WRITER_INTERNAL_SEGMENT_FILE_H_
#define REENACT_STORE_WRITER_INTERNAL_SEGMENT_FILE_H_

#include <cstdint>
#include <string>

#include "store/format/sqlite.h"
#include "store/writer/segment_writer.h"

namespace reenact::store {

WriteCode ToWriteCode(sqlite::Failure failure);
WriteCode ErrnoToWriteCode(int code);  // 0: kOk.

class SegmentFile {
 public:
  // Makes the file (0600) or opens it, checks that it is ours, migrates it, sets the journal up.
  // `*why` is one sentence that names the path, unless kOk.
  WriteCode Open(const SegmentOptions& options, std::string* why);

  // After a failure on the way: removes the file if Open made it, so that nothing half made is
  // found.
  void RemoveIfMade() noexcept;

  // Copies the WAL into the file once it is 4 MB long. A reader that holds parts of it is waited
  // for by later calls, not by this one.
  sqlite::Failure CheckpointIfDue();
  // Checkpoints, ends WAL mode and closes: all statements must be gone, and nothing can be written
  // any more. kBusy: a reader is in the way; nothing is lost, try again later.
  sqlite::Failure EndJournal();

  // Syncs the closed file and makes it read-only. 0, or errno.
  int MakeReadOnly();

  // File and WAL.
  uint64_t size_bytes() const;

  sqlite::Connection& connection() { return connection_; }

  const std::string& path() const { return path_; }

  // What failed last: the path and SQLite's own words.
  std::string message() const;

 private:
  void Close() { connection_ = sqlite::Connection(); }

  sqlite::Failure LeaveWal();
  WriteCode Fail(sqlite::Failure failure, const std::string& what, std::string* why);
  static int OnWalCommit(void* self, sqlite3* handle, const char* name, int frames);

  std::string path_;
  bool made_ = false;
  bool wal_ = true;
  bool ended_ = false;
  std::string problem_;  // Of the connection that is closed.
  // Of the WAL; moved by its hook.
  int64_t wal_frames_ = 0;
  int64_t checkpoint_at_frames_ = 0;
  sqlite::Connection connection_;
};

}  // namespace reenact::store

#endif  // REENACT_STORE_WRITER_INTERNAL_SEGMENT_FILE_H_
