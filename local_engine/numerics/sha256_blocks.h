// The compression of SHA-256 over whole blocks, by what the processor has for it: the SHA
// instructions of x86 or ARMv8, or plain integers. The digests are the same.

#ifndef REENACT_LOCAL_ENGINE_NUMERICS_SHA256_BLOCKS_H_
#define REENACT_LOCAL_ENGINE_NUMERICS_SHA256_BLOCKS_H_

#include <cstddef>
#include <cstdint>

namespace reenact::local_engine {

inline constexpr size_t kSha256BlockBytes = 64;

// Takes `count` blocks into `state`, eight words.
using Sha256Blocks = void (*)(uint32_t* state, const uint8_t* blocks, size_t count);

void Sha256BlocksPlain(uint32_t* state, const uint8_t* blocks, size_t count);

// Null where this processor has no instructions for it.
Sha256Blocks Sha256BlocksByInstructions();

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_NUMERICS_SHA256_BLOCKS_H_
