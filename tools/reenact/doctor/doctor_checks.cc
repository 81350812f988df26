#include "tools/reenact/doctor/doctor_checks.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "store/ring/ring.h"
#include "store/store_layout.h"
#include "store/writer/retention.h"
#include "tools/reenact/io/terminal_text.h"

namespace reenact::tools {
namespace {

uint64_t SizeOfFolder(const std::string& path) {
  std::error_code error;
  uint64_t total = 0;
  std::filesystem::recursive_directory_iterator it(path, error);
  for (; !error && it != std::filesystem::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (it->is_regular_file(ignored)) total += it->file_size(ignored);
  }
  return total;
}

bool Exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

// True too of a host that closed all its descriptors, and with them the lock of its ring.
bool OwnerIsAlive(const store::LeftoverRing& found) {
  if (found.ring == nullptr) return false;
  const store::RingIdentity& owner = found.ring->identity();
  return store::IsAlive({.pid = owner.pid, .start = owner.process_start, .boot_id = owner.boot_id});
}

}  // namespace

std::string_view ToString(Health health) {
  static constexpr std::string_view kNames[] = {"fine", "note", "finding"};
  return kNames[static_cast<size_t>(health)];
}

Check CheckStorePlace(const StorePlace& place) {
  Check check{.name = "store", .text = place.path + " (from " + place.chosen_by + ")"};
  if (!Exists(place.path)) {
    check.health = Health::kFinding;
    check.text += ": not there";
    check.way_out = "record something into it, or name another with --store";
    return check;
  }
  const std::string network = store::NetworkFileSystem(place.path);
  if (!network.empty()) {
    check.health = Health::kFinding;
    check.text += ": on a network file system (" + network + "), which recording refuses";
    check.way_out = "keep the store on a local disk; `reenact export` hands runs over";
  } else if (access(place.path.c_str(), R_OK | X_OK) != 0) {
    check.health = Health::kFinding;
    check.text += std::string(": ") + std::strerror(errno);
    check.way_out = "run as the service's user, or in its group";
  } else if (access(place.path.c_str(), W_OK) != 0) {
    check.health = Health::kNote;
    check.text += ": may be read, not written, by this user; incidents cannot be opened";
  }
  return check;
}

Check CheckSpace(const StorePlace& place) {
  Check check{.name = "space"};

  struct statvfs disk {};

  if (statvfs(place.path.c_str(), &disk) != 0) {
    check.health = Health::kFinding;
    check.text = std::string("free space cannot be read: ") + std::strerror(errno);
    return check;
  }
  const store::RetentionLimits limits;
  const uint64_t free_bytes = uint64_t{disk.f_bavail} * disk.f_frsize;
  const uint64_t disk_bytes = uint64_t{disk.f_blocks} * disk.f_frsize;
  const uint64_t five_gib = uint64_t{5} << 30;
  const uint64_t share =
      std::min(disk_bytes / 100 * static_cast<uint64_t>(limits.min_free_percent), five_gib);
  const uint64_t floor = std::max(limits.min_free_bytes, share);
  const uint64_t used = SizeOfFolder(place.path);
  check.text = FormatSize(free_bytes) + " free (by default recording stops below " +
               FormatSize(floor) + "), store " + FormatSize(used) + " of at most " +
               FormatSize(limits.max_store_bytes);
  if (free_bytes < floor) {
    check.health = Health::kFinding;
    check.way_out = "free the disk: recording drops events, and counts them, until then";
  } else if (used > limits.max_store_bytes / 10 * 9) {
    check.health = Health::kNote;
    check.text += ": the oldest segments without incidents go next";
  }
  return check;
}

Check CheckSegments(const StorePlace& place, store::StoreReader* reader) {
  Check check{.name = "segments"};
  if (reader == nullptr) {
    check.health = Health::kFinding;
    check.text = "the store cannot be opened";
    return check;
  }
  // Lists trust the catalog about sealed segments. This opens each one.
  static_cast<void>(reader->ResolveRun("last"));
  const auto runs = reader->ListRuns({});
  if (!runs.ok()) {
    check.health = Health::kFinding;
    check.text = std::string(runs.status().message());
    return check;
  }
  std::string count = "one file";
  if (!reader->is_bundle()) {
    const store::StoreLayout layout{place.path};
    count = Counted(static_cast<int64_t>(store::ListSegments(layout).size()), "segment");
  }
  check.text = count + ", " + Counted(static_cast<int64_t>(runs->size()), "run");
  for (const std::string& problem : reader->problems()) check.text += "; " + problem;
  if (!reader->problems().empty()) {
    check.health = Health::kFinding;
    check.way_out = "`reenact verify` names the first record that does not fit";
  }
  return check;
}

Check CheckCatalog(const StorePlace& place) {
  Check check{.name = "catalog"};
  const std::string path = store::StoreLayout{place.path}.catalog();
  std::error_code ignored;
  if (!Exists(path)) {
    check.health = Health::kNote;
    check.text = "not built yet; the first list builds it";
  } else if (access(path.c_str(), R_OK) != 0) {
    check.health = Health::kFinding;
    check.text = path + ": " + std::strerror(errno);
    check.way_out = "it can be deleted: it is rebuilt from the segments";
  } else if (access(path.c_str(), W_OK) != 0) {
    check.health = Health::kNote;
    check.text = "may be read, not written, by this user: new runs are scanned each time";
  } else if (!std::filesystem::is_regular_file(path, ignored)) {
    check.health = Health::kFinding;
    check.text = path + " is no regular file: everything is scanned each time";
    check.way_out = "it can be deleted: it is rebuilt from the segments";
  } else {
    check.text = FormatSize(std::filesystem::file_size(path, ignored));
  }
  return check;
}

Check CheckRing() {
  Check check{.name = "ring"};
  store::RingIdentity identity;
  identity.pid = getpid();
  identity.store_path = "/nonexistent/reenact-doctor-probe";
  std::string why;
  const std::unique_ptr<store::Ring> ring =
      store::Ring::Create(identity, {}, store::kDefaultRingSize, &why);
  if (ring == nullptr) {
    check.health = Health::kFinding;
    check.text =
        "durable_ack=false: " + why + "; a kill of the process loses what is not yet on disk";
    check.way_out = "give the service a /dev/shm or an XDG_RUNTIME_DIR with room for 16 MiB";
    return check;
  }
  check.text = "durable_ack=true: acknowledged events survive a kill, in " +
               std::filesystem::path(ring->path()).parent_path().string();
  ring->Remove();
  return check;
}

Check CheckLeftoverRings(const StorePlace& place) {
  Check check{.name = "leftover_rings"};
  int64_t alive = 0;
  std::vector<std::string> dead;
  for (const std::string& path : store::Ring::FindFor(place.path)) {
    const store::LeftoverRing found = store::Ring::OpenLeftover(path);
    if (found.state == store::RingFileState::kNeverOpened) continue;  // Recovery removes it.
    if (found.state == store::RingFileState::kInUse || OwnerIsAlive(found)) {
      ++alive;
    } else {
      dead.push_back(path);
    }
  }
  check.text = Counted(alive, "process is", "processes are") + " recording into this store";
  if (dead.empty()) return check;
  check.health = Health::kFinding;
  check.text = Counted(static_cast<int64_t>(dead.size()), "ring") +
               " of dead processes hold acknowledged events that are not on disk: " + dead.front();
  check.way_out =
      "`reenact doctor --recover` writes them down; so does the next start of a recorder";
  return check;
}

bool HasWalResetFault(int version) {
  return version >= 3'007'000 && version <= 3'051'002;
}

Check CheckSqlite() {
  Check check{.name = "sqlite", .text = std::string("version ") + sqlite3_libversion()};
  if (HasWalResetFault(sqlite3_libversion_number())) {
    check.health = Health::kNote;
    check.text +=
        ", which can corrupt a database when one connection checkpoints while another resets the "
        "log: Reenact opens one writing connection a file, so keep other programs read-only "
        "(sqlite3 'file:SEGMENT?mode=ro')";
  }
  return check;
}

}  // namespace reenact::tools
