#include "store/format/file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>

#include "store/format/posix_file.h"
#include "store/store_layout.h"

namespace reenact::store {
namespace {

constexpr int64_t kFuseMagic = 0x65735546;

// File systems whose locks or shared memory do not hold between machines. Source: statfs(2) and
// linux/magic.h; the numbers are part of the kernel's interface.
constexpr struct {
  int64_t magic;
  const char* name;
} kNetworkTypes[] = {
    {0x6969, "nfs"},        {0x517b, "smb"},        {0xff534d42, "cifs"},
    {0xfe534d42, "smb3"},   {0x01021997, "9p"},     {0x5346414f, "afs"},
    {0x6b414653, "afs"},    {0x00c36400, "ceph"},   {0x0bd00bd0, "lustre"},
    {0x47504653, "gpfs"},   {0x73757245, "coda"},   {0x564c, "ncpfs"},
    {0x7461636f, "ocfs2"},  {0x01161970, "gfs2"},   {0xaad7aaea, "panfs"},
    {0x786f4256, "vboxsf"}, {0x19830326, "beegfs"}, {0x20030528, "orangefs"},
    {0xbacbacbc, "vmhgfs"}, {0x7c7c6673, "prl_fs"}, {0x013111a8, "ibrix"},
};

// FUSE file systems that keep their data on this machine. All others are taken for remote ones:
// guessing wrong there costs recorded data.
constexpr std::string_view kLocalFuseTypes[] = {
    "fuseblk",        "fuse.ntfs-3g", "fuse.exfat",   "fuse.fuse-overlayfs",
    "fuse.gocryptfs", "fuse.cryfs",   "fuse.encfs",   "fuse.bindfs",
    "fuse.mergerfs",  "fuse.ext4",    "fuse.fuse2fs", "fuse.unionfs",
};

std::atomic<const FileSystemProbe*>& ActiveProbe() {
  static const FileSystemProbe real;
  static std::atomic<const FileSystemProbe*> active{&real};
  return active;
}

std::string ReadMountInfo(const FileSystemProbe& probe) {
  if (probe.mount_info != nullptr) return probe.mount_info();
  std::string text;
  ReadWholeFile("/proc/self/mountinfo", size_t{16} << 20, &text);
  return text;
}

// The path itself, or the nearest parent that exists.
std::string NearestExisting(std::string path) {
  struct stat status {};

  while (!path.empty() && ::stat(path.c_str(), &status) != 0) {
    const size_t slash = path.find_last_of('/');
    if (slash == std::string::npos) return ".";
    path.resize(slash);
  }
  return path.empty() ? "/" : path;
}

}  // namespace

void SetFileSystemProbeForTesting(const FileSystemProbe* probe) {
  static const FileSystemProbe real;
  ActiveProbe().store(probe == nullptr ? &real : probe, std::memory_order_release);
}

std::string ClassifyFileSystem(int64_t magic, std::string_view mount_type) {
  // f_type is a signed long: 32-bit magics come sign-extended on some machines.
  const int64_t low = magic & 0xffffffff;
  for (const auto& type : kNetworkTypes) {
    if (type.magic == low) return type.name;
  }
  if (low != kFuseMagic) return "";
  for (const std::string_view local : kLocalFuseTypes) {
    if (local == mount_type) return "";
  }
  return mount_type.empty() ? "fuse" : std::string(mount_type);
}

std::string MountTypeOfDevice(std::string_view mount_info, std::string_view device) {
  // "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw"; see proc(5).
  while (!mount_info.empty()) {
    const size_t end = mount_info.find('\n');
    std::string_view line = mount_info.substr(0, end);
    mount_info.remove_prefix(end == std::string_view::npos ? mount_info.size() : end + 1);
    const size_t separator = line.find(" - ");
    const size_t first = line.find(' ');
    if (separator == std::string_view::npos || first > separator) continue;
    const size_t second = line.find(' ', first + 1);
    const size_t third = line.find(' ', second + 1);
    if (line.substr(second + 1, third - second - 1) != device) continue;
    const std::string_view rest = line.substr(separator + 3);
    return std::string(rest.substr(0, rest.find(' ')));
  }
  return "";
}

bool ReadDiskSpace(const std::string& path, DiskSpace* space) {
  struct statfs status {};

  const std::string place = NearestExisting(path);
  if (ActiveProbe().load(std::memory_order_acquire)->statfs(place.c_str(), &status) != 0)
    return false;
  const auto block = static_cast<uint64_t>(status.f_bsize);
  space->total_bytes = status.f_blocks * block;
  space->free_bytes = status.f_bavail * block;
  return true;
}

std::string NetworkFileSystem(const std::string& path) {
  const FileSystemProbe& probe = *ActiveProbe().load(std::memory_order_acquire);
  const std::string place = NearestExisting(path);

  struct statfs status {};

  if (probe.statfs(place.c_str(), &status) != 0) return "";
  const auto magic = static_cast<int64_t>(status.f_type);
  std::string mount_type;
  if ((magic & 0xffffffff) == kFuseMagic) {
    struct stat file {};

    if (::stat(place.c_str(), &file) != 0) return "fuse";
    const std::string device =
        std::to_string(major(file.st_dev)) + ":" + std::to_string(minor(file.st_dev));
    mount_type = MountTypeOfDevice(ReadMountInfo(probe), device);
  }
  return ClassifyFileSystem(magic, mount_type);
}

}  // namespace reenact::store
