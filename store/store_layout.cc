#include "store/store_layout.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "schema/sha256.h"
#include "store/format/posix_file.h"

namespace reenact::store {
namespace {

constexpr size_t kKeySize = 32;
constexpr std::string_view kSegmentSuffix = ".db";
constexpr size_t kUlidSize = 26;
// SQLite opens no file of a longer path: MAX_PATHNAME of its os_unix.c, less the end of what it
// writes beside one, "-journal".
constexpr size_t kLongestPath = 512 - 8;

// Makes `path` and its parents. 0, or errno.
int MakeFolders(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return 0;
  if (errno == ENOENT) {
    const std::string parent = FolderOf(path);
    if (parent == path) return ENOENT;
    if (const int code = MakeFolders(parent); code != 0) return code;
    if (::mkdir(path.c_str(), 0700) == 0) return 0;
  }
  const int code = errno;

  // Some file systems say EROFS or EACCES of a folder that is there already.
  struct stat status {};

  if (::stat(path.c_str(), &status) != 0) return code;
  return S_ISDIR(status.st_mode) ? 0 : ENOTDIR;
}

std::string Refusal(const std::string& path, int code) {
  switch (code) {
    case EROFS:
      return path + " lies on a read-only file system";
    case EACCES:
    case EPERM:
      return "no permission to write " + path;
    case ENOTDIR:
    case EEXIST:
      return path + " is not a folder, but a file stands in its way";
    case ENOSPC:
    case EDQUOT:
      return "no room on the disk for " + path;
    default:
      return path + " cannot be written: " + DescribeErrno(code);
  }
}

// Writes a new key beside its place and links it there: of two processes one wins, and the file is
// never seen half written. 0, EEXIST, or errno.
int MakeKey(const StoreLayout& layout) {
  std::string key(kKeySize, '\0');
  FillRandom(key.data(), key.size());
  const std::string temporary = layout.key_file() + "." + schema::ToString(NewUlid());
  FileDescriptor file;
  int code = OpenFile(temporary, O_WRONLY | O_CREAT | O_EXCL, 0600, &file);
  if (code != 0) return code;
  code = WriteAll(file.get(), key);
  if (code == 0) code = SyncFile(file.get());
  if (code == 0 && ::link(temporary.c_str(), layout.key_file().c_str()) != 0) code = errno;
  ::unlink(temporary.c_str());
  if (code == 0) code = SyncFolder(layout.root);
  return code;
}

bool LoadKey(const StoreLayout& layout, std::string* key, std::string* why) {
  int code = ReadWholeFile(layout.key_file(), 4096, key);
  if (code == ENOENT) {
    code = MakeKey(layout);
    if (code == 0 || code == EEXIST) code = ReadWholeFile(layout.key_file(), 4096, key);
  }
  if (code != 0) {
    *why = layout.key_file() + " cannot be read or made: " + DescribeErrno(code);
    return false;
  }
  if (key->size() != kKeySize) {
    *why = layout.key_file() + " holds " + std::to_string(key->size()) + " bytes instead of 32";
    return false;
  }
  return true;
}

struct ProcStat {
  char state = '?';
  int64_t threads = 0;
  int64_t start = 0;
};

// Fields 3, 20 and 22 of /proc/<pid>/stat; the name in field 2 may hold anything, so count from its
// end.
bool ReadProcStat(const std::string& path, ProcStat* out) {
  std::string text;
  if (ReadWholeFile(path, 65536, &text) != 0) return false;
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return false;
  out->state = text[name_end + 2];
  size_t at = name_end + 2;
  for (int field = 3; field <= 22; ++field) {
    const char* begin = text.data() + at;
    const char* end = text.data() + text.size();
    if (field == 20) std::from_chars(begin, end, out->threads);
    if (field == 22) return std::from_chars(begin, end, out->start).ec == std::errc();
    at = text.find(' ', at);
    if (at == std::string::npos) return false;
    ++at;
  }
  return false;
}

// "<boot id>.<pid namespace>": process ids mean something only within one of each.
std::string BootAndNamespace() {
  std::string boot;
  ReadWholeFile("/proc/sys/kernel/random/boot_id", 256, &boot);
  while (!boot.empty() && boot.back() == '\n') boot.pop_back();

  struct stat status {};

  if (::stat("/proc/self/ns/pid", &status) == 0) boot += "." + std::to_string(status.st_ino);
  return boot;
}

std::string_view BootOf(std::string_view boot_id) {
  return boot_id.substr(0, boot_id.find('.'));
}

// The path of a segment in this folder, as SQLite sees it: without links, from the root.
std::string RealSegmentPath(const std::string& folder) {
  std::string path = folder;
  if (char* const whole = ::realpath(folder.c_str(), nullptr); whole != nullptr) {
    path = whole;
    ::free(whole);
  }
  return path + '/' + std::string(kUlidSize, '0') + std::string(kSegmentSuffix);
}

}  // namespace

std::string StoreLayout::segment(const schema::Ulid& id) const {
  return segments() + "/" + schema::ToString(id) + std::string(kSegmentSuffix);
}

std::string DefaultStorePath(const char* reenact_store, const char* xdg_data_home,
                             const char* home) {
  const auto given = [](const char* value) { return value != nullptr && *value != '\0'; };
  if (given(reenact_store)) return reenact_store;
  if (given(xdg_data_home)) return std::string(xdg_data_home) + "/reenact";
  return std::string(given(home) ? home : "") + "/.local/share/reenact";
}

bool PrepareStore(const StoreLayout& layout, std::string* key, std::string* why) {
  if (const std::string type = NetworkFileSystem(layout.root); !type.empty()) {
    *why = layout.root + " lies on a network file system (" + type +
           "), where SQLite's locks and shared memory do not hold; choose a folder on a local disk";
    return false;
  }
  for (const std::string& folder : {layout.root, layout.segments()}) {
    int code = MakeFolders(folder);
    if (code == 0 && ::access(folder.c_str(), W_OK | X_OK) != 0) code = errno;
    if (code != 0) {
      *why = Refusal(folder, code);
      return false;
    }
  }
  if (std::string segment = RealSegmentPath(layout.segments()); segment.size() > kLongestPath) {
    // The path last: it may not fit into what tells of it.
    *why = "the path of the store is too long: SQLite opens files of at most " +
           std::to_string(kLongestPath) + " bytes, and a segment would have " +
           std::to_string(segment.size()) + " in " + layout.root;
    return false;
  }
  return LoadKey(layout, key, why);
}

ProcessIdentity ThisProcess() {
  ProcessIdentity process;
  process.pid = ::getpid();
  ProcStat stat;
  if (ReadProcStat("/proc/self/stat", &stat)) process.start = stat.start;
  process.boot_id = BootAndNamespace();
  return process;
}

bool IsAlive(const ProcessIdentity& process) {
  const std::string here = BootAndNamespace();
  if (BootOf(process.boot_id) != BootOf(here)) return false;
  // From another container nothing can be told until the machine restarts: hands off.
  if (process.boot_id != here) return true;
  if (process.pid <= 0) return false;
  ProcStat stat;
  if (ReadProcStat("/proc/" + std::to_string(process.pid) + "/stat", &stat)) {
    // A zombie with further threads is a process whose main thread ended first.
    const bool gone = stat.state == 'X' || (stat.state == 'Z' && stat.threads <= 1);
    return !gone && stat.start == process.start;
  }
  // Without /proc only the number is left to go by.
  return process.start == 0 && (::kill(static_cast<pid_t>(process.pid), 0) == 0 || errno == EPERM);
}

std::string EncodeOwner(const ProcessIdentity& process) {
  return std::to_string(process.pid) + " " + std::to_string(process.start) + " " + process.boot_id;
}

std::optional<ProcessIdentity> DecodeOwner(std::string_view text) {
  ProcessIdentity process;
  const char* end = text.data() + text.size();
  const auto pid = std::from_chars(text.data(), end, process.pid);
  if (pid.ec != std::errc() || pid.ptr == end || *pid.ptr != ' ') return std::nullopt;
  const auto start = std::from_chars(pid.ptr + 1, end, process.start);
  if (start.ec != std::errc() || start.ptr == end || *start.ptr != ' ') return std::nullopt;
  process.boot_id.assign(start.ptr + 1, end);
  return process;
}

std::vector<std::string> ListSegments(const StoreLayout& layout) {
  std::vector<std::string> names;
  DIR* folder = ::opendir(layout.segments().c_str());
  if (folder == nullptr) return names;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (name.size() == kUlidSize + kSegmentSuffix.size() && name.ends_with(kSegmentSuffix) &&
        schema::ParseUlid(name.substr(0, kUlidSize)).has_value()) {
      names.emplace_back(name);
    }
  }
  ::closedir(folder);
  std::sort(names.begin(), names.end());
  return names;
}

int64_t WallNowNs() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

int64_t MonotonicNowNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

namespace {

schema::Ulid UlidAt(int64_t unix_ms) {
  std::array<uint8_t, 10> entropy{};
  FillRandom(entropy.data(), entropy.size());
  return schema::MakeUlid(unix_ms, entropy);
}

}  // namespace

schema::Ulid NewUlid() {
  return UlidAt(WallNowNs() / 1'000'000);
}

schema::Ulid NewSegmentId(const StoreLayout& layout) {
  constexpr int64_t kLastMs = (int64_t{1} << 48) - 1;
  int64_t unix_ms = WallNowNs() / 1'000'000;
  if (const std::vector<std::string> names = ListSegments(layout); !names.empty()) {
    const auto newest = schema::ParseUlid(std::string_view(names.back()).substr(0, kUlidSize));
    if (newest.has_value()) unix_ms = std::max(unix_ms, schema::UnixMs(*newest) + 1);
  }
  return UlidAt(std::min(unix_ms, kLastMs));
}

void FillRandom(void* out, size_t size) {
  auto* bytes = static_cast<uint8_t*>(out);
  size_t filled = 0;
  while (filled < size) {
    const ssize_t got = ::getrandom(bytes + filled, size - filled, 0);
    if (got > 0) {
      filled += static_cast<size_t>(got);
    } else if (errno != EINTR) {
      break;
    }
  }
  if (filled == size) return;
  // No getrandom (a sandbox that forbids it): the device, read whole or not at all.
  FileDescriptor device;
  if (OpenFile("/dev/urandom", O_RDONLY, 0, &device) == 0) {
    while (filled < size) {
      const ssize_t got = ::read(device.get(), bytes + filled, size - filled);
      if (got <= 0) break;
      filled += static_cast<size_t>(got);
    }
  }
  // Neither: what follows is unique, though not secret. Ids stay distinct.
  for (uint64_t block = 0; filled < size; ++block) {
    const uint64_t seed[] = {
        static_cast<uint64_t>(WallNowNs()), static_cast<uint64_t>(MonotonicNowNs()),
        static_cast<uint64_t>(::getpid()), reinterpret_cast<uintptr_t>(&seed), block};
    const schema::Digest digest =
        schema::HashBytes({reinterpret_cast<const char*>(seed), sizeof(seed)});
    const size_t part = std::min(digest.size(), size - filled);
    ::memcpy(bytes + filled, digest.data(), part);
    filled += part;
  }
}

}  // namespace reenact::store
