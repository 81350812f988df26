#include "store/writer/retention.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "store/format/file_system.h"
#include "store/format/posix_file.h"
#include "store/format/sqlite.h"
#include "store/format/tables.h"
#include "store/writer/internal/manifest.h"

namespace reenact::store {
namespace {

using sqlite::Connection;
using sqlite::Failure;
using sqlite::Statement;

constexpr uint64_t kMaxPercentFloor = uint64_t{5} << 30;

uint64_t BytesOnDisk(const std::string& path) {
  struct stat status {};

  // What it occupies, not its length: that is what removing it gives back.
  return ::stat(path.c_str(), &status) == 0 ? static_cast<uint64_t>(status.st_blocks) * 512 : 0;
}

uint64_t BytesInFolder(const std::string& path) {
  uint64_t bytes = 0;
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) return 0;
  while (const dirent* entry = ::readdir(folder)) {
    struct stat status {};

    const std::string file = path + "/" + entry->d_name;
    if (::lstat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode)) bytes += BytesOnDisk(file);
  }
  ::closedir(folder);
  return bytes;
}

uint64_t FreeFloor(const RetentionLimits& limits, const DiskSpace& space) {
  const auto percent = static_cast<uint64_t>(std::max(0, limits.min_free_percent));
  const uint64_t share = std::min(space.total_bytes / 100 * percent, kMaxPercentFloor);
  return std::max(limits.min_free_bytes, share);
}

// Sealed: its mode forbids writing. Asked of the bits, since root may always write.
bool IsSealed(const std::string& path) {
  struct stat status {};

  return ::stat(path.c_str(), &status) == 0 && (status.st_mode & 0222) == 0;
}

bool ReadColumn(Connection* connection, const char* sql, std::set<std::string>* values) {
  Statement statement;
  if (connection->Prepare(sql, &statement) != Failure::kNone) return false;
  while (statement.Step()) values->emplace(statement.Bytes(0));
  return statement.failure() == Failure::kNone;
}

// What must stay, as incidents.db and the marks in the segments say.
struct Pins {
  std::set<std::string> segments;       // File names.
  std::set<std::string> adopted_marks;  // Ids that incidents.db has taken over.
  std::set<std::string> marked_runs;    // Ids of runs with a mark that it has not.
};

// False: incidents.db is there, and cannot be read.
bool ReadIncidents(const StoreLayout& layout, Pins* pins) {
  struct stat status {};

  if (::stat(layout.incidents().c_str(), &status) != 0) return errno == ENOENT;
  Connection connection;
  return connection.Open(layout.incidents(), sqlite::OpenMode::kReadOnly) == Failure::kNone &&
         ReadColumn(&connection, kSelectPinnedSegments, &pins->segments) &&
         ReadColumn(&connection, kSelectAdoptedMarks, &pins->adopted_marks);
}

// Adds the marks of one segment that nobody has adopted. False: it cannot be read.
bool ReadMarks(const std::string& path, Pins* pins) {
  Connection connection;
  Statement statement;
  if (connection.Open(path, sqlite::OpenMode::kReadOnly) != Failure::kNone ||
      connection.Prepare(kMarkTable.select, &statement) != Failure::kNone) {
    return false;
  }
  while (statement.Step()) {
    const std::string id(statement.Bytes(mark_column::kId));
    if (pins->adopted_marks.contains(id)) continue;
    pins->marked_runs.emplace(statement.Bytes(mark_column::kRun));
  }
  return statement.failure() == Failure::kNone;
}

bool HoldsMarkedRun(const std::string& path, const Pins& pins) {
  if (pins.marked_runs.empty()) return false;
  Connection connection;
  Statement statement;
  // One that cannot be read may hold anything.
  if (connection.Open(path, sqlite::OpenMode::kReadOnly) != Failure::kNone ||
      connection.Prepare(kFindRun, &statement) != Failure::kNone) {
    return true;
  }
  for (const std::string& run : pins.marked_runs) {
    statement.BindBlob(1, run);
    const bool found = statement.Step() || statement.failure() != Failure::kNone;
    statement.Reset();
    if (found) return true;
  }
  return false;
}

// Removes one segment and leaves its tombstone. On a full disk the line has room only after the
// file is gone; everywhere else it comes first, so that a crash between the two never looks like
// theft.
bool Prune(const StoreLayout& layout, std::string_view store_key, const std::string& name,
           std::string_view reason) {
  const std::string path = layout.segments() + "/" + name;
  const bool written = AppendTombstone(layout.manifest(), store_key, name, reason) == 0;
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return false;
  if (!written) (void)AppendTombstone(layout.manifest(), store_key, name, reason);
  return true;
}

class Enforcement {
 public:
  Enforcement(const StoreLayout& layout, const RetentionLimits& limits)
      : layout_(layout), limits_(limits) {}

  RetentionResult Run() {
    Measure();
    if (Excess() == nullptr) return result_;
    Pins pins;
    std::string key;
    result_.within_limits = false;
    if (ReadWholeFile(layout_.key_file(), 4096, &key) != 0 || !ReadIncidents(layout_, &pins)) {
      return result_;
    }
    const std::vector<std::string> names = ListSegments(layout_);
    for (const std::string& name : names) {
      // Marks that cannot be read might be of any segment's runs.
      if (!ReadMarks(layout_.segments() + "/" + name, &pins)) unreadable_.insert(name);
    }
    for (const std::string& name : names) {
      const char* reason = Excess();
      if (reason == nullptr) break;
      Consider(pins, key, name, reason);
    }
    result_.within_limits = Excess() == nullptr;
    return result_;
  }

 private:
  void Measure() {
    result_.store_bytes = BytesInFolder(layout_.root) + BytesInFolder(layout_.segments());
    known_space_ = ReadDiskSpace(layout_.root, &space_);
    result_.free_bytes = space_.free_bytes;
  }

  // Which limit is broken; null: none.
  const char* Excess() const {
    if (result_.store_bytes > limits_.max_store_bytes) return "size_cap";
    if (known_space_ && result_.free_bytes < FreeFloor(limits_, space_)) return "free_space_floor";
    return nullptr;
  }

  void Consider(const Pins& pins, const std::string& key, const std::string& name,
                const char* reason) {
    const std::string path = layout_.segments() + "/" + name;
    if (!IsSealed(path) || unreadable_.contains(name) || pins.segments.contains(name) ||
        HoldsMarkedRun(path, pins)) {
      return;
    }
    const uint64_t bytes = BytesOnDisk(path);
    if (!Prune(layout_, key, name, reason)) return;
    result_.pruned.push_back(name);
    result_.freed_bytes += bytes;
    Measure();
  }

  const StoreLayout& layout_;
  const RetentionLimits& limits_;
  RetentionResult result_;
  DiskSpace space_;
  bool known_space_ = false;
  std::set<std::string> unreadable_;
};

}  // namespace

RetentionResult EnforceRetention(const StoreLayout& layout, const RetentionLimits& limits) {
  return Enforcement(layout, limits).Run();
}

}  // namespace reenact::store
