// The memories of a launch. Each access is checked: bounds, alignment, that what is read was
// written, and that no other thread of the launch could have written or read it in another order.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_MEMORY_H_
#define REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace reenact::ptx {

// Of the host's buffers that a launch may touch, at their own addresses. Not owned.
class GlobalMemory {
 public:
  // What is not `initialised` is an error to read before a kernel has written it.
  void Add(void* data, size_t size_bytes, bool initialised);
  void Remove(const void* data);

  // A block, as a number of at least 0, reads or writes. Throws Fault for bytes outside every
  // buffer, misaligned, never written, or written in this launch by another block; `read_only` also
  // for those of its own.
  const std::byte* Read(uint64_t address, size_t size_bytes, uint32_t block, bool read_only);
  std::byte* Write(uint64_t address, size_t size_bytes, uint32_t block);

  // For integer atomics, whose order makes no difference to what they leave.
  std::byte* Update(uint64_t address, size_t size_bytes);

  // The host reads: bounds alone, for a buffer may be filled in part.
  void CheckPlace(uint64_t address, size_t size_bytes);

  // What this launch wrote is there for the next one.
  void EndLaunch();

 private:
  struct Buffer {
    uint64_t begin = 0;
    uint64_t size_bytes = 0;
    std::vector<uint32_t> written_by;  // 0: nobody; 1: before this launch; block + 2.
  };

  Buffer& BufferOf(uint64_t address, size_t size_bytes);

  std::map<uint64_t, Buffer> buffers_;  // By begin.
  Buffer* last_ = nullptr;              // Of the last access: most go to the same one.
};

// Who touches shared memory, and when.
struct Moment {
  uint32_t thread = 0;
  uint32_t barrier = 0;    // Barriers of the whole launch before this access; from 1.
  uint32_t warp_sync = 0;  // Synchronisations of its warp before.
};

// The shared memory of a block.
class SharedMemory {
 public:
  // Contents are poison until they are written. Used again for every block of a launch.
  explicit SharedMemory(size_t size_bytes);

  // A new block begins after so many barriers.
  void BeginBlock(uint32_t barrier);

  // Throw Fault for bytes out of bounds, misaligned, never written in this block, and for a race:
  // an access by another thread with no barrier between the two (or synchronisation of the warp
  // that both are in), one of them a write.
  const std::byte* Read(uint64_t address, size_t size_bytes, const Moment& moment);
  std::byte* Write(uint64_t address, size_t size_bytes, const Moment& moment);
  std::byte* Update(uint64_t address, size_t size_bytes, const Moment& moment);

 private:
  struct History {
    Moment write;  // barrier 0: never.
    Moment read;
    bool atomic = false;  // The write; atomics do not race with each other.
    bool read_by_other_warps = false;
  };

  void CheckPlace(uint64_t address, size_t size_bytes) const;
  void NoteWrite(uint64_t address, size_t size_bytes, const Moment& moment, bool atomic);

  std::vector<std::byte> bytes_;
  std::vector<History> history_;
  uint32_t first_barrier_ = 1;
};

}  // namespace reenact::ptx

#endif  // REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_MEMORY_H_
