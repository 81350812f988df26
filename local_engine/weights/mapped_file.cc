#include "local_engine/weights/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace reenact::local_engine {

namespace {

int64_t Nanoseconds(const struct timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

FileIdentity IdentityIn(const struct stat& about) {
  return {.device = static_cast<uint64_t>(about.st_dev),
          .inode = static_cast<uint64_t>(about.st_ino),
          .size_bytes = static_cast<uint64_t>(about.st_size),
          .modified_ns = Nanoseconds(about.st_mtim),
          .changed_ns = Nanoseconds(about.st_ctim)};
}

}  // namespace

absl::Status InFile(const std::string& file, const std::string& part, const absl::Status& status) {
  return absl::Status(status.code(), file + ": " + part + ": " + std::string(status.message()));
}

absl::StatusOr<FileIdentity> IdentityOfFile(const std::string& path) {
  struct stat about {};

  if (stat(path.c_str(), &about) != 0) return absl::ErrnoToStatus(errno, path);
  return IdentityIn(about);
}

MappedFile::MappedFile(std::string path, const FileIdentity& identity,
                       std::span<const std::byte> bytes)
    : path_(std::move(path)), identity_(identity), bytes_(bytes) {}

MappedFile::~MappedFile() {
  munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

absl::StatusOr<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return absl::ErrnoToStatus(errno, path);

  struct stat about {};

  if (fstat(descriptor, &about) != 0) {
    const int error = errno;
    close(descriptor);
    return absl::ErrnoToStatus(error, path);
  }
  if (!S_ISREG(about.st_mode) || about.st_size == 0) {
    close(descriptor);
    return absl::InvalidArgumentError(
        path + (S_ISREG(about.st_mode) ? ": is empty" : ": is no regular file"));
  }
  const auto size_bytes = static_cast<size_t>(about.st_size);
  void* data = mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int error = errno;
  close(descriptor);
  if (data == MAP_FAILED) return absl::ErrnoToStatus(error, path);
  return std::shared_ptr<const MappedFile>(
      new MappedFile(path, IdentityIn(about), {static_cast<const std::byte*>(data), size_bytes}));
}

void GiveBackPages(std::span<const std::byte> bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t first = (begin + page - 1) / page * page;
  const uintptr_t end = (begin + bytes.size()) / page * page;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

}  // namespace reenact::local_engine
