// The memory of the emulated device, and what is known of each word of it: who wrote and read it
// last, in which part of which block's run.
//
// A kernel that is compiled with -fsanitize=thread, but linked without that library, calls the
// functions that memory_hooks.cc defines before each access. They find what compute-sanitizer finds
// on a device (out of bounds, misaligned, read before written, two accesses of which neither waits
// for the other), in every schedule, whatever the values are.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CUDA_EMULATION_MEMORY_CHECKS_H_
#define REENACT_TESTS_LOCAL_ENGINE_CUDA_EMULATION_MEMORY_CHECKS_H_

#include <cstddef>
#include <cstdint>

namespace reenact::cuda_emulation {

// From the emulator.

void BeginGrid();
// Shared memory of that size, filled with NaN.
void BeginBlock(size_t shared_bytes);
void* SharedMemoryBegin();
void EndPhase();                   // All threads of the block have met.
void EndWarpPhase(unsigned warp);  // All lanes of a warp have met at a barrier of theirs.
int64_t CheckedAccesses();

// Device memory, filled with NaN and unwritten. Null when there is none.
void* AllocateDevice(size_t size_bytes);
// False for what is no allocation.
bool FreeDevice(void* memory);
int64_t DeviceBytesInUse();
// Whether [begin, begin + size) is within one allocation; the host wrote it, if `write`.
bool HostAccess(const void* begin, size_t size_bytes, bool write);
bool IsDeviceMemory(const void* address);

// As much as all allocations together may take; 1 GiB when nobody says otherwise.
void LimitDeviceBytes(int64_t size_bytes);
int64_t MostDeviceBytes();

// From a kernel. Outside of one these do nothing.

void CheckAccess(const void* address, size_t size_bytes, bool write, bool aligned = true);
void CheckAtomic(const void* address, size_t size_bytes);

}  // namespace reenact::cuda_emulation

#endif  // REENACT_TESTS_LOCAL_ENGINE_CUDA_EMULATION_MEMORY_CHECKS_H_
