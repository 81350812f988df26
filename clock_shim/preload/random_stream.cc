#include "clock_shim/preload/random_stream.h"

#include <string.h>

#include <cstdint>

#include "clock_shim/preload/thread_tape.h"

namespace reenact::clock_shim {
namespace {

constexpr size_t kBlockSize = 64;

uint32_t Rotate(uint32_t word, int bits) {
  return word << bits | word >> (32 - bits);
}

void QuarterRound(uint32_t* a, uint32_t* b, uint32_t* c, uint32_t* d) {
  *a += *b;
  *d = Rotate(*d ^ *a, 16);
  *c += *d;
  *b = Rotate(*b ^ *c, 12);
  *a += *b;
  *d = Rotate(*d ^ *a, 8);
  *c += *d;
  *b = Rotate(*b ^ *c, 7);
}

// D. J. Bernstein, "ChaCha, a variant of Salsa20": 20 rounds, 64-bit counter and nonce.
void Block(const uint8_t* key, uint64_t counter, uint64_t nonce, uint8_t* out) {
  uint32_t input[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  memcpy(input + 4, key, kSeedSize);
  memcpy(input + 12, &counter, sizeof(counter));
  memcpy(input + 14, &nonce, sizeof(nonce));
  uint32_t x[16];
  memcpy(x, input, sizeof(x));
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 4; ++i) QuarterRound(&x[i], &x[4 + i], &x[8 + i], &x[12 + i]);
    for (int i = 0; i < 4; ++i) {
      QuarterRound(&x[i], &x[4 + (i + 1) % 4], &x[8 + (i + 2) % 4], &x[12 + (i + 3) % 4]);
    }
  }
  for (int i = 0; i < 16; ++i) x[i] += input[i];
  memcpy(out, x, kBlockSize);
}

// FNV-1a. Ordinals are few and not chosen by anybody hostile.
uint64_t NonceOf(const Ordinal& ordinal) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < ordinal.size; ++i) {
    hash = (hash ^ static_cast<uint8_t>(ordinal.text[i])) * 0x100000001b3;
  }
  return hash;
}

}  // namespace

void Draw(void* out, size_t size) {
  // So many blocks lie between the beginnings of two draws: 2 GiB.
  constexpr unsigned kDrawShift = 32;
  ThreadTape* tape = ThisThread();
  const uint64_t draw = __atomic_fetch_add(&tape->draws, 1, __ATOMIC_RELAXED);
  const uint64_t nonce = NonceOf(tape->ordinal);
  auto* bytes = static_cast<uint8_t*>(out);
  for (uint64_t block = 0; size > 0; ++block) {
    uint8_t whole[kBlockSize];
    Block(seed(), (draw << kDrawShift) + block, nonce, whole);
    const size_t part = size < kBlockSize ? size : kBlockSize;
    memcpy(bytes, whole, part);
    bytes += part;
    size -= part;
  }
}

}  // namespace reenact::clock_shim
