// The reading side of a ring: finds committed records, joins parts, orders, frees.
//
// It keeps an index of what it found, so that each byte is looked at once. One thread.

#ifndef REENACT_STORE_RING_INTERNAL_RING_CONSUMER_H_
#define REENACT_STORE_RING_INTERNAL_RING_CONSUMER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "store/ring/internal/ring_chunks.h"
#include "store/ring/ring.h"

namespace reenact::store {

class RingConsumer {
 public:
  // `chunks` must outlive it.
  explicit RingConsumer(RingChunks* chunks);

  // As Ring::Take; records below `bound` only.
  void Take(uint64_t bound, size_t max_records, size_t max_bytes, std::vector<RingRecord>* records);
  void Release();
  void Rewind();

  uint64_t taken_below() const { return taken_below_; }

  uint64_t damaged_chunks() const { return damaged_chunks_; }

 private:
  // A record, or a part of one.
  struct Part {
    uint32_t chunk = 0;
    uint32_t position = 0;  // Of its RecordHeader, behind the chunk's header.
  };

  struct Found {
    uint64_t sequence = 0;
    Part part;
    bool split = false;  // The parts are in `split_`.

    bool operator>(const Found& other) const { return sequence > other.sequence; }
  };

  struct SplitRecord {
    std::vector<Part> parts;
    uint64_t size_so_far = 0;
  };

  struct ChunkProgress {
    uint32_t scanned = 0;
    uint32_t held = 0;  // Records and parts found and not released.
    bool damaged = false;
  };

  void Scan(uint32_t chunk);
  // False when the bytes there are no record.
  bool Index(uint32_t chunk, uint32_t position, uint32_t committed, uint32_t* next);
  void FreeIfDone(uint32_t chunk);
  void AppendTo(const Found& found, std::vector<RingRecord>* records) const;
  void ReleasePart(const Part& part);

  RingChunks* chunks_;
  std::vector<ChunkProgress> progress_;
  std::priority_queue<Found, std::vector<Found>, std::greater<>> found_;
  std::unordered_map<uint64_t, SplitRecord> split_;
  std::vector<Found> taken_;
  uint64_t taken_below_ = 0;
  uint64_t damaged_chunks_ = 0;
};

}  // namespace reenact::store

#endif  // REENACT_STORE_RING_INTERNAL_RING_CONSUMER_H_
