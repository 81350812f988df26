// The rows of a catalog. Knows nothing of segments: what to keep, and when, is catalog_scan.cc's.

#ifndef REENACT_STORE_READER_INTERNAL_CATALOG_DB_H_
#define REENACT_STORE_READER_INTERNAL_CATALOG_DB_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "store/format/sqlite.h"
#include "store/reader/catalog.h"
#include "store/reader/internal/part_scan.h"
#include "store/reader/internal/search_text.h"
#include "store/reader/internal/segment_set.h"
#include "store/reader/internal/sighting_table.h"

namespace reenact::store::internal {

// How far one segment has been taken in: once for the parts, once for the index, which is built
// only when somebody searches.
struct CatalogProgress {
  int64_t row_count = -1;       // SegmentReader::RowCount then; -1: nothing was taken in.
  int64_t scanned_ordinal = 0;  // Of the last event taken in.
  bool final = false;           // Sealed: nothing will follow.
};

struct CatalogSegment {
  int64_t id = 0;  // 0: not in the catalog.
  std::string name;
  CatalogProgress parts;
  CatalogProgress text;
  int64_t component_ordinal = 0;  // Of the last component taken in.
  std::vector<schema::Gap> gaps;
  FileStamp stamp;  // Of the file when it was taken in.
};

class CatalogDb {
 public:
  // `path` empty: in memory. Errors: FailedPrecondition (a newer version); others mean that there
  // is no usable file.
  static absl::StatusOr<std::unique_ptr<CatalogDb>> Open(const std::string& path);

  absl::Status Begin();
  absl::Status Commit();
  void Rollback();

  absl::StatusOr<std::map<std::string, CatalogSegment>> Segments();
  // Adds or changes; sets `segment->id`.
  absl::Status Put(CatalogSegment* segment);
  // Removes everything that came from it.
  absl::Status Forget(int64_t segment);
  absl::Status ForgetText(int64_t segment);
  // Most of the index belongs to what was forgotten; it cannot be removed from there.
  absl::StatusOr<bool> IsMostlyDead();

  absl::StatusOr<RunParts> Parts(int64_t segment);
  absl::Status PutParts(int64_t segment, const RunParts& parts);
  absl::Status AddModelCall(int64_t segment, const ModelCallRow& call);
  absl::StatusOr<std::vector<ModelCallRow>> ModelCalls(int64_t since_wall_ns,
                                                       int64_t until_wall_ns);

  absl::Status AddSightings(int64_t segment, const SightingMaps& maps);
  absl::StatusOr<Sightings> ReadSightings(const SightingFilter& filter);

  absl::StatusOr<SeenMessages> Seen(const schema::Ulid& run);
  absl::Status AddSeen(const schema::Ulid& run, uint64_t hash);

  struct Place {
    int64_t segment = 0;
    schema::Ulid run;
    uint64_t sequence = 0;
    int64_t at_wall_ns = 0;
  };

  absl::Status AddDocument(const Place& place, const SearchDocument& document);
  // Inputs and outputs of runs that the index has of this segment.
  absl::StatusOr<std::vector<TextMatch>> RunDocuments(int64_t segment);
  // `query` as QuoteQuery gives it.
  absl::StatusOr<std::vector<TextMatch>> Match(const std::string& query, int64_t limit);

 private:
  absl::StatusOr<sqlite::Statement> Prepare(const char* sql);
  absl::Status Run(sqlite::Statement* statement);
  absl::Status Delete(const char* sql, int64_t segment);
  absl::Status Fail(sqlite::Failure failure);

  sqlite::Connection connection_;
  // Used once an event or a message.
  sqlite::Statement add_text_, add_document_, add_seen_;
};

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_CATALOG_DB_H_
