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

#include "store/drain.h"
#include "store/internal/ring_file.h"
#include "store/internal/sqlite.h"
#include "store/store_layout.h"
#include "store/tables.h"

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
  std::optional<ProcessIdentity> process;  // Absent until the first row is written.
  std::string ring;
};

// Nothing when the file cannot be read.
std::optional<SegmentOwner> ReadOwner(const std::string& path) {
  sqlite::Connection connection;
  int32_t application_id = 0;
  int32_t version = 0;
  if (connection.Open(path, sqlite::OpenMode::kReadOnly) != sqlite::Failure::kNone ||
      connection.ReadVersion(&application_id, &version) != sqlite::Failure::kNone) {
    return std::nullopt;
  }
  const auto meta = [&](const char* key) {
    std::string value;
    const std::string sql = "SELECT CAST(value AS TEXT) FROM meta WHERE key = '" +
                            std::string(key) + "' ORDER BY ordinal DESC LIMIT 1";
    return connection.QueryText(sql.c_str(), &value) == sqlite::Failure::kNone ? value
                                                                               : std::string();
  };
  SegmentOwner owner;
  // A file that is not ours yet has no tables to ask.
  if (application_id == kApplicationId) {
    owner.process = DecodeOwner(meta(kMetaOwner));
    owner.ring = meta(kMetaRing);
  } else if (application_id != 0) {
    return std::nullopt;
  }
  return owner;
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
  std::unique_ptr<SegmentWriter> MakeSegment();
  WriteCode DeclareDamage(const Ring& ring, SegmentWriter* segment);
  bool SealNow(SegmentWriter* segment);

  void SweepSegments();
  void RemoveHalfMade(const std::string& name);
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
  std::string why;
  const std::unique_ptr<Ring> ring = Ring::OpenLeftover(path, &why);
  if (ring == nullptr) {
    if (!why.empty()) Problem(std::move(why));
    return;
  }
  const RingIdentity& identity = ring->identity();
  if (Resolved(identity.store_path) != Resolved(layout_.root)) return;
  // A host that closed all its descriptors has lost the lock of its ring, and lives.
  if (!IsLeft(path) && IsAlive({identity.pid, identity.process_start, identity.boot_id})) return;
  if (!PrepareStore(layout_, &store_key_, &why)) return Problem(std::move(why));
  RemoveHalfMade(identity.other_segment_name);
  std::unique_ptr<SegmentWriter> segment = OpenSegmentOf(*ring);
  Drain drain(ring.get(), true);
  if (!EmptyInto(ring.get(), &drain, &segment)) return;
  if (segment != nullptr && !SealNow(segment.get())) return;
  ring->Remove();
  ++result_.rings;
}

bool Recovery::EmptyInto(Ring* ring, Drain* drain, std::unique_ptr<SegmentWriter>* segment) {
  while (drain->HasWork(segment->get(), true) || ring->damaged_chunks() > 0) {
    if (*segment == nullptr) *segment = MakeSegment();
    if (*segment == nullptr) return false;
    const DrainResult batch = drain->Batch(segment->get(), true);
    WriteCode code = batch.code;
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

std::unique_ptr<SegmentWriter> Recovery::MakeSegment() {
  SegmentOptions options;
  options.segment_id = NewUlid();
  options.path = layout_.segment(options.segment_id);
  options.store_key = store_key_;
  std::unique_ptr<SegmentWriter> segment;
  std::string why;
  if (SegmentWriter::Open(options, &segment, &why) != WriteCode::kOk) {
    unlink(options.path.c_str());  // Nothing was ever in it.
    Problem(std::move(why));
  }
  return segment;
}

bool Recovery::SealNow(SegmentWriter* segment) {
  const auto open_calls = static_cast<int64_t>(segment->open_call_count());
  WriteCode code = segment->CloseOpenCalls();
  if (code == WriteCode::kOk) code = segment->Commit();
  if (code == WriteCode::kOk) {
    result_.incomplete_calls += open_calls;
    code = segment->Seal(layout_.manifest());
  }
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

// A process died between making this file and writing its first row.
void Recovery::RemoveHalfMade(const std::string& name) {
  const std::string path = layout_.segments() + "/" + name;
  if (name.empty() || name.find('/') != std::string::npos || !IsUnsealed(path)) return;
  const std::optional<SegmentOwner> owner = ReadOwner(path);
  if (!owner || owner->process) return;
  for (const char* suffix : {"-wal", "-shm", ""}) unlink((path + suffix).c_str());
}

bool Recovery::IsAbandoned(const std::string& name) {
  const std::string path = layout_.segments() + "/" + name;
  if (!IsUnsealed(path)) return false;
  const std::optional<SegmentOwner> owner = ReadOwner(path);
  // Without an owner it is being made by somebody.
  if (!owner || !owner->process || IsAlive(*owner->process)) return false;
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
    return Problem(std::move(why));
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
