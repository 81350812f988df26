// The rows of incidents.db: incidents, their notes and runs, pins of segments, and whole copies of
// marked runs (each a bundle of its own, as bytes, so that the code that reads bundles reads them).

#ifndef REENACT_STORE_READER_INTERNAL_INCIDENT_DB_H_
#define REENACT_STORE_READER_INTERNAL_INCIDENT_DB_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "schema/record.h"
#include "store/format/sqlite.h"
#include "store/reader/incidents.h"
#include "store/reader/internal/run_part.h"
#include "store/store_layout.h"

namespace reenact::store::internal {

// What somebody wrote: the title or the notes of an incident, or a note that was added to it.
struct IncidentText {
  enum class Place : uint8_t { kTitle, kNotes, kNote };
  Place place = Place::kTitle;
  int64_t row = 0;
  schema::Ulid run;  // The one that was marked.
  std::string text;
};

class IncidentDb {
 public:
  // Errors: NotFound (there is none); DataLoss; FailedPrecondition (newer); PermissionDenied.
  static absl::StatusOr<std::unique_ptr<IncidentDb>> OpenForReading(const std::string& path);
  // Makes it when there is none. The caller holds the lock.
  static absl::StatusOr<std::unique_ptr<IncidentDb>> OpenForWriting(const std::string& path);

  // In order of opening.
  absl::StatusOr<std::vector<Incident>> Incidents();
  // (segment, run).
  absl::StatusOr<std::set<std::pair<std::string, schema::Ulid>>> Pins();
  // The marks on `run`.
  absl::StatusOr<std::vector<schema::Mark>> MarksOf(const schema::Ulid& run);
  absl::StatusOr<std::map<schema::Ulid, RunPart>> PromotedParts();
  // The bytes of the run's copy; absent when there is none.
  absl::StatusOr<std::optional<std::string>> PromotedRun(const schema::Ulid& run);
  // Titles and notes, by incident.
  absl::StatusOr<std::vector<IncidentText>> Texts();

  // Writing happens between Begin and Commit; without Commit nothing is kept.
  absl::Status Begin();
  absl::Status Commit();
  void Rollback();
  // Makes the incident of a mark, unless it is there.
  absl::Status Adopt(const schema::Mark& mark);
  // `marked`: somebody marked this run itself.
  absl::Status AddRun(const schema::Ulid& incident, const schema::Ulid& run, bool marked);
  absl::Status Pin(const std::string& segment, const schema::Ulid& run);
  absl::Status AddNote(const schema::Ulid& incident, const IncidentNote& note);
  absl::Status Close(const schema::Ulid& incident, int64_t at_wall_ns);
  // Keeps a copy of the run, and drops its pins.
  absl::Status Promote(const schema::Ulid& run, const RunPart& part, std::string_view bundle);
  // Another copy of a run that was copied; its pins are gone already.
  absl::Status ReplacePromoted(const schema::Ulid& run, const RunPart& part,
                               std::string_view bundle);
  absl::Status ReplaceText(const IncidentText& text);

  // Writes the file anew, outside of a transaction, so that no free page and no free byte of a page
  // holds what rows held once. What is removed before this, after SecureDeletes, is overwritten.
  absl::Status Compact();
  absl::Status SecureDeletes();

 private:
  // Ends a transaction, or changes the file as a whole: the manifest is told before and after.
  absl::Status ChangeFile(const char* sql);
  absl::StatusOr<sqlite::Statement> Prepare(const char* sql);
  absl::Status RunOnce(sqlite::Statement* statement);
  absl::Status Finish(const sqlite::Statement& statement);
  // Tells retention that the marks on a run that was copied need not pin any more.
  absl::Status AdoptMarksOf(const schema::Ulid& run);
  absl::Status Fail(sqlite::Failure failure);

  std::string name_;
  StoreLayout layout_;  // Of the store that the file lies in.
  sqlite::Connection connection_;
};

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_INCIDENT_DB_H_
