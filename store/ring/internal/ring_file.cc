#include "store/ring/internal/ring_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "schema/ulid.h"
#include "store/store_layout.h"

namespace reenact::store {
namespace {

constexpr std::string_view kLivingSuffix = ".ring";
constexpr std::string_view kLeftSuffix = ".left";

bool EndsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

std::string ErrnoText(const std::string& what) {
  return what + ": " + std::strerror(errno);
}

// FNV-1a. A name, not a proof: the whole path stands in the ring's header.
std::string HashOfStore(const std::string& store_path) {
  char* resolved = realpath(store_path.c_str(), nullptr);
  const std::string path = resolved != nullptr ? resolved : store_path;
  std::free(resolved);
  uint64_t hash = 14695981039346656037u;
  for (const char c : path) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

// Opens a folder that only we can write, on a memory file system. -1 with `*why`.
int OpenFolder(const std::string& folder, bool create, std::string* why) {
  if (create && mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    *why = ErrnoText(folder);
    return -1;
  }
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    *why = ErrnoText(folder);
    return -1;
  }

  struct stat status {};

  struct statfs kind {};

  if (fstat(fd, &status) != 0 || fstatfs(fd, &kind) != 0) {
    *why = ErrnoText(folder);
  } else if (status.st_uid != geteuid() || (status.st_mode & 077) != 0) {
    *why = folder + ": not a folder of ours alone (owner or mode)";
  } else if (kind.f_type != TMPFS_MAGIC && kind.f_type != RAMFS_MAGIC) {
    *why = folder + ": not on a memory file system";
  } else {
    return fd;
  }
  close(fd);
  return -1;
}

bool LockAsOwner(int fd) {
  struct flock lock {};

  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return fcntl(fd, F_SETLK, &lock) == 0;
}

bool OwnerHoldsLock(int fd) {
  struct flock lock {};

  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

// 0, or why not.
int Allocate(int fd, size_t size) {
  struct rlimit limit {};

  // Growing past the limit would raise SIGXFSZ in the host.
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      limit.rlim_cur < size) {
    return EFBIG;
  }
  return posix_fallocate(fd, 0, static_cast<off_t>(size));
}

// Writes to each page once. A caller shall not pay for the first write to a page (microseconds
// where a hypervisor keeps page tables of its own), not even when the ring fills up for the first
// time behind a stalled disk. Nothing less will do: MAP_POPULATE maps a shared file for reading,
// and MADV_POPULATE_WRITE tells the guest's kernel only.
void TouchPages(char* base, size_t size) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (size_t offset = 0; offset < size; offset += page) {
    volatile char* const byte = base + offset;
    *byte = 0;
  }
}

bool MapShared(int fd, size_t size, RingMapping* out) {
  void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (base == MAP_FAILED) return false;
  madvise(base, size, MADV_DONTFORK);
  madvise(base, size, MADV_DONTDUMP);
  out->base = static_cast<char*>(base);
  out->size = size;
  return true;
}

// Takes a file just made, before a recovery can take it for a leftover and unlink it. From here on
// the owner's lock keeps it.
bool Claim(int fd) {
  struct stat status {};

  const bool ours = flock(fd, LOCK_EX | LOCK_NB) == 0 && LockAsOwner(fd) &&
                    fstat(fd, &status) == 0 && status.st_nlink > 0;
  flock(fd, LOCK_UN);
  return ours;
}

bool CreateIn(const std::string& folder, const std::string& name, size_t size, RingMapping* out,
              std::string* why) {
  const int folder_fd = OpenFolder(folder, true, why);
  if (folder_fd < 0) return false;
  out->path = folder + "/" + name;
  out->fd =
      openat(folder_fd, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  close(folder_fd);
  if (out->fd < 0) {
    *why = ErrnoText(out->path);
    return false;
  }
  int error = Claim(out->fd) ? 0 : EBUSY;
  if (error == 0) error = Allocate(out->fd, size);
  if (error == 0 && !MapShared(out->fd, size, out)) error = errno;
  if (error == 0) {
    TouchPages(out->base, size);
    return true;
  }
  unlink(out->path.c_str());
  close(out->fd);
  out->fd = -1;
  *why =
      out->path + ": cannot allocate " + std::to_string(size) + " bytes: " + std::strerror(error);
  return false;
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::string why;
  const int fd = OpenFolder(folder, false, &why);
  if (fd < 0) return names;
  DIR* listing = fdopendir(fd);
  if (listing == nullptr) {
    close(fd);
    return names;
  }
  while (const dirent* entry = readdir(listing)) names.emplace_back(entry->d_name);
  closedir(listing);
  return names;
}

std::string_view WithoutSuffix(std::string_view path) {
  for (const std::string_view suffix : {kLivingSuffix, kLeftSuffix}) {
    if (EndsWith(path, suffix)) return path.substr(0, path.size() - suffix.size());
  }
  return path;
}

}  // namespace

RingMapping& RingMapping::operator=(RingMapping&& other) noexcept {
  std::swap(base, other.base);
  std::swap(size, other.size);
  std::swap(fd, other.fd);
  path.swap(other.path);
  return *this;
}

RingMapping::~RingMapping() {
  if (base != nullptr) munmap(base, size);
  if (fd >= 0) close(fd);
}

std::vector<std::string> RingFolders() {
  const std::string uid = std::to_string(geteuid());
  const std::string by_login = "/run/user/" + uid + "/reenact";
  std::vector<std::string> folders;
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/') folders.push_back(std::string(runtime) + "/reenact");
  if (folders.empty() || folders.front() != by_login) folders.push_back(by_login);
  folders.push_back("/dev/shm/reenact-" + uid);
  return folders;
}

bool CreateRingFile(const std::string& store_path, size_t size, RingMapping* out,
                    std::string* why) {
  const std::string name = HashOfStore(store_path) + "-" + std::to_string(getpid()) + "-" +
                           schema::ToString(NewUlid()) + std::string(kLivingSuffix);
  std::string reasons;
  for (const std::string& folder : RingFolders()) {
    std::string reason;
    if (CreateIn(folder, name, size, out, &reason)) return true;
    reasons += (reasons.empty() ? "" : "; ") + reason;
  }
  *why = "no memory file system for the ring: " + reasons;
  return false;
}

bool MapWithoutFile(size_t size, RingMapping* out) {
  void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (base == MAP_FAILED) return false;
  madvise(base, size, MADV_DONTFORK);
  madvise(base, size, MADV_DONTDUMP);
  out->base = static_cast<char*>(base);
  out->size = size;
  TouchPages(out->base, size);
  return true;
}

bool OpenLeftoverFile(const std::string& path, RingMapping* out, std::string* why) {
  const int fd = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    *why = ErrnoText(path);
    return false;
  }

  struct stat status {};

  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid()) {
    *why = path + ": not a file of ours";
  } else if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    why->clear();  // Being recovered by somebody else.
  } else if (OwnerHoldsLock(fd)) {
    why->clear();
  } else if (fstat(fd, &status) != 0 || status.st_nlink == 0) {
    why->clear();  // Was recovered by somebody else.
  } else if (status.st_size > 0 && !MapShared(fd, static_cast<size_t>(status.st_size), out)) {
    *why = path + ": cannot be mapped";
  } else {
    out->fd = fd;
    out->path = path;
    return true;
  }
  close(fd);
  return false;
}

std::vector<std::string> RingFilesFor(const std::string& store_path) {
  const std::string prefix = HashOfStore(store_path) + "-";
  const std::string own_prefix = prefix + std::to_string(getpid()) + "-";
  std::vector<std::string> paths;
  for (const std::string& folder : RingFolders()) {
    for (const std::string& name : NamesIn(folder)) {
      if (name.compare(0, prefix.size(), prefix) != 0) continue;
      const bool own = name.compare(0, own_prefix.size(), own_prefix) == 0;
      if (EndsWith(name, kLeftSuffix) || (EndsWith(name, kLivingSuffix) && !own)) {
        paths.push_back(folder + "/" + name);
      }
    }
  }
  return paths;
}

void LetGo(RingMapping* mapping) {
  const std::string left = LeftName(mapping->path);
  if (rename(mapping->path.c_str(), left.c_str()) == 0) mapping->path = left;
  if (mapping->fd >= 0) close(mapping->fd);  // And with it the owner's lock.
  mapping->fd = -1;
}

void RemoveRingFile(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return;
  const std::string folder = path.substr(0, slash);
  for (const std::string& name : NamesIn(folder)) {
    const std::string candidate = folder + "/" + name;
    if (IsSpillOf(path, candidate)) unlink(candidate.c_str());
  }
  unlink(path.c_str());
}

bool IsLeft(std::string_view ring_path) {
  return EndsWith(ring_path, kLeftSuffix);
}

std::string LeftName(std::string_view ring_path) {
  return std::string(WithoutSuffix(ring_path)) + std::string(kLeftSuffix);
}

std::string SpillPath(std::string_view ring_path, uint64_t number) {
  return std::string(WithoutSuffix(ring_path)) + "." + std::to_string(number) + ".spill";
}

bool IsSpillOf(std::string_view ring_path, std::string_view path) {
  const std::string prefix = std::string(WithoutSuffix(ring_path)) + ".";
  return path.size() > prefix.size() && path.substr(0, prefix.size()) == prefix &&
         EndsWith(path, ".spill") && path.find('/', prefix.size()) == std::string_view::npos;
}

}  // namespace reenact::store
