// Sightings as rows of catalog.db: a fact is what was seen, packed; a sighting is when.

#ifndef REENACT_STORE_READER_INTERNAL_SIGHTING_TABLE_H_
#define REENACT_STORE_READER_INTERNAL_SIGHTING_TABLE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "store/format/sqlite.h"
#include "store/reader/sighting.h"

namespace reenact::store::internal {

// How sightings of one segment are gathered before they are written.
struct SightingCell {
  int64_t count = 0;
  Sighting first;
  Sighting last;

  void Add(const Sighting& sighting);
};

template <typename Identity>
using SightingMap = std::map<std::pair<Identity, int64_t>, SightingCell>;  // By hour.

struct SightingMaps {
  SightingMap<CallIdentity> calls;
  SightingMap<ComponentIdentity> components;
  SightingMap<TraitIdentity> traits;
};

inline constexpr char kSightingSql[] = R"sql(
CREATE TABLE fact(
  id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, fields BLOB NOT NULL, UNIQUE(kind, fields)) STRICT;
CREATE TABLE sighting(
  fact INTEGER NOT NULL, hour INTEGER NOT NULL, segment INTEGER NOT NULL, count INTEGER NOT NULL,
  first_wall_ns INTEGER NOT NULL, first_run BLOB NOT NULL, first_sequence INTEGER NOT NULL,
  last_wall_ns INTEGER NOT NULL, last_run BLOB NOT NULL, last_sequence INTEGER NOT NULL,
  PRIMARY KEY(fact, hour, segment)) STRICT, WITHOUT ROWID;
CREATE INDEX sighting_by_segment ON sighting(segment);
)sql";

// Adds to what is there of this segment.
sqlite::Failure AddSightings(const SightingMaps& maps, int64_t segment,
                             sqlite::Connection* connection);
// `*damaged`: a row is not what AddSightings writes.
sqlite::Failure ReadSightings(const SightingFilter& filter, sqlite::Connection* connection,
                              Sightings* sightings, bool* damaged);

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_SIGHTING_TABLE_H_
