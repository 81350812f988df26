// The files in the scratch folder of a frozen process, as the preloaded library and its other end
// both see them. Nothing but constants, plain structs and functions over bytes: it is compiled into
// a library that may neither allocate nor use the C++ runtime.
//
//   <ordinal>.tape      what a thread read from the wall clock: TapeHeader, then the reads
//   <ordinal>.replayed  what a thread was given back: a TapeHeader alone
//   <ordinal>.process   a process in which the library came up; holds the program's path
//   unreached           a line for each program that was started and could not be entered
//   connections         a line for each host that was asked for or connected to (record)
//   seed                32 bytes, where random numbers are frozen too
//   start               int64: the wall clock in ns when the recorded program started (replay)
//
// A read is a varint and, where its bit 0 says so, a byte:
//   zigzag(value - value of the read before, 0 for the first) << 1 | kind differs from the one
//   before the new kind
// The value is in ns whatever the function's resolution is.

#ifndef REENACT_CLOCK_SHIM_TAPE_LAYOUT_H_
#define REENACT_CLOCK_SHIM_TAPE_LAYOUT_H_

#include <stddef.h>
#include <stdint.h>

namespace reenact::clock_shim {

inline constexpr char kModeVariable[] = "REENACT_SHIM";  // "record:FOLDER"
inline constexpr char kOrdinalVariable[] =
    "REENACT_SHIM_ORDINAL";  // "0.1"; "+0.1" is not yet taken.
inline constexpr char kRecordPrefix[] = "record:";
inline constexpr char kReplayPrefix[] = "replay:";
inline constexpr char kLibraryName[] = "libreenact_clock.so";
inline constexpr char kNodeName[] = "reenact_node.cjs";
inline constexpr char kSeedName[] = "seed";
inline constexpr char kStartName[] = "start";
inline constexpr char kUnreachedName[] = "unreached";
inline constexpr char kConnectionsName[] = "connections";
inline constexpr char kToPrefix[] = "to ";      // "to 203.0.113.7:443"
inline constexpr char kNamePrefix[] = "name ";  // "name api.example.com"
inline constexpr char kTapeSuffix[] = ".tape";
inline constexpr char kReplayedSuffix[] = ".replayed";
inline constexpr char kProcessSuffix[] = ".process";
inline constexpr size_t kSeedSize = 32;
inline constexpr size_t kMaxOrdinal = 160;  // With its final NUL.

// Which function read. Stored; never renumber.
enum class ReadKind : uint8_t {
  kRealtime = 0,  // clock_gettime and timespec_get.
  kCoarse = 1,
  kTai = 2,
  kMicroseconds = 3,  // gettimeofday
  kSeconds = 4,       // time
  kMilliseconds = 5,  // ftime
};

inline constexpr uint64_t kTapeMagic = 0x316b636f6c636e72;  // "rnclock1"

// One writer, which stores `bytes` and `reads` after what they count: a killed process leaves a
// tape that is whole up to there.
struct TapeHeader {
  uint64_t magic = kTapeMagic;
  uint64_t reads = 0;
  uint64_t bytes = 0;
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  uint64_t lost = 0;
  uint64_t in_signal = 0;
  uint64_t past_tape = 0;
  uint64_t kind_mismatches = 0;
  uint64_t unused[7] = {};
};

static_assert(sizeof(TapeHeader) == 128);

inline constexpr size_t kMaxReadSize = 11;

struct TapeRead {
  int64_t value_ns = 0;
  ReadKind kind = ReadKind::kRealtime;
};

// Writes at most kMaxReadSize bytes; returns how many.
inline size_t EncodeRead(TapeRead read, TapeRead before, uint8_t* out) {
  const uint64_t delta =
      static_cast<uint64_t>(read.value_ns) - static_cast<uint64_t>(before.value_ns);
  const uint64_t zigzag = delta << 1 ^ (delta >> 63 != 0 ? ~uint64_t{0} : 0);
  // Values are less than 2^61 from each other, some 73 years.
  uint64_t rest = zigzag << 1 | (read.kind != before.kind ? 1 : 0);
  size_t size = 0;
  for (; rest >= 0x80; rest >>= 7) out[size++] = static_cast<uint8_t>(rest | 0x80);
  out[size++] = static_cast<uint8_t>(rest);
  if (read.kind != before.kind) out[size++] = static_cast<uint8_t>(read.kind);
  return size;
}

// The size of the read at `bytes`, 0 when it is damaged. `*read` is the one before, and becomes it.
inline size_t DecodeRead(const uint8_t* bytes, size_t size, TapeRead* read) {
  uint64_t value = 0;
  size_t at = 0;
  for (unsigned shift = 0;; shift += 7) {
    if (at == size || shift > 63) return 0;
    const uint8_t byte = bytes[at++];
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  const bool other_kind = (value & 1) != 0;
  const uint64_t zigzag = value >> 1;
  const uint64_t delta = zigzag >> 1 ^ ((zigzag & 1) != 0 ? ~uint64_t{0} : 0);
  read->value_ns = static_cast<int64_t>(static_cast<uint64_t>(read->value_ns) + delta);
  if (other_kind) {
    if (at == size || bytes[at] > static_cast<uint8_t>(ReadKind::kMilliseconds)) return 0;
    read->kind = static_cast<ReadKind>(bytes[at++]);
  }
  return at;
}

}  // namespace reenact::clock_shim

#endif  // REENACT_CLOCK_SHIM_TAPE_LAYOUT_H_
