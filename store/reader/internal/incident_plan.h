// What incidents.db does not know yet: marks that recorders wrote, runs of the same traces, pins,
// and runs whose segments are sealed and can be copied. Pure, but for looking into the segments.

#ifndef REENACT_STORE_READER_INTERNAL_INCIDENT_PLAN_H_
#define REENACT_STORE_READER_INTERNAL_INCIDENT_PLAN_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "schema/record.h"
#include "store/reader/incidents.h"
#include "store/reader/internal/incident_db.h"
#include "store/reader/internal/segment_set.h"

namespace reenact::store::internal {

struct RunPlace {
  std::string trace_id;
  std::vector<std::string> segments;
  bool complete = false;  // All of them are sealed, and no row will follow.
};

// The segments, as far as incidents go.
struct Survey {
  std::vector<schema::Mark> marks;
  std::map<schema::Ulid, RunPlace> runs;
};

absl::StatusOr<Survey> SurveySegments(SegmentSet* segments);

// incidents.db; empty where there is none.
struct IncidentRecords {
  std::vector<Incident> incidents;
  std::set<std::pair<std::string, schema::Ulid>> pins;
  std::map<schema::Ulid, RunPart> promoted;
};

absl::StatusOr<IncidentRecords> ReadIncidentRecords(IncidentDb* db);

struct IncidentPlan {
  std::vector<schema::Mark> adopt;
  std::vector<std::pair<schema::Ulid, schema::Ulid>> add_runs;  // (incident, run) of its trace.
  std::vector<std::pair<std::string, schema::Ulid>> pin;        // (segment, run).
  std::vector<schema::Ulid> promote;
  std::vector<Incident> incidents;  // As they are once the plan is carried out.

  bool ChangesRows() const { return !adopt.empty() || !add_runs.empty() || !pin.empty(); }
};

// `extra` is a mark that is being made; may be null.
IncidentPlan PlanIncidents(const IncidentRecords& records, const Survey& survey,
                           const schema::Mark* extra);
absl::Status CarryOut(const IncidentPlan& plan, IncidentDb* db);

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_INCIDENT_PLAN_H_
