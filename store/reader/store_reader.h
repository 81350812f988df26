// Reads a store or a bundle: the same tables, the same code. Opens everything read-only and never
// checkpoints, so it cannot disturb a recorder; the unsealed tail of a live one is read as well.

#ifndef REENACT_STORE_READER_STORE_READER_H_
#define REENACT_STORE_READER_STORE_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "schema/record.h"
#include "store/reader/segment_reader.h"
#include "store/reader/sighting.h"

namespace reenact::store {

// What lists show of a run; everything is derived, and cached in catalog.db where that can be
// written.
struct RunSummary {
  schema::Ulid id;
  schema::Ulid parent;
  schema::RunOrigin origin = schema::RunOrigin::kRecorded;
  std::string service;
  std::string entry;
  std::string trace_id;
  schema::Tags tags;
  int64_t started_wall_ns = 0;
  int64_t elapsed_ns = 0;  // 0 when it has not ended.
  schema::EndState state = schema::EndState::kIncomplete;
  std::string state_detail;
  bool in_progress = false;
  int64_t model_calls = 0;
  int64_t tool_calls = 0;
  int64_t retrievals = 0;
  int64_t error_calls = 0;                // Calls whose end state is not complete.
  std::vector<std::string> asked_models;  // Distinct, in order of first use.
  std::vector<std::string> served_models;
  std::vector<std::string> fingerprints;
  std::vector<std::string> errors;  // Distinct, of failed calls: how they ended, what was said.
  std::vector<schema::Ulid> incidents;
  uint64_t lost_events = 0;  // Of its process, within its time.
};

// Among RunSummary::errors: a call whose record cannot be read.
inline constexpr char kDamagedError[] = "damaged";

struct RunFilter {
  std::optional<int64_t> since_wall_ns;
  std::optional<int64_t> until_wall_ns;
  std::string service;
  std::string trace_id;  // Whole, or a prefix.
  std::string model;     // Asked or served, whole or with * at the end.
  schema::Tags tags;     // All must be there; an empty value matches any.
  bool errors_only = false;
  std::string error;  // Part of an entry of `errors`, or of how the run itself ended; ASCII
                      // capitals do not count.
  bool include_replays = false;
  int64_t limit = 0;  // 0: all. The newest are kept.
};

struct SearchHit {
  schema::Ulid run;
  uint64_t sequence = 0;
  std::string where;    // "request", "answer", "tool", "retrieval", "input", "output".
  std::string snippet;  // Around the hit, UTF-8, at most 200 bytes.
};

struct LoadOptions {
  bool bodies = true;
  // Not null: a body that cannot be read is left empty and told here, and the rest of its run is
  // still there. Null: it is DataLoss, since a replay must not be served from part of a run.
  std::vector<DamagedBody>* damaged = nullptr;
};

class StoreReader {
 public:
  // `path`: a store folder, a bundle file, or a single segment.
  // Errors: NotFound; FailedPrecondition (a newer version, by name; a foreign WAL beside a file);
  // DataLoss (no SQLite, or no file of ours); PermissionDenied.
  static absl::StatusOr<std::unique_ptr<StoreReader>> Open(const std::string& path);
  ~StoreReader();

  // Newest last. A segment that cannot be read is not an error here: see `problems`.
  absl::StatusOr<std::vector<RunSummary>> ListRuns(const RunFilter& filter);

  // "last", a whole ULID, or a unique prefix of one (any case).
  // Errors: NotFound; InvalidArgument when the prefix is ambiguous (the message lists the ids).
  absl::StatusOr<schema::Ulid> ResolveRun(const std::string& text);

  // Errors: NotFound; DataLoss naming the event (sequence, segment) whose body or chain is damaged.
  absl::StatusOr<schema::RecordedRun> LoadRun(const schema::Ulid& run, const LoadOptions& options);
  absl::StatusOr<RunSummary> Summarize(const schema::Ulid& run);

  // Full text over messages, answers, tool and retrieval bodies, inputs and outputs. Newest last.
  absl::StatusOr<std::vector<SearchHit>> Search(const std::string& text, int64_t limit);

  // Who answered, what was in use and how models were asked, by the hour (sighting.h).
  // Cost: what is new in the segments, then about a microsecond a row.
  absl::StatusOr<Sightings> Seen(const SightingFilter& filter);

  // One sentence for each segment that could not be read, or was gone when the store was opened;
  // names the file.
  const std::vector<std::string>& problems() const;
  bool is_bundle() const;
  // (key, value) of the bundle's or segment's `meta` table; empty for folders.
  absl::StatusOr<schema::Tags> Meta();

 private:
  struct Impl;
  explicit StoreReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace reenact::store

#endif  // REENACT_STORE_READER_STORE_READER_H_
