// What dead processes left in a store: rings with acknowledged records, and segments that were not
// sealed. A ring knows its segment, and a segment its ring; whoever holds the ring's lock may write
// both, so rings come first, and a segment whose ring is still there is left alone.

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <optional>
#include <utility>

#include "store/format/sqlite.h"
#include "store/format/tables.h"
#include "store/ring/internal/ring_file.h"
#include "store/store_layout.h"
#include "store/writer/drain.h"
#include "store/writer/internal/manifest.h"

namespace reenact::store {
namespace {

std::string Resolved(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  std::string result = resolved != nullptr ? resolved : path;
  std::free(resolved);
  return result;
}

bool Exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

bool IsUnsealed(const std::string& path) {
  struct stat status {};

  return stat(path.c_str(), &status) == 0 && (status.st_mode & 0200) != 0;
}

struct SegmentOwner {
  std::optional<ProcessIdentity> process;
  std::string ring;
};

// Nothing when the file cannot be read, is not ours, or has no owner yet.
std::optional<SegmentOwner> ReadOwner(const std::string& path) {
  sqlite::Connection connection;
  if (connection.Open(path, sqlite::OpenMode::kReadOnly) != sqlite::Failure::kNone) {
    return std::nullopt;
  }
  const auto meta = [&](const char* key) {
    std::string value;
    const std::string sql = "SELECT CAST(value AS TEXT) FROM meta WHERE key = '" +
                            std::string(key) + "' ORDER BY ordinal DESC LIMIT 1";
    return connection.QueryText(sql.c_str(), &value) == sqlite::Failure::kNone ? value
                                                                               : std::string();
  };
  SegmentOwner owner{DecodeOwner(meta(kMetaOwner)), meta(kMetaRing)};
  if (!owner.process) return std::nullopt;
  return owner;
}

// True only when the file was read, and a row was never written to it: a segment's first
// transaction makes its tables, the second writes `meta`, and everything else comes later. What
// cannot be read is not empty. Opened for writing, since a change of journal mode may have been cut
// short; the caller holds the lock of the dead writer's ring.
bool IsKnownToBeEmpty(const std::string& path) {
  struct stat status {};

  if (stat(path.c_str(), &status) != 0) return false;
  if (status.st_size == 0 && !Exists(path + "-wal")) return true;
  sqlite::Connection connection;
  int64_t tables = -1;
  int64_t rows = -1;
  const auto count = [&](const char* sql, int64_t* value) {
    return connection.QueryInteger(sql, value) == sqlite::Failure::kNone;
  };
  if (connection.Open(path, sqlite::OpenMode::kReadWrite) != sqlite::Failure::kNone ||
      !count("SELECT COUNT(*) FROM sqlite_master", &tables)) {
    return false;
  }
  return tables == 0 || (count("SELECT COUNT(*) FROM meta", &rows) && rows == 0);
}

// One sweep over unsealed segments at a time, over all processes.
class SweepLock {
 public:
  explicit SweepLock(const StoreLayout& layout)
      : fd_(open((layout.root + "/recovery.lock").c_str(),
                 O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)),
        held_(fd_ >= 0 && flock(fd_, LOCK_EX | LOCK_NB) == 0) {}

  ~SweepLock() {
    if (fd_ >= 0) close(fd_);
  }

  SweepLock(const SweepLock&) = delete;
  SweepLock& operator=(const SweepLock&) = delete;

  bool held() const { return held_; }

 private:
  int fd_;
  bool held_;
};

class Recovery {
 public:
  explicit Recovery(const std::string& store_path) { layout_.root = store_path; }

  RecoveryResult Run();

 private:
  void RecoverRing(const std::string& path);
  // False: a problem was noted.
  bool EmptyInto(Ring* ring, Drain* drain, std::unique_ptr<SegmentWriter>* segment);
  std::unique_ptr<SegmentWriter> OpenSegmentOf(const Ring& ring);
  std::unique_ptr<SegmentWriter> MakeSegment(Ring* ring);
  WriteCode DeclareDamage(const Ring& ring, SegmentWriter* segment);
  bool SealNow(SegmentWriter* segment);

  void SweepSegments();
  void SettleOther(const std::string& name);
  bool IsAbandoned(const std::string& name);
  void SealAbandoned(const std::string& name);

  void Problem(std::string sentence) { result_.problems.push_back(std::move(sentence)); }

  StoreLayout layout_;
  std::string store_key_;
  RecoveryResult result_;
};

RecoveryResult Recovery::Run() {
  for (const std::string& path : Ring::FindFor(layout_.root)) RecoverRing(path);
  SweepSegments();
  return std::move(result_);
}

// --- rings ---

void Recovery::RecoverRing(const std::string& path) {
  LeftoverRing found = Ring::OpenLeftover(path);
  if (found.state == RingFileState::kNeverOpened) return Ring::RemoveNeverOpened(path);
  if (found.state == RingFileState::kUnreadable) return Problem(std::move(found.why));
  if (found.state == RingFileState::kInUse) return;
  Ring* const ring = found.ring.get();
  std::string why;
  const RingIdentity& identity = ring->identity();
  if (Resolved(identity.store_path) != Resolved(layout_.root)) return;
  // A host that closed all its descriptors has lost the lock of its ring, and lives.
  if (!IsLeft(path) && IsAlive({identity.pid, identity.process_start, identity.boot_id})) return;
  if (!PrepareStore(layout_, &store_key_, &why)) return Problem(std::move(why));
  SettleOther(identity.other_segment_name);
  std::unique_ptr<SegmentWriter> segment = OpenSegmentOf(*ring);
  Drain drain(ring, true);
  if (!EmptyInto(ring, &drain, &segment)) return;
  if (segment != nullptr && !SealNow(segment.get())) return;
  ring->Remove();
  ++result_.rings;
}

bool Recovery::EmptyInto(Ring* ring, Drain* drain, std::unique_ptr<SegmentWriter>* segment) {
  bool fresh = false;
  while (drain->HasWork(segment->get(), true) || ring->damaged_chunks() > 0) {
    if (*segment == nullptr) {
      *segment = MakeSegment(ring);
      fresh = true;
    }
    if (*segment == nullptr) return false;
    const DrainResult batch = drain->Batch(segment->get(), true);
    WriteCode code = batch.code;
    if (code == WriteCode::kRefused && !fresh) {
      // Its seal had begun when its process died. That is finished; the rest goes into a new one.
      if (!SealNow(segment->get())) return false;
      segment->reset();
      continue;
    }
    if (code == WriteCode::kOk && batch.records + batch.lost == 0) {
      code = DeclareDamage(*ring, segment->get());
      if (code == WriteCode::kOk) return true;
    }
    if (code != WriteCode::kOk) {
      Problem((*segment)->path() + " could not take the records of " + ring->path() + ": " +
              (*segment)->last_error());
      return false;
    }
    result_.records += static_cast<int64_t>(batch.records);
  }
  return true;
}

WriteCode Recovery::DeclareDamage(const Ring& ring, SegmentWriter* segment) {
  if (ring.damaged_chunks() == 0) return WriteCode::kOk;
  schema::Gap gap;
  gap.at = {WallNowNs(), MonotonicNowNs()};
  gap.reason = "damaged";
  gap.count = ring.damaged_chunks();
  gap.bytes = ring.damaged_chunks() * kRingChunkSize;
  gap.last_sequence = ring.NextSequence();
  const WriteCode code = segment->AddGap(gap);
  return code == WriteCode::kOk ? segment->Commit() : code;
}

// Null when it is sealed, gone or damaged: the records then go into a new one.
std::unique_ptr<SegmentWriter> Recovery::OpenSegmentOf(const Ring& ring) {
  const std::string& name = ring.identity().segment_name;
  if (name.empty() || name.find('/') != std::string::npos) return nullptr;
  SegmentOptions options;
  options.path = layout_.segments() + "/" + name;
  options.open = SegmentOptions::Open::kReopen;
  options.store_key = store_key_;
  std::unique_ptr<SegmentWriter> segment;
  std::string why;
  if (SegmentWriter::Open(options, &segment, &why) != WriteCode::kOk) return nullptr;
  return segment;
}

// Named in the ring, as its owner would: this recovery may be killed as well.
std::unique_ptr<SegmentWriter> Recovery::MakeSegment(Ring* ring) {
  SegmentOptions options;
  options.segment_id = NewSegmentId(layout_);
  options.path = layout_.segment(options.segment_id);
  options.store_key = store_key_;
  const std::string name = schema::ToString(options.segment_id) + ".db";
  ring->AnnounceSegment(name);
  std::unique_ptr<SegmentWriter> segment;
  std::string why;
  if (SegmentWriter::Open(options, &segment, &why) != WriteCode::kOk) {
    unlink(options.path.c_str());  // Nothing was ever in it.
    Problem(std::move(why));
    return nullptr;
  }
  ring->SetSegmentName(name);
  segment->Announce(layout_.manifest());
  return segment;
}

bool Recovery::SealNow(SegmentWriter* segment) {
  const auto open_calls = static_cast<int64_t>(segment->open_call_count());
  // Closes the open calls first; goes on where a recovery was killed in mid-seal.
  const WriteCode code = segment->Seal(layout_.manifest());
  if (code == WriteCode::kOk) result_.incomplete_calls += open_calls;
  const std::string& path = segment->path();
  // A reader that is in the way keeps the seal for the next sweep, and nothing else.
  if (code == WriteCode::kOk || code == WriteCode::kUnavailable) {
    result_.recovered_segments.push_back(path.substr(path.rfind('/') + 1));
    return true;
  }
  Problem(path + " could not be sealed: " + segment->last_error());
  return false;
}

// --- segments without a ring ---

void Recovery::SweepSegments() {
  const SweepLock lock(layout_);
  if (!lock.held()) return;
  for (const std::string& name : ListSegments(layout_)) {
    if (IsAbandoned(name)) SealAbandoned(name);
  }
}

// The ring's second name: a segment that its process was making when it died, or the one before,
// which it may have been sealing.
void Recovery::SettleOther(const std::string& name) {
  const std::string path = layout_.segments() + "/" + name;
  if (name.empty() || name.find('/') != std::string::npos || !IsUnsealed(path)) return;
  if (!IsKnownToBeEmpty(path)) return SealAbandoned(name);
  // The manifest may know it: a power cut takes rows that were written and not synced.
  std::string why;
  if (!store_key_.empty() || PrepareStore(layout_, &store_key_, &why))
    (void)AppendTombstone(layout_.manifest(), store_key_, name, "empty");
  for (const char* suffix : {"-journal", "-wal", "-shm", ""}) unlink((path + suffix).c_str());
}

bool Recovery::IsAbandoned(const std::string& name) {
  const std::string path = layout_.segments() + "/" + name;
  if (!IsUnsealed(path)) return false;
  const std::optional<SegmentOwner> owner = ReadOwner(path);
  // Without an owner it is being made by somebody.
  if (!owner || IsAlive(*owner->process)) return false;
  return owner->ring.empty() || (!Exists(owner->ring) && !Exists(LeftName(owner->ring)));
}

void Recovery::SealAbandoned(const std::string& name) {
  std::string why;
  if (store_key_.empty() && !PrepareStore(layout_, &store_key_, &why)) {
    return Problem(std::move(why));
  }
  SegmentOptions options;
  options.path = layout_.segments() + "/" + name;
  options.open = SegmentOptions::Open::kReopen;
  options.store_key = store_key_;
  std::unique_ptr<SegmentWriter> segment;
  if (SegmentWriter::Open(options, &segment, &why) != WriteCode::kOk) {
    if (IsUnsealed(options.path)) Problem(std::move(why));  // Else somebody else has sealed it.
    return;
  }
  SealNow(segment.get());
}

}  // namespace

RecoveryResult RecoverStore(const std::string& store_path) {
  try {
    return Recovery(store_path).Run();
  } catch (const std::exception& error) {
    RecoveryResult result;
    result.problems.push_back(store_path + ": " + error.what());
    return result;
  }
}

}  // namespace reenact::store
