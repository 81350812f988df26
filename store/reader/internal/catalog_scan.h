// Brings the catalog up to date with the segments of a store: the parts of runs always, the index
// of texts when somebody searches. Within CatalogFile::Update.

#ifndef REENACT_STORE_READER_INTERNAL_CATALOG_SCAN_H_
#define REENACT_STORE_READER_INTERNAL_CATALOG_SCAN_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "store/reader/internal/catalog_file.h"
#include "store/reader/internal/part_scan.h"
#include "store/reader/internal/segment_set.h"
#include "store/reader/segment_reader.h"

namespace reenact::store::internal {

// A segment that cannot be read is a problem of the set, and the scan goes on; where the set is one
// file, it is the error.
class CatalogScan {
 public:
  CatalogScan(CatalogFile* catalog, SegmentSet* segments)
      : catalog_(*catalog), segments_(*segments) {}

  absl::Status UpdateParts();
  // After UpdateParts.
  absl::Status UpdateText();

  // What changes without a row.
  struct Live {
    bool owner_alive = false;
    RunParts open_calls;
  };

  // Of unsealed segments, by name, as UpdateParts saw them.
  const std::map<std::string, Live>& live() const { return live_; }

 private:
  using Work = std::function<absl::Status(SegmentReader&, CatalogSegment)>;

  // Does `work` on every segment whose progress, one of the members of CatalogSegment, is not
  // final, and on sealed ones that are not the file that was taken in.
  absl::Status VisitUnfinished(CatalogProgress CatalogSegment::*progress, const Work& work);
  absl::Status ForgetGone(const std::vector<std::string>& names);
  absl::Status ScanParts(SegmentReader& segment, CatalogSegment entry);
  absl::Status ScanText(SegmentReader& segment, CatalogSegment entry);
  absl::Status IndexPromoted();

  CatalogFile& catalog_;
  SegmentSet& segments_;
  std::map<std::string, Live> live_;
};

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_CATALOG_SCAN_H_
