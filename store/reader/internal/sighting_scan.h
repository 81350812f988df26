// Gathers the sightings of one segment while its parts are scanned.

#ifndef REENACT_STORE_READER_INTERNAL_SIGHTING_SCAN_H_
#define REENACT_STORE_READER_INTERNAL_SIGHTING_SCAN_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"

#include "schema/model_view.h"
#include "schema/record.h"
#include "store/reader/internal/call_traits.h"
#include "store/reader/internal/part_scan.h"
#include "store/reader/internal/sighting_table.h"
#include "store/reader/segment_reader.h"

namespace reenact::store::internal {

class SightingScan {
 public:
  // `*parts`: what earlier scans of this segment found, and what ScanParts adds to it. Runs that
  // are there already have been counted.
  explicit SightingScan(const RunParts* parts);

  // In the order of commit; its run is in the parts.
  void AddEvent(const schema::Event& event, const schema::ModelView& view);
  // After the events: new runs, and the components behind `*component_ordinal`, which is moved on.
  absl::Status AddRunsAndComponents(SegmentReader* segment, int64_t* component_ordinal);
  void AddRun(const schema::Run& run);
  void AddComponent(const schema::Run& run, const schema::Component& component);

  const SightingMaps& maps() const { return maps_; }

 private:
  // Null: a replay, or unknown.
  const schema::Run* Find(const schema::Ulid& run) const;
  void AddModelCall(const schema::Run& run, const schema::Event& event,
                    const schema::ModelView& view);
  void AddTrait(TraitIdentity trait, const Sighting& sighting);

  const RunParts& parts_;
  std::set<schema::Ulid> counted_;
  SightingMaps maps_;
  std::map<std::pair<std::string, std::string>, EarlierCall> earlier_;  // Service, model.
};

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_SIGHTING_SCAN_H_
