// Puts the texts of one segment into the index of the catalog.

#ifndef REENACT_STORE_READER_INTERNAL_TEXT_SCAN_H_
#define REENACT_STORE_READER_INTERNAL_TEXT_SCAN_H_

#include <cstdint>
#include <map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "schema/model_view.h"
#include "schema/record.h"
#include "store/reader/internal/catalog_file.h"
#include "store/reader/internal/search_text.h"
#include "store/reader/segment_reader.h"

namespace reenact::store::internal {

// Each message of a run goes in once: those that stand in the index already are left out.
class TextScan {
 public:
  // `segment`: its id in the catalog.
  TextScan(CatalogFile* catalog, int64_t segment) : catalog_(*catalog), segment_(segment) {}

  // For a copy of a run, which must be found without its segment.
  void ForgetEarlierMessages() { load_seen_ = false; }

  // The events behind `*scanned_ordinal`, which is moved on, and the inputs and outputs of all runs
  // that the index does not have of this segment.
  absl::Status Add(SegmentReader* segment, int64_t* scanned_ordinal);
  // What was seen now is remembered for the next segment of the same run.
  absl::Status SaveSeen();

 private:
  absl::Status AddEvent(const schema::Event& event, const schema::ModelView& view);
  absl::Status AddRuns(SegmentReader* segment);
  absl::Status AddBody(const schema::Ulid& run, int64_t at_wall_ns, TextPlace place,
                       const schema::Body& body);
  absl::StatusOr<SeenMessages*> SeenOf(const schema::Ulid& run);

  CatalogFile& catalog_;
  const int64_t segment_;
  bool load_seen_ = true;
  std::map<schema::Ulid, SeenMessages> seen_;
};

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_TEXT_SCAN_H_
