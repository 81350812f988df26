// Where rings lie, and how their files are made, found, held and removed.
//
//   <memory file system>/<hash of the store's path>-<pid>-<ULID>.ring   of a living process
//   .left: its process has let go of it        .<n>.spill: a body too large for the ring
//
// Two locks tell the living from the dead. The owner holds a POSIX record lock: children do not
// inherit it, and it is seen across pid namespaces. Recovery takes a flock, so that one process
// (and one thread) empties a ring. A process never opens its own living ring a second time: closing
// that descriptor would drop the record lock.

#ifndef REENACT_STORE_RING_INTERNAL_RING_FILE_H_
#define REENACT_STORE_RING_INTERNAL_RING_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reenact::store {

// Unmaps and closes at its end; removes nothing.
struct RingMapping {
  RingMapping() = default;

  RingMapping(RingMapping&& other) noexcept { *this = std::move(other); }

  RingMapping& operator=(RingMapping&& other) noexcept;  // Of an empty one only.
  ~RingMapping();

  char* base = nullptr;
  size_t size = 0;
  int fd = -1;       // Holds the lock; -1 without a file.
  std::string path;  // Empty without a file.
};

// Folders that may hold rings, best first: $XDG_RUNTIME_DIR/reenact, /run/user/<uid>/reenact,
// /dev/shm/reenact-<uid>. The one place of this module that reads the environment.
std::vector<std::string> RingFolders();

// Makes, allocates, maps and locks a file of `size` bytes in the first folder on a memory file
// system that is ours alone. The mapping is not inherited by children. Whatever fails, no file
// stays; a process that is killed meanwhile leaves one that says nothing, see
// Ring::RemoveNeverOpened.
bool CreateRingFile(const std::string& store_path, size_t size, RingMapping* out, std::string* why);
// The same memory without a file.
bool MapWithoutFile(size_t size, RingMapping* out);
// Maps a file whose owner is gone, and keeps others from doing so. False with an empty `*why`: the
// owner lives, or somebody else recovers it.
bool OpenLeftoverFile(const std::string& path, RingMapping* out, std::string* why);

// Files of this store, except the living ones of this very process.
std::vector<std::string> RingFilesFor(const std::string& store_path);
// Gives up a living ring that still holds records: from now on anyone may recover it, this process
// too.
void LetGo(RingMapping* mapping);
// Removes the file and its spill files.
void RemoveRingFile(const std::string& path);

// The name says that its process let go of it.
bool IsLeft(std::string_view ring_path);
// The name that a living ring will have then.
std::string LeftName(std::string_view ring_path);

// "<folder>/<ring>.<number>.spill" for the ring at `ring_path`.
std::string SpillPath(std::string_view ring_path, uint64_t number);
bool IsSpillOf(std::string_view ring_path, std::string_view path);

}  // namespace reenact::store

#endif  // REENACT_STORE_RING_INTERNAL_RING_FILE_H_
