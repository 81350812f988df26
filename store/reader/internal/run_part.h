// What one segment says about one run. A run may lie in several segments; summaries are merged from
// parts, and parts are what the catalog keeps. Pure.

#ifndef REENACT_STORE_READER_INTERNAL_RUN_PART_H_
#define REENACT_STORE_READER_INTERNAL_RUN_PART_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/model_view.h"
#include "schema/record.h"
#include "store/reader/store_reader.h"

namespace reenact::store::internal {

// A call that this segment leaves unfinished: open, or closed as `incomplete`. The next segment of
// its process repeats it, or holds its end; so it counts only in the last part of a run.
struct UnfinishedCall {
  schema::Boundary boundary = schema::Boundary::kModel;
  std::string asked_model;

  bool operator==(const UnfinishedCall&) const = default;
};

struct RunPart {
  std::optional<schema::Run> run;     // Without its input.
  std::optional<schema::RunEnd> end;  // Without its output.
  int64_t model_calls = 0;
  int64_t tool_calls = 0;
  int64_t retrievals = 0;
  int64_t error_calls = 0;
  uint64_t last_sequence = 0;
  uint64_t lost_events = 0;  // Of grouped files, where gaps are known to be the run's.
  std::vector<std::string> asked_models;
  std::vector<std::string> served_models;
  std::vector<std::string> fingerprints;
  std::vector<std::string> errors;
  std::vector<schema::Ulid> incidents;
  std::vector<UnfinishedCall> unfinished;
};

// Adds an event, or a call that is open. `view` is used for model calls only.
void AddEvent(const schema::Event& event, const schema::ModelView& view, RunPart* part);
// Adds a call whose bodies cannot be read.
void AddDamagedEvent(const schema::Event& event, RunPart* part);

// Adds an id to a list that has it at most once.
void AddIncident(const schema::Ulid& incident, std::vector<schema::Ulid>* list);

std::string EncodeRunPart(const RunPart& part);
// Nothing when `bytes` is not what EncodeRunPart writes.
std::optional<RunPart> DecodeRunPart(std::string_view bytes);

// Where a part lies, for what the part alone does not know.
struct PlacedPart {
  RunPart part;
  bool owner_alive = false;              // The segment's process runs and has not sealed it.
  const std::vector<schema::Gap>* gaps;  // Of the segment; never null.
};

// True when `gap` fell within the time of a run of the same process. `end` may be null;
// `last_sequence` is that of the run's last record.
bool FallsWithin(const schema::Gap& gap, const schema::Run& run, const schema::RunEnd* end,
                 uint64_t last_sequence);

// `parts` in order of segments. Nothing when no part holds the run's row.
std::optional<RunSummary> MergeParts(const std::vector<PlacedPart>& parts);

bool Matches(const RunSummary& summary, const RunFilter& filter);

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_RUN_PART_H_
