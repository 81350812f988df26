// Which file system a path lies on, and how full it is. Everything that asks the machine goes
// through a FileSystemProbe, so that tests can put a store on an NFS mount or a full disk that is
// not there.

#ifndef REENACT_STORE_FORMAT_FILE_SYSTEM_H_
#define REENACT_STORE_FORMAT_FILE_SYSTEM_H_

#include <sys/statfs.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace reenact::store {

struct FileSystemProbe {
  int (*statfs)(const char* path, struct statfs* out) = &::statfs;
  // The text of /proc/self/mountinfo.
  std::string (*mount_info)() = nullptr;  // Null: read the file.
};

// Replaces the probe of this process; null restores the real one. `probe` must outlive its use.
void SetFileSystemProbeForTesting(const FileSystemProbe* probe);

// The type, as in /proc/mounts, of a file system that SQLite cannot live on ("nfs", "fuse.sshfs"),
// or empty. `mount_type` is its name in mountinfo; asked only where `magic` is that of FUSE.
std::string ClassifyFileSystem(int64_t magic, std::string_view mount_type);

// The type of the mount whose device is `major:minor`, from the text of mountinfo.
std::string MountTypeOfDevice(std::string_view mount_info, std::string_view device);

struct DiskSpace {
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;  // For an ordinary user.
};

// False: it could not be told.
bool ReadDiskSpace(const std::string& path, DiskSpace* space);

}  // namespace reenact::store

#endif  // REENACT_STORE_FORMAT_FILE_SYSTEM_H_
