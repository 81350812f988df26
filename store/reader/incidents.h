// Incidents: what somebody marked as wrong, kept until deleted by hand. incidents.db holds the
// marks (which pin the segments their runs lie in) and, once those segments are sealed, whole
// copies of the runs. An incident holds every run of its trace, across services.
//
// Writes happen under a lock file, in journal_mode=DELETE; any process may write.

#ifndef REENACT_STORE_READER_INCIDENTS_H_
#define REENACT_STORE_READER_INCIDENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "schema/record.h"
#include "store/reader/store_reader.h"

namespace reenact::store {

struct IncidentNote {
  int64_t at_wall_ns = 0;
  std::string text;
};

struct Incident {
  schema::Ulid id;
  std::string title;
  int32_t severity = 0;
  bool open = true;
  int64_t opened_wall_ns = 0;
  int64_t closed_wall_ns = 0;  // 0 while open.
  std::vector<IncidentNote> notes;
  std::vector<schema::Ulid> runs;  // Marked ones first, then others of their traces.
};

// A store's incidents. Marks that a recorder wrote into segments (MarkIncident) count as incidents
// too; Sync adopts them.
class Incidents {
 public:
  // Errors: as StoreReader::Open.
  static absl::StatusOr<std::unique_ptr<Incidents>> Open(const std::string& store_path);
  virtual ~Incidents() = default;

  // Marks `run` and every run of its trace. The segment is pinned before this returns.
  // Errors: NotFound (no such run), PermissionDenied, Unavailable (lock held for 5 s),
  // ResourceExhausted.
  virtual absl::StatusOr<Incident> OpenIncident(const schema::Mark& mark) = 0;
  // Adopts marks found in segments, copies marked runs of sealed segments into incidents.db, adds
  // runs of the same trace that came later. Idempotent.
  virtual absl::Status Sync() = 0;
  virtual absl::StatusOr<std::vector<Incident>> List() = 0;
  // An id, a unique prefix, or "last".
  virtual absl::StatusOr<Incident> Find(const std::string& text) = 0;
  virtual absl::Status AddNote(const schema::Ulid& incident, const std::string& text) = 0;
  virtual absl::Status Close(const schema::Ulid& incident, const std::string& note) = 0;
  // Files that could not be read so far, one sentence each: marks in them are not known.
  virtual const std::vector<std::string>& problems() const = 0;
};

}  // namespace reenact::store

#endif  // REENACT_STORE_READER_INCIDENTS_H_
