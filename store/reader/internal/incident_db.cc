#include "store/reader/internal/incident_db.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

#include "store/format/file_digest.h"
#include "store/format/migration.h"
#include "store/format/posix_file.h"
#include "store/format/tables.h"
#include "store/reader/internal/file_status.h"
#include "store/reader/internal/lock_file.h"
#include "store/reader/internal/record_file.h"
#include "store/writer/internal/manifest.h"

namespace reenact::store::internal {
namespace {

using sqlite::Failure;
using sqlite::Statement;

constexpr int32_t kIncidentsApplicationId = 0x72656569;  // "reei"
constexpr int32_t kIncidentsVersion = 1;

constexpr char kIncidentsSql[] = R"sql(
CREATE TABLE incident(
  id BLOB PRIMARY KEY, run BLOB NOT NULL, title TEXT NOT NULL, severity INTEGER NOT NULL,
  notes TEXT NOT NULL, opened_wall_ns INTEGER NOT NULL, opened_monotonic_ns INTEGER NOT NULL,
  closed_wall_ns INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE incident_note(
  ordinal INTEGER PRIMARY KEY, incident BLOB NOT NULL REFERENCES incident(id),
  at_wall_ns INTEGER NOT NULL, text TEXT NOT NULL) STRICT;
CREATE TABLE incident_run(
  ordinal INTEGER PRIMARY KEY, incident BLOB NOT NULL REFERENCES incident(id), run BLOB NOT NULL,
  marked INTEGER NOT NULL, UNIQUE(incident, run)) STRICT;
CREATE TABLE promoted(run BLOB PRIMARY KEY, part BLOB NOT NULL, bundle BLOB NOT NULL) STRICT;
)sql";

schema::Ulid IdAt(const Statement& row, int column) {
  return schema::UlidFromBytes(row.Bytes(column)).value_or(schema::Ulid{});
}

}  // namespace

absl::Status IncidentDb::Fail(Failure failure) {
  return ToStatus(failure, connection_, name_, "incidents");
}

absl::StatusOr<Statement> IncidentDb::Prepare(const char* sql) {
  Statement statement;
  if (const Failure failure = connection_.Prepare(sql, &statement); failure != Failure::kNone)
    return Fail(failure);
  return statement;
}

absl::Status IncidentDb::Finish(const Statement& statement) {
  return Fail(statement.failure());
}

absl::Status IncidentDb::RunOnce(Statement* statement) {
  return Fail(statement->Run());
}

absl::StatusOr<std::unique_ptr<IncidentDb>> IncidentDb::OpenForReading(const std::string& path) {
  struct stat status {};

  if (stat(path.c_str(), &status) != 0) return FileStatus(errno, path);
  auto db = std::make_unique<IncidentDb>();
  db->name_ = FileNameOf(path);
  int32_t application_id = 0;
  int32_t version = 0;
  Failure failure = db->connection_.Open(path, sqlite::OpenMode::kReadOnly);
  if (failure == Failure::kNone) failure = db->connection_.ReadVersion(&application_id, &version);
  // A writer died in the middle: its journal is rolled back by whoever may write.
  if (failure == Failure::kReadOnly || failure == Failure::kCannotOpen) {
    failure = db->connection_.Open(path, sqlite::OpenMode::kReadWrite);
    if (failure == Failure::kNone) failure = db->connection_.ReadVersion(&application_id, &version);
  }
  if (failure != Failure::kNone) return db->Fail(failure);
  if (application_id == 0 && version == 0)
    return absl::NotFoundError(absl::StrCat(db->name_, " is empty"));
  if (application_id != kIncidentsApplicationId)
    return absl::DataLossError(
        absl::StrCat(db->name_, " is a SQLite file, but holds no incidents"));
  if (version > kIncidentsVersion) {
    return absl::FailedPreconditionError(absl::StrCat(db->name_, " has version ", version,
                                                      "; this Reenact reads up to ",
                                                      kIncidentsVersion, ". Use a newer one"));
  }
  return db;
}

absl::StatusOr<std::unique_ptr<IncidentDb>> IncidentDb::OpenForWriting(const std::string& path) {
  auto db = std::make_unique<IncidentDb>();
  db->name_ = FileNameOf(path);
  db->layout_.root = FolderOf(path);
  MakePrivateFile(path);
  Failure failure = db->connection_.Open(path, sqlite::OpenMode::kCreate);
  // An incident is small and precious: each commit is on the disk before anybody is told.
  if (failure == Failure::kNone)
    failure = db->connection_.Execute("PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL");
  if (failure != Failure::kNone) return db->Fail(failure);
  static const std::string kAllSql = absl::StrCat(kIncidentsSql, kIncidentPinsSql);
  const MigrationStep steps[] = {{0, kAllSql.c_str()}};
  static_assert(std::size(steps) == kIncidentsVersion);
  std::string why;
  switch (Migrate(&db->connection_, {kIncidentsApplicationId, kIncidentsVersion, steps}, &failure,
                  &why)) {
    case MigrationResult::kOk:
      return db;
    case MigrationResult::kForeign:
      return absl::DataLossError(absl::StrCat(db->name_, ": ", why));
    case MigrationResult::kNewer:
      return absl::FailedPreconditionError(absl::StrCat(db->name_, ": ", why));
    case MigrationResult::kFailed:
      return db->Fail(failure);
  }
  return absl::InternalError(db->name_);
}

absl::StatusOr<std::vector<Incident>> IncidentDb::Incidents() {
  auto rows = Prepare(
      "SELECT id, title, severity, notes, opened_wall_ns, closed_wall_ns FROM incident"
      " ORDER BY opened_wall_ns, id");
  auto notes =
      Prepare("SELECT at_wall_ns, text FROM incident_note WHERE incident = ?1 ORDER BY ordinal");
  auto runs =
      Prepare("SELECT run FROM incident_run WHERE incident = ?1 ORDER BY marked DESC, ordinal");
  for (const auto* statement : {&rows, &notes, &runs}) {
    if (!statement->ok()) return statement->status();
  }
  std::vector<Incident> incidents;
  while (rows->Step()) {
    Incident& incident = incidents.emplace_back();
    incident.id = IdAt(*rows, 0);
    incident.title = rows->Bytes(1);
    incident.severity = static_cast<int32_t>(rows->Integer(2));
    incident.opened_wall_ns = rows->Integer(4);
    incident.closed_wall_ns = rows->Integer(5);
    incident.open = incident.closed_wall_ns == 0;
    if (!rows->Bytes(3).empty())
      incident.notes.push_back({incident.opened_wall_ns, std::string(rows->Bytes(3))});
    notes->BindBlob(1, incident.id.AsBytes());
    while (notes->Step())
      incident.notes.push_back({notes->Integer(0), std::string(notes->Bytes(1))});
    if (absl::Status done = Finish(*notes); !done.ok()) return done;
    notes->Reset();
    runs->BindBlob(1, incident.id.AsBytes());
    while (runs->Step()) incident.runs.push_back(IdAt(*runs, 0));
    if (absl::Status done = Finish(*runs); !done.ok()) return done;
    runs->Reset();
  }
  if (absl::Status done = Finish(*rows); !done.ok()) return done;
  return incidents;
}

absl::StatusOr<std::set<std::pair<std::string, schema::Ulid>>> IncidentDb::Pins() {
  auto rows = Prepare("SELECT segment, run FROM pin");
  if (!rows.ok()) return rows.status();
  std::set<std::pair<std::string, schema::Ulid>> pins;
  while (rows->Step()) pins.emplace(rows->Bytes(0), IdAt(*rows, 1));
  if (absl::Status done = Finish(*rows); !done.ok()) return done;
  return pins;
}

absl::StatusOr<std::vector<schema::Mark>> IncidentDb::MarksOf(const schema::Ulid& run) {
  auto rows = Prepare(
      "SELECT id, title, severity, notes, opened_wall_ns, opened_monotonic_ns FROM incident"
      " WHERE run = ?1 ORDER BY opened_wall_ns, id");
  if (!rows.ok()) return rows.status();
  rows->BindBlob(1, run.AsBytes());
  std::vector<schema::Mark> marks;
  while (rows->Step()) {
    marks.push_back({.id = IdAt(*rows, 0),
                     .run = run,
                     .title = std::string(rows->Bytes(1)),
                     .severity = static_cast<int32_t>(rows->Integer(2)),
                     .notes = std::string(rows->Bytes(3)),
                     .at = {rows->Integer(4), rows->Integer(5)}});
  }
  if (absl::Status done = Finish(*rows); !done.ok()) return done;
  return marks;
}

absl::StatusOr<std::map<schema::Ulid, RunPart>> IncidentDb::PromotedParts() {
  auto rows = Prepare("SELECT run, part FROM promoted");
  if (!rows.ok()) return rows.status();
  std::map<schema::Ulid, RunPart> parts;
  while (rows->Step()) {
    auto part = DecodeRunPart(rows->Bytes(1));
    if (!part)
      return absl::DataLossError(
          absl::StrCat(name_, ": the summary of run ", ToString(IdAt(*rows, 0)), " is damaged"));
    parts.emplace(IdAt(*rows, 0), *std::move(part));
  }
  if (absl::Status done = Finish(*rows); !done.ok()) return done;
  return parts;
}

absl::StatusOr<std::optional<std::string>> IncidentDb::PromotedRun(const schema::Ulid& run) {
  auto rows = Prepare("SELECT bundle FROM promoted WHERE run = ?1");
  if (!rows.ok()) return rows.status();
  rows->BindBlob(1, run.AsBytes());
  if (rows->Step()) return std::string(rows->Bytes(0));
  if (absl::Status done = Finish(*rows); !done.ok()) return done;
  return std::nullopt;
}

absl::Status IncidentDb::Begin() {
  return Fail(connection_.Execute("BEGIN IMMEDIATE"));
}

absl::Status IncidentDb::Commit() {
  return ChangeFile("COMMIT");
}

absl::Status IncidentDb::SecureDeletes() {
  return Fail(connection_.Execute("PRAGMA secure_delete=ON"));
}

absl::Status IncidentDb::Compact() {
  return ChangeFile("VACUUM");
}

absl::Status IncidentDb::ChangeFile(const char* sql) {
  std::string key;
  std::string why;
  if (!PrepareStore(layout_, &key, &why)) return absl::PermissionDeniedError(why);
  if (const int code = AppendIncidentsChanging(layout_.manifest(), key); code != 0)
    return FileStatus(code, layout_.manifest());
  if (absl::Status done = Fail(connection_.Execute(sql)); !done.ok()) return done;
  // What was asked for is done, whatever becomes of this line: `verify` tells of a change whose end
  // it does not know, and the next one settles it.
  schema::Digest digest{};
  if (DigestOfFile(layout_.incidents(), &digest) == 0)
    (void)AppendIncidentsChanged(layout_.manifest(), key, digest);
  return absl::OkStatus();
}

void IncidentDb::Rollback() {
  if (connection_.in_transaction()) (void)connection_.Execute("ROLLBACK");
}

absl::Status IncidentDb::Adopt(const schema::Mark& mark) {
  auto insert = Prepare(
      "INSERT OR IGNORE INTO incident(id, run, title, severity, notes, opened_wall_ns,"
      " opened_monotonic_ns) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)");
  if (!insert.ok()) return insert.status();
  insert->BindBlob(1, mark.id.AsBytes());
  insert->BindBlob(2, mark.run.AsBytes());
  insert->BindText(3, mark.title);
  insert->BindInteger(4, mark.severity);
  insert->BindText(5, mark.notes);
  insert->BindInteger(6, mark.at.wall_ns);
  insert->BindInteger(7, mark.at.monotonic_ns);
  if (absl::Status done = RunOnce(&*insert); !done.ok()) return done;
  // Until the run's copy is made its mark goes on pinning whatever segments the run reaches.
  if (absl::Status done = AdoptMarksOf(mark.run); !done.ok()) return done;
  return AddRun(mark.id, mark.run, true);
}

absl::Status IncidentDb::AdoptMarksOf(const schema::Ulid& run) {
  auto adopt = Prepare(
      "INSERT OR IGNORE INTO adopted_mark(id) SELECT id FROM incident WHERE run = ?1"
      " AND EXISTS (SELECT 1 FROM promoted WHERE promoted.run = ?1)");
  if (!adopt.ok()) return adopt.status();
  adopt->BindBlob(1, run.AsBytes());
  return RunOnce(&*adopt);
}

absl::Status IncidentDb::AddRun(const schema::Ulid& incident, const schema::Ulid& run,
                                bool marked) {
  auto insert = Prepare(
      "INSERT INTO incident_run(incident, run, marked) VALUES(?1, ?2, ?3)"
      " ON CONFLICT(incident, run) DO UPDATE SET marked = max(marked, excluded.marked)");
  if (!insert.ok()) return insert.status();
  insert->BindBlob(1, incident.AsBytes());
  insert->BindBlob(2, run.AsBytes());
  insert->BindInteger(3, marked ? 1 : 0);
  return RunOnce(&*insert);
}

absl::Status IncidentDb::Pin(const std::string& segment, const schema::Ulid& run) {
  auto insert = Prepare("INSERT OR IGNORE INTO pin(segment, run) VALUES(?1, ?2)");
  if (!insert.ok()) return insert.status();
  insert->BindText(1, segment);
  insert->BindBlob(2, run.AsBytes());
  return RunOnce(&*insert);
}

absl::Status IncidentDb::AddNote(const schema::Ulid& incident, const IncidentNote& note) {
  auto insert = Prepare("INSERT INTO incident_note(incident, at_wall_ns, text) VALUES(?1, ?2, ?3)");
  if (!insert.ok()) return insert.status();
  insert->BindBlob(1, incident.AsBytes());
  insert->BindInteger(2, note.at_wall_ns);
  insert->BindText(3, note.text);
  return RunOnce(&*insert);
}

absl::Status IncidentDb::Close(const schema::Ulid& incident, int64_t at_wall_ns) {
  auto update =
      Prepare("UPDATE incident SET closed_wall_ns = ?2 WHERE id = ?1 AND closed_wall_ns = 0");
  if (!update.ok()) return update.status();
  update->BindBlob(1, incident.AsBytes());
  update->BindInteger(2, at_wall_ns);
  return RunOnce(&*update);
}

absl::Status IncidentDb::Promote(const schema::Ulid& run, const RunPart& part,
                                 std::string_view bundle) {
  auto insert = Prepare("INSERT OR REPLACE INTO promoted(run, part, bundle) VALUES(?1, ?2, ?3)");
  if (!insert.ok()) return insert.status();
  const std::string encoded = EncodeRunPart(part);
  insert->BindBlob(1, run.AsBytes());
  insert->BindBlob(2, encoded);
  insert->BindBlob(3, bundle);
  if (absl::Status done = RunOnce(&*insert); !done.ok()) return done;
  if (absl::Status done = AdoptMarksOf(run); !done.ok()) return done;
  auto unpin = Prepare("DELETE FROM pin WHERE run = ?1");
  if (!unpin.ok()) return unpin.status();
  unpin->BindBlob(1, run.AsBytes());
  return RunOnce(&*unpin);
}

absl::Status IncidentDb::ReplacePromoted(const schema::Ulid& run, const RunPart& part,
                                         std::string_view bundle) {
  auto update = Prepare("UPDATE promoted SET part = ?2, bundle = ?3 WHERE run = ?1");
  if (!update.ok()) return update.status();
  const std::string encoded = EncodeRunPart(part);
  update->BindBlob(1, run.AsBytes());
  update->BindBlob(2, encoded);
  update->BindBlob(3, bundle);
  return RunOnce(&*update);
}

absl::StatusOr<std::vector<IncidentText>> IncidentDb::Texts() {
  using Place = IncidentText::Place;
  std::vector<IncidentText> texts;
  auto incidents = Prepare("SELECT rowid, run, title, notes FROM incident ORDER BY rowid");
  if (!incidents.ok()) return incidents.status();
  while (incidents->Step()) {
    for (const auto& [place, column] : {std::pair(Place::kTitle, 2), std::pair(Place::kNotes, 3)})
      texts.push_back({place, incidents->Integer(0), IdAt(*incidents, 1),
                       std::string(incidents->Bytes(column))});
  }
  if (absl::Status done = Finish(*incidents); !done.ok()) return done;
  auto notes = Prepare(
      "SELECT ordinal, run, text FROM incident_note JOIN incident ON incident.id = incident"
      " ORDER BY ordinal");
  if (!notes.ok()) return notes.status();
  while (notes->Step())
    texts.push_back(
        {Place::kNote, notes->Integer(0), IdAt(*notes, 1), std::string(notes->Bytes(2))});
  if (absl::Status done = Finish(*notes); !done.ok()) return done;
  return texts;
}

absl::Status IncidentDb::ReplaceText(const IncidentText& text) {
  static constexpr const char* kUpdates[] = {
      "UPDATE incident SET title = ?2 WHERE rowid = ?1",
      "UPDATE incident SET notes = ?2 WHERE rowid = ?1",
      "UPDATE incident_note SET text = ?2 WHERE ordinal = ?1"};
  auto update = Prepare(kUpdates[static_cast<size_t>(text.place)]);
  if (!update.ok()) return update.status();
  update->BindInteger(1, text.row);
  update->BindText(2, text.text);
  return RunOnce(&*update);
}

}  // namespace reenact::store::internal
