// Writes one segment: the rows of store/format/tables.h, their bodies and the integrity chain. The
// only code that inserts into a segment: recorder, recovery, bundles and derived runs all come
// here.
//
// One thread, one connection, one process (see docs/store_format.md for why). Standard library,
// SQLite and zstd only. Values are redacted before they get here.

#ifndef REENACT_STORE_WRITER_SEGMENT_WRITER_H_
#define REENACT_STORE_WRITER_SEGMENT_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "schema/record.h"

namespace reenact::store {

enum class [[nodiscard]] WriteCode : uint8_t{
    kOk = 0,
    kInvalid,      // The value contradicts the segment: an event of an unknown run.
    kUnavailable,  // Try again later: locked, or a memory shortage.
    kFull,         // The disk, or the quota.
    kBroken,       // I/O error: seal what there is and open another segment.
    kRefused,      // The place may not be written: network file system, read-only, newer version.
};

struct SegmentOptions {
  std::string path;  // The file; must not exist, except for kReopen.
  enum class Open : uint8_t { kCreate, kReopen } open = Open::kCreate;
  std::string store_key;    // 32 bytes of <store>/store.key; empty for bundles: no de-duplication.
  schema::Ulid segment_id;  // Stored in the file; names it.
  bool deterministic = false;  // Bundles: no time, owner or random salt of our own enters the file.
  int compression_level = 1;
  bool exclusive_process = true;  // Record owner (pid, start, boot id) in the file.
};

class SegmentWriter {
 public:
  static WriteCode Open(const SegmentOptions& options, std::unique_ptr<SegmentWriter>* out,
                        std::string* why);
  // Commits nothing. An unsealed segment stays as it is: its last commit is what it holds.
  ~SegmentWriter();

  // Everything below happens inside one transaction, begun by the first Add after a Commit.
  // A failed Add rolls the transaction back: the caller adds all of it again, or gives up.
  WriteCode AddRun(const schema::Run& run);
  WriteCode AddRunEnd(const schema::RunEnd& end);
  WriteCode AddTags(const schema::Ulid& run, const schema::Tags& tags);
  WriteCode AddComponent(const schema::Ulid& run, const schema::Component& component);
  // A finished event. Adding the same sequence again is kOk and changes nothing (recovery).
  WriteCode AddEvent(const schema::Event& event);
  // A call that began and has not ended: kept so that a crash leaves it `incomplete`. AddEvent with
  // its sequence replaces it.
  WriteCode AddOpenCall(const schema::Event& begin);
  WriteCode AddGap(const schema::Gap& gap);
  WriteCode AddMark(const schema::Mark& mark);
  // Provenance and the like: (key, value) in the `meta` table. Known keys: docs/store_format.md.
  WriteCode SetMeta(std::string_view key, std::string_view value);
  WriteCode Commit();

  // Tells the store's manifest that this segment is there: one that is not sealed yet is then
  // missed by `verify` when it goes, and one that was put there is not taken for it. Appends and
  // syncs a line; where there is no room for it, sealing tells in time.
  void Announce(const std::string& manifest_path);

  // Turns what is still open into `incomplete` events (recovery and sealing).
  WriteCode CloseOpenCalls();
  // The call that began with this sequence, if it is open. For the consumer after a restart.
  bool FindOpenCall(uint64_t sequence, schema::Event* begin);
  uint64_t open_call_count() const;

  // Closes open calls, commits, checkpoints, switches to journal_mode=DELETE, records the chain's
  // head in the store's manifest when `manifest_path` is not empty, and makes the file read-only
  // (0444). Nothing can be added once this has begun. kUnavailable (a reader is in the way) and
  // kFull: call again later. kBroken: leave the file to recovery. Repeating what was done already
  // does no harm.
  WriteCode Seal(const std::string& manifest_path);

  // Copies committed pages into the file, if the WAL has grown past its limit. Call between
  // commits.
  WriteCode CheckpointIfDue();

  // Plain frames instead of compressed ones, while the ring is filling up.
  void SetHurried(bool hurried);

  uint64_t size_bytes() const;  // File and WAL.
  const std::string& path() const;
  const std::string& last_error() const;

 private:
  struct Impl;
  SegmentWriter();
  std::unique_ptr<Impl> impl_;
};

}  // namespace reenact::store

#endif  // REENACT_STORE_WRITER_SEGMENT_WRITER_H_
