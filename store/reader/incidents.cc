#include "store/reader/incidents.h"

#include <unistd.h>

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"

#include "store/reader/internal/id_prefix.h"
#include "store/reader/internal/incident_db.h"
#include "store/reader/internal/incident_plan.h"
#include "store/reader/internal/lock_file.h"
#include "store/reader/internal/run_assembly.h"
#include "store/reader/internal/run_copy.h"
#include "store/reader/internal/segment_set.h"
#include "store/store_layout.h"
#include "store/writer/internal/record_redactor.h"

namespace reenact::store {
namespace {

using internal::IncidentDb;
using internal::IncidentPlan;
using internal::IncidentRecords;

constexpr int64_t kLockWaitMs = 5000;

class StoreIncidents : public Incidents {
 public:
  explicit StoreIncidents(std::unique_ptr<internal::SegmentSet> segments)
      : segments_(std::move(segments)), layout_(segments_->layout()) {}

  absl::StatusOr<Incident> OpenIncident(const schema::Mark& mark) override;
  absl::Status Sync() override;
  absl::StatusOr<std::vector<Incident>> List() override;
  absl::StatusOr<Incident> Find(const std::string& text) override;
  absl::Status AddNote(const schema::Ulid& incident, const std::string& text) override;
  absl::Status Close(const schema::Ulid& incident, const std::string& note) override;

  const std::vector<std::string>& problems() const override { return segments_->problems(); }

 private:
  absl::StatusOr<IncidentRecords> Read();
  absl::StatusOr<IncidentPlan> Plan(const IncidentRecords& records, const schema::Mark* extra);
  // One transaction under the lock. `extra` is a mark to make in it; `change` may add to it.
  absl::StatusOr<IncidentPlan> Change(
      const schema::Mark* extra,
      const std::function<absl::Status(const IncidentPlan&, IncidentDb*)>& change);
  absl::Status Promote(const schema::Ulid& run);
  absl::StatusOr<Incident> FindIn(const IncidentPlan& plan, const schema::Ulid& id);
  IncidentNote NoteOf(const std::string& text) const;

  // What people write about a run says what the run said.
  const RecordRedactor redactor_{schema::RedactionPolicy()};
  std::unique_ptr<internal::SegmentSet> segments_;
  StoreLayout layout_;
};

absl::StatusOr<IncidentRecords> StoreIncidents::Read() {
  auto db = IncidentDb::OpenForReading(layout_.incidents());
  if (absl::IsNotFound(db.status())) return IncidentRecords();
  if (!db.ok()) return db.status();
  return internal::ReadIncidentRecords(db->get());
}

absl::StatusOr<IncidentPlan> StoreIncidents::Plan(const IncidentRecords& records,
                                                  const schema::Mark* extra) {
  const auto survey = internal::SurveySegments(segments_.get());
  if (!survey.ok()) return survey.status();
  if (extra != nullptr && !survey->runs.contains(extra->run) &&
      !records.promoted.contains(extra->run))
    return absl::NotFoundError(absl::StrCat("no run ", ToString(extra->run)));
  return internal::PlanIncidents(records, *survey, extra);
}

absl::StatusOr<IncidentPlan> StoreIncidents::Change(
    const schema::Mark* extra,
    const std::function<absl::Status(const IncidentPlan&, IncidentDb*)>& change) {
  auto lock = internal::LockFile::Lock(absl::StrCat(layout_.incidents(), ".lock"), kLockWaitMs);
  if (!lock.ok()) return lock.status();
  auto db = IncidentDb::OpenForWriting(layout_.incidents());
  if (!db.ok()) return db.status();
  auto records = internal::ReadIncidentRecords(db->get());
  if (!records.ok()) return records.status();
  auto plan = Plan(*records, extra);
  if (!plan.ok()) return plan.status();
  absl::Status done = (*db)->Begin();
  if (done.ok()) done = internal::CarryOut(*plan, db->get());
  if (done.ok() && change) done = change(*plan, db->get());
  if (done.ok()) done = (*db)->Commit();
  if (!done.ok()) {
    (*db)->Rollback();
    return done;
  }
  return plan;
}

absl::StatusOr<Incident> StoreIncidents::FindIn(const IncidentPlan& plan, const schema::Ulid& id) {
  for (const Incident& incident : plan.incidents) {
    if (incident.id == id) return incident;
  }
  return absl::NotFoundError(absl::StrCat("no incident ", ToString(id)));
}

absl::StatusOr<Incident> StoreIncidents::OpenIncident(const schema::Mark& given) {
  schema::Mark mark = given;
  redactor_.Redact(&mark);
  if (mark.id.IsZero()) mark.id = NewUlid();
  if (mark.at.wall_ns == 0) mark.at = {WallNowNs(), MonotonicNowNs()};
  auto plan = Change(&mark, nullptr);
  if (!plan.ok()) return plan.status();
  // Retention that had read its pins before ours may have been at work meanwhile.
  for (const auto& [segment, run] : plan->pin) {
    if (run == mark.run &&
        access(absl::StrCat(layout_.segments(), "/", segment).c_str(), F_OK) != 0)
      return absl::NotFoundError(
          absl::StrCat("run ", ToString(run), " was pruned while it was being marked"));
  }
  return FindIn(*plan, mark.id);
}

absl::Status StoreIncidents::Sync() {
  auto records = Read();
  if (!records.ok()) return records.status();
  auto plan = Plan(*records, nullptr);
  if (!plan.ok()) return plan.status();
  // Most of the time there is nothing to do, and a read-only folder is fine.
  if (plan->ChangesRows()) {
    plan = Change(nullptr, nullptr);
    if (!plan.ok()) return plan.status();
  }
  // A run that cannot be copied stays pinned, and is no reason to leave the others.
  absl::Status first_failure;
  for (const schema::Ulid& run : plan->promote) first_failure.Update(Promote(run));
  return first_failure;
}

absl::Status StoreIncidents::Promote(const schema::Ulid& run) {
  // Before the segments are read: what a redaction has taken out of them must not come back.
  auto lock = internal::LockFile::Lock(absl::StrCat(layout_.incidents(), ".lock"), kLockWaitMs);
  if (!lock.ok()) return lock.status();
  internal::RunAssembly assembly(run, true, nullptr);
  absl::Status visited =
      segments_->VisitAll([&](SegmentReader& segment) { return assembly.Add(&segment); });
  if (!visited.ok()) return visited;
  auto recorded = assembly.Finish();
  if (!recorded) return absl::OkStatus();  // Pruned since, by somebody who saw no pin.
  auto copy = internal::CopyRun(*std::move(recorded), layout_);
  if (!copy.ok()) return copy.status();
  auto db = IncidentDb::OpenForWriting(layout_.incidents());
  if (!db.ok()) return db.status();
  absl::Status done = (*db)->Begin();
  if (done.ok()) done = (*db)->Promote(run, copy->part, copy->bundle);
  if (done.ok()) done = (*db)->Commit();
  if (!done.ok()) (*db)->Rollback();
  return done;
}

IncidentNote StoreIncidents::NoteOf(const std::string& text) const {
  IncidentNote note{.at_wall_ns = WallNowNs(), .text = text};
  redactor_.Redact(&note.text);
  return note;
}

absl::StatusOr<std::vector<Incident>> StoreIncidents::List() {
  auto records = Read();
  if (!records.ok()) return records.status();
  auto plan = Plan(*records, nullptr);
  if (!plan.ok()) return plan.status();
  return std::move(plan->incidents);
}

absl::StatusOr<Incident> StoreIncidents::Find(const std::string& text) {
  auto incidents = List();
  if (!incidents.ok()) return incidents.status();
  if (internal::IsLast(text)) {
    if (incidents->empty()) return absl::NotFoundError("there is no incident");
    return incidents->back();
  }
  std::vector<schema::Ulid> ids;
  for (const Incident& incident : *incidents) ids.push_back(incident.id);
  const auto id = internal::ResolvePrefix(text, "incident", ids);
  if (!id.ok()) return id.status();
  return *std::find_if(incidents->begin(), incidents->end(),
                       [&](const Incident& incident) { return incident.id == *id; });
}

absl::Status StoreIncidents::AddNote(const schema::Ulid& incident, const std::string& text) {
  return Change(nullptr,
                [&](const IncidentPlan& plan, IncidentDb* db) {
                  const auto found = FindIn(plan, incident);
                  if (!found.ok()) return found.status();
                  return db->AddNote(incident, NoteOf(text));
                })
      .status();
}

absl::Status StoreIncidents::Close(const schema::Ulid& incident, const std::string& note) {
  return Change(nullptr,
                [&](const IncidentPlan& plan, IncidentDb* db) {
                  const auto found = FindIn(plan, incident);
                  if (!found.ok()) return found.status();
                  const int64_t now_ns = WallNowNs();
                  absl::Status noted =
                      note.empty() ? absl::OkStatus() : db->AddNote(incident, NoteOf(note));
                  return noted.ok() ? db->Close(incident, now_ns) : noted;
                })
      .status();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Incidents>> Incidents::Open(const std::string& store_path) {
  auto segments = internal::SegmentSet::Open(store_path);
  if (!segments.ok()) return segments.status();
  if (!(*segments)->is_folder())
    return absl::FailedPreconditionError(
        absl::StrCat(store_path, " is one file; incidents are kept in a store folder"));
  return std::unique_ptr<Incidents>(new StoreIncidents(*std::move(segments)));
}

}  // namespace reenact::store
