// Where things lie in a store, and whether a place may hold one.
//
//   <store>/store.key         32 random bytes, 0600: keys the de-duplication of components
//   <store>/segments/<ULID>.db
//   <store>/segments/manifest.jsonl   heads of sealed segments, chained; tombstones of pruned ones
//   <store>/catalog.db        rebuildable
//   <store>/incidents.db      marks and promoted runs

#ifndef REENACT_STORE_STORE_LAYOUT_H_
#define REENACT_STORE_STORE_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/ulid.h"

namespace reenact::store {

struct StoreLayout {
  std::string root;

  std::string segments() const { return root + "/segments"; }

  std::string manifest() const { return segments() + "/manifest.jsonl"; }

  std::string segment(const schema::Ulid& id) const;

  std::string catalog() const { return root + "/catalog.db"; }

  std::string incidents() const { return root + "/incidents.db"; }

  std::string key_file() const { return root + "/store.key"; }
};

// $REENACT_STORE, else $XDG_DATA_HOME/reenact, else $HOME/.local/share/reenact. Values are passed
// in: libraries do not read the environment here.
std::string DefaultStorePath(const char* reenact_store, const char* xdg_data_home,
                             const char* home);

// Makes the folders and the key, or finds them. False with one sentence in `*why`, naming the path:
// a network file system, read-only, a file in the way, no permission.
bool PrepareStore(const StoreLayout& layout, std::string* key, std::string* why);

// "nfs", "cifs", "fuse.sshfs", ... when `path` lies on a file system that SQLite's locks and
// shared memory do not work on; empty otherwise.
std::string NetworkFileSystem(const std::string& path);

struct ProcessIdentity {
  int64_t pid = 0;
  int64_t start = 0;  // Clock ticks since boot: tells a reused pid.
  std::string boot_id;
  bool operator==(const ProcessIdentity&) const = default;
};

ProcessIdentity ThisProcess();
bool IsAlive(const ProcessIdentity& process);
// The value of kMetaOwner (tables.h): "pid start boot_id".
std::string EncodeOwner(const ProcessIdentity& process);
std::optional<ProcessIdentity> DecodeOwner(std::string_view text);

// File names (not paths) of all segments, oldest first.
std::vector<std::string> ListSegments(const StoreLayout& layout);

int64_t WallNowNs();
int64_t MonotonicNowNs();
schema::Ulid NewUlid();
// For a new segment: sorts behind those that are there, though the wall clock was set back since.
// Readers take the later name for the later word, retention the earliest for the oldest.
schema::Ulid NewSegmentId(
    const StoreLayout& layout);  // From the clock and the kernel's random bytes.
void FillRandom(void* out, size_t size);

}  // namespace reenact::store

#endif  // REENACT_STORE_STORE_LAYOUT_H_
