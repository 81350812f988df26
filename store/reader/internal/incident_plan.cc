#include "store/reader/internal/incident_plan.h"

#include <algorithm>
#include <tuple>

#include "store/store_layout.h"

namespace reenact::store::internal {
namespace {

bool MayGrow(const SegmentInfo& info) {
  return !info.sealed || (info.owner && IsAlive(*info.owner));
}

absl::Status SurveySegment(SegmentReader& segment, Survey* survey) {
  const auto marks = segment.Marks();
  if (!marks.ok()) return marks.status();
  survey->marks.insert(survey->marks.end(), marks->begin(), marks->end());
  const auto heads = segment.RunHeads();
  if (!heads.ok()) return heads.status();
  for (const RunHead& head : *heads) {
    RunPlace& place = survey->runs[head.id];
    place.trace_id = head.trace_id;
    // A run that has not ended goes on in a next segment while its process lives.
    place.complete = (place.segments.empty() || place.complete) && segment.info().sealed &&
                     (head.ended || !MayGrow(segment.info()));
    place.segments.push_back(segment.info().name);
  }
  return absl::OkStatus();
}

std::string TraceOf(const schema::Ulid& run, const IncidentRecords& records, const Survey& survey) {
  if (const auto place = survey.runs.find(run); place != survey.runs.end())
    return place->second.trace_id;
  const auto promoted = records.promoted.find(run);
  return promoted != records.promoted.end() && promoted->second.run ? promoted->second.run->trace_id
                                                                    : std::string();
}

std::map<std::string, std::vector<schema::Ulid>> RunsByTrace(const Survey& survey) {
  std::map<std::string, std::vector<schema::Ulid>> by_trace;
  for (const auto& [run, place] : survey.runs) {
    if (!place.trace_id.empty()) by_trace[place.trace_id].push_back(run);
  }
  return by_trace;
}

bool Contains(const std::vector<schema::Ulid>& list, const schema::Ulid& id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

void AddMark(const schema::Mark& mark, IncidentPlan* plan) {
  const auto there = std::find_if(plan->incidents.begin(), plan->incidents.end(),
                                  [&](const Incident& known) { return known.id == mark.id; });
  plan->adopt.push_back(mark);
  if (there != plan->incidents.end()) {
    if (!Contains(there->runs, mark.run)) there->runs.insert(there->runs.begin(), mark.run);
    return;
  }
  Incident incident{.id = mark.id,
                    .title = mark.title,
                    .severity = mark.severity,
                    .opened_wall_ns = mark.at.wall_ns,
                    .runs = {mark.run}};
  if (!mark.notes.empty()) incident.notes.push_back({mark.at.wall_ns, mark.notes});
  plan->incidents.push_back(std::move(incident));
}

}  // namespace

absl::StatusOr<Survey> SurveySegments(SegmentSet* segments) {
  Survey survey;
  absl::Status visited = segments->VisitAll([&](SegmentReader& segment) {
    if (absl::Status surveyed = SurveySegment(segment, &survey); !surveyed.ok())
      segments->AddProblem(std::string(surveyed.message()));
    return absl::OkStatus();
  });
  if (!visited.ok()) return visited;
  return survey;
}

absl::StatusOr<IncidentRecords> ReadIncidentRecords(IncidentDb* db) {
  auto incidents = db->Incidents();
  auto pins = db->Pins();
  auto promoted = db->PromotedParts();
  for (const absl::Status& status : {incidents.status(), pins.status(), promoted.status()}) {
    if (!status.ok()) return status;
  }
  return IncidentRecords{*std::move(incidents), *std::move(pins), *std::move(promoted)};
}

IncidentPlan PlanIncidents(const IncidentRecords& records, const Survey& survey,
                           const schema::Mark* extra) {
  IncidentPlan plan;
  plan.incidents = records.incidents;
  for (const schema::Mark& mark : survey.marks) {
    const bool known =
        std::any_of(plan.incidents.begin(), plan.incidents.end(),
                    [&](const Incident& incident) { return incident.id == mark.id; });
    if (!known) AddMark(mark, &plan);
  }
  if (extra != nullptr) AddMark(*extra, &plan);
  const auto by_trace = RunsByTrace(survey);
  std::set<schema::Ulid> wanted;
  for (Incident& incident : plan.incidents) {
    std::set<std::string> traces;
    for (const schema::Ulid& run : incident.runs) traces.insert(TraceOf(run, records, survey));
    for (const std::string& trace : traces) {
      const auto runs = by_trace.find(trace);
      if (runs == by_trace.end()) continue;
      for (const schema::Ulid& run : runs->second) {
        if (Contains(incident.runs, run)) continue;
        incident.runs.push_back(run);
        plan.add_runs.emplace_back(incident.id, run);
      }
    }
    wanted.insert(incident.runs.begin(), incident.runs.end());
  }
  for (const schema::Ulid& run : wanted) {
    const auto place = survey.runs.find(run);
    if (place == survey.runs.end() || records.promoted.contains(run)) continue;
    for (const std::string& segment : place->second.segments) {
      if (!records.pins.contains({segment, run})) plan.pin.emplace_back(segment, run);
    }
    if (place->second.complete) plan.promote.push_back(run);
  }
  std::sort(plan.incidents.begin(), plan.incidents.end(), [](const auto& a, const auto& b) {
    return std::tie(a.opened_wall_ns, a.id) < std::tie(b.opened_wall_ns, b.id);
  });
  return plan;
}

absl::Status CarryOut(const IncidentPlan& plan, IncidentDb* db) {
  for (const schema::Mark& mark : plan.adopt) {
    if (absl::Status done = db->Adopt(mark); !done.ok()) return done;
  }
  for (const auto& [incident, run] : plan.add_runs) {
    if (absl::Status done = db->AddRun(incident, run, false); !done.ok()) return done;
  }
  for (const auto& [segment, run] : plan.pin) {
    if (absl::Status done = db->Pin(segment, run); !done.ok()) return done;
  }
  return absl::OkStatus();
}

}  // namespace reenact::store::internal
