// What was derived from the segments, kept in catalog.db so that it is derived once: parts of run
// summaries, model calls, and the index for full-text search. Everything in it can be rebuilt, so
// it is never the reason for an error: one that is damaged is made anew, and where none can be kept
// (a read-only folder, a newer version, another process at work for long) it is held in memory.
//
// Threads: one at a time. Processes: one updates, under a lock file; the file is
// journal_mode=DELETE.

#ifndef REENACT_STORE_READER_CATALOG_H_
#define REENACT_STORE_READER_CATALOG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "schema/record.h"
#include "store/reader/internal/part_scan.h"
#include "store/reader/internal/search_text.h"
#include "store/reader/internal/segment_set.h"
#include "store/reader/sighting.h"

namespace reenact::store {

namespace internal {
class CatalogFile;
}

// Everything that one segment contributes to lists.
struct SegmentParts {
  std::string segment;
  bool owner_alive = false;
  internal::RunParts parts;
  std::vector<schema::Gap> gaps;  // Of its process; none for grouped files.
};

// Runs that incidents.db keeps copies of are indexed as if each were a segment of this name and its
// id.
inline constexpr char kPromotedPrefix[] = "incidents.db/";

// One place that a search found, the newest first.
struct TextMatch {
  std::string segment;
  schema::Ulid run;
  uint64_t sequence = 0;  // 0: the run itself.
  internal::TextPlace place = internal::TextPlace::kRequest;
};

// One model call, as columns: for what moved between two times (aliases, fingerprints, logprobs).
struct ModelCallRow {
  schema::Ulid run;
  uint64_t sequence = 0;
  int64_t started_wall_ns = 0;
  std::string asked_model;
  std::string served_model;
  std::string fingerprint;
  int64_t logprob_tokens = 0;   // Tokens that came with a log probability.
  double logprob_sum_nats = 0;  // Over those that are not censored.
  int64_t near_ties = 0;        // Below kNearTieNats.
  int64_t margins_unknown = 0;  // Tokens without alternatives.
};

class Catalog {
 public:
  // `path` empty: in memory.
  static std::unique_ptr<Catalog> Open(const std::string& path);
  ~Catalog();

  // Brings the parts up to date with the segments as they are now, and returns them in order.
  // Errors: those of the visit; a segment that cannot be read is a problem of `segments`.
  absl::StatusOr<std::vector<SegmentParts>> Parts(internal::SegmentSet* segments);
  // Brings the index up to date and searches it. At most `limit` (0: all) matches.
  absl::StatusOr<std::vector<TextMatch>> Search(internal::SegmentSet* segments,
                                                const std::string& words, int64_t limit);
  // Calls that started at or after `since_wall_ns` and before `until_wall_ns`, in that order.
  absl::StatusOr<std::vector<ModelCallRow>> ModelCalls(internal::SegmentSet* segments,
                                                       int64_t since_wall_ns,
                                                       int64_t until_wall_ns);
  absl::StatusOr<Sightings> Seen(internal::SegmentSet* segments, const SightingFilter& filter);
  // Kept in a file. For `doctor` and tests.
  bool is_persistent() const;

 private:
  explicit Catalog(const std::string& path);
  std::unique_ptr<internal::CatalogFile> file_;
};

}  // namespace reenact::store

#endif  // REENACT_STORE_READER_CATALOG_H_
