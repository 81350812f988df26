// One file of recorded runs, opened for reading: a segment, sealed or not, or a bundle. It hands
// out the rows of store/format/tables.h as values, every body checked against its digest.
//
// A reader of an unsealed segment is one read transaction on a live file, and stands in the way of
// its writer: read, and let it go. Nothing here ever checkpoints, writes, or opens a -wal by other
// means than SQLite's.
//
// Threads: one at a time.

#ifndef REENACT_STORE_READER_SEGMENT_READER_H_
#define REENACT_STORE_READER_SEGMENT_READER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "schema/record.h"
#include "store/store_layout.h"

namespace reenact::store {

// Set on files that hold runs of several processes (bundles, imports). In them the rows of a run
// stand together, run after run, so that a gap belongs to the run before it; and as sequence
// numbers count within a process, each is stored plus kGroupStride times the run's position in the
// file.
inline constexpr char kMetaGrouped[] = "reenact.grouped";
inline constexpr uint64_t kGroupStride = uint64_t{1} << 40;

struct SegmentInfo {
  std::string path;
  std::string name;  // Of the file, or of what the bytes were taken from.
  schema::Ulid id;
  bool sealed = false;
  bool grouped = false;
  std::optional<ProcessIdentity> owner;
  bool owner_alive = false;  // Unsealed, and its process runs.
};

struct RunRow {
  int64_t ordinal = 0;
  schema::Run run;  // With all its tags.
  std::optional<schema::RunEnd> end;
};

struct RunHead {
  schema::Ulid id;
  schema::RunOrigin origin = schema::RunOrigin::kRecorded;
  int64_t started_wall_ns = 0;
  std::string trace_id;
  bool ended = false;
};

struct EventRow {
  int64_t run = 0;      // RunRow::ordinal.
  int64_t ordinal = 0;  // 0 for open calls.
  schema::Event event;  // Without its run's id.
  absl::Status damage;  // Not OK: the bodies cannot be read, `event` has none.
};

struct ComponentRow {
  int64_t run = 0;  // RunRow::ordinal.
  int64_t ordinal = 0;
  schema::Component component;  // Without content where that cannot be read.
};

// A body that cannot be read, and whose record is shown without it.
struct DamagedBody {
  uint64_t sequence = 0;  // Of its event; 0: not an event's.
  std::string why;        // "event 5 of X.db: body 11 does not match its digest".
};

class SegmentReader {
 public:
  // Errors: NotFound; PermissionDenied; Unavailable (locked); FailedPrecondition (a newer version,
  // by name; a -wal that belongs to another file); DataLoss (no SQLite, no file of ours, damaged).
  static absl::StatusOr<std::unique_ptr<SegmentReader>> Open(const std::string& path);
  // A sealed file's bytes in memory. `name` is for messages.
  static absl::StatusOr<std::unique_ptr<SegmentReader>> OpenBytes(std::string_view bytes,
                                                                  const std::string& name);
  ~SegmentReader();

  const SegmentInfo& info() const;
  // From now on a body that cannot be read is left empty and told in `*damaged`; without this, and
  // with null, it is DataLoss.
  void LeaveOutDamagedBodies(std::vector<DamagedBody>* damaged);
  // A number that grows with every row, and tells a cache whether it is current.
  absl::StatusOr<int64_t> RowCount();

  // All of these: DataLoss names the segment and the record. `bodies` false leaves out the bytes
  // (and their check), not the flags.
  absl::StatusOr<std::vector<RunHead>> RunHeads();
  absl::StatusOr<std::optional<RunRow>> FindRun(const schema::Ulid& id, bool bodies);
  absl::Status ForEachRun(bool bodies, const std::function<absl::Status(RunRow)>& visit);
  absl::StatusOr<std::vector<schema::Component>> Components(int64_t run, bool bodies);
  // Finished events of a run by sequence, then its open calls (without answer, kIncomplete).
  absl::StatusOr<std::vector<schema::Event>> Events(int64_t run, bool bodies);
  // Finished events of all runs behind `after_ordinal`, in order of commit. A damaged body does not
  // hide the events around it.
  absl::Status ForEachEvent(int64_t after_ordinal,
                            const std::function<absl::Status(EventRow)>& visit);
  // The same of components.
  absl::Status ForEachComponent(int64_t after_ordinal,
                                const std::function<absl::Status(ComponentRow)>& visit);
  absl::StatusOr<std::vector<EventRow>> OpenCalls();
  // Whether the rows of a run are those that were written, all of them. A row that is missing from
  // the segment counts against every run in it. Walks the whole segment once.
  absl::Status CheckRows(const RunRow& run);
  // A finished one.
  absl::StatusOr<std::optional<schema::Event>> FindEvent(int64_t run, uint64_t sequence);
  // Of the whole file; of `run` in grouped files.
  absl::StatusOr<std::vector<schema::Gap>> Gaps(int64_t run);
  absl::StatusOr<std::vector<schema::Mark>> Marks();
  // (key, value) pairs that are not the store's own, sorted by key; the latest of each key.
  absl::StatusOr<schema::Tags> Meta();

 private:
  struct Impl;
  explicit SegmentReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace reenact::store

#endif  // REENACT_STORE_READER_SEGMENT_READER_H_
