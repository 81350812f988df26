#include "store/reader/internal/catalog_db.h"

#include <bit>

#include "absl/strings/str_cat.h"

#include "schema/varint.h"
#include "store/format/migration.h"
#include "store/reader/internal/lock_file.h"
#include "store/reader/internal/record_file.h"

namespace reenact::store::internal {
namespace {

using sqlite::Failure;
using sqlite::Statement;

constexpr int32_t kCatalogApplicationId = 0x72656563;  // "reec"
// Raised whenever the same segments would be derived differently; what an older file holds is then
// derived again.
constexpr int32_t kCatalogVersion = 3;

// `document` says what a row of the index stands for; the index itself keeps no text, which is read
// from the segment when it is shown.
constexpr char kCatalogSql[] = R"sql(
CREATE TABLE segment(
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, parts_rows INTEGER NOT NULL,
  parts_ordinal INTEGER NOT NULL, parts_final INTEGER NOT NULL, text_rows INTEGER NOT NULL,
  text_ordinal INTEGER NOT NULL, text_final INTEGER NOT NULL, gaps BLOB NOT NULL) STRICT;
CREATE TABLE run_part(
  id INTEGER PRIMARY KEY, segment INTEGER NOT NULL, run BLOB NOT NULL, part BLOB NOT NULL,
  UNIQUE(segment, run)) STRICT;
CREATE TABLE model_call(
  id INTEGER PRIMARY KEY, segment INTEGER NOT NULL, run BLOB NOT NULL, sequence INTEGER NOT NULL,
  started_wall_ns INTEGER NOT NULL, asked_model TEXT NOT NULL, served_model TEXT NOT NULL,
  fingerprint TEXT NOT NULL, logprob_tokens INTEGER NOT NULL, logprob_sum_bits INTEGER NOT NULL,
  near_ties INTEGER NOT NULL, margins_unknown INTEGER NOT NULL) STRICT;
CREATE INDEX model_call_by_time ON model_call(started_wall_ns);
CREATE INDEX model_call_by_segment ON model_call(segment);
CREATE TABLE seen_message(
  run BLOB NOT NULL, hash INTEGER NOT NULL, PRIMARY KEY(run, hash)) STRICT, WITHOUT ROWID;
CREATE TABLE document(
  id INTEGER PRIMARY KEY AUTOINCREMENT, segment INTEGER NOT NULL, run BLOB NOT NULL,
  sequence INTEGER NOT NULL, place INTEGER NOT NULL, at_wall_ns INTEGER NOT NULL) STRICT;
CREATE INDEX document_by_segment ON document(segment);
CREATE VIRTUAL TABLE text USING fts5(
  body, content = '', tokenize = "unicode61 remove_diacritics 2");
)sql";

// What was taken in before has no stamp, so that it is taken in again.
constexpr char kAddStampSql[] = R"sql(
ALTER TABLE segment ADD COLUMN size_bytes INTEGER NOT NULL DEFAULT -1;
ALTER TABLE segment ADD COLUMN modified_ns INTEGER NOT NULL DEFAULT 0;
)sql";

// What was taken in before has left no sightings, so that all of it is taken in again.
constexpr char kAddSightingsSql[] = R"sql(
ALTER TABLE segment ADD COLUMN component_ordinal INTEGER NOT NULL DEFAULT 0;
DELETE FROM segment;
DELETE FROM run_part;
DELETE FROM model_call;
DELETE FROM seen_message;
DELETE FROM document;
DROP TABLE text;
CREATE VIRTUAL TABLE text USING fts5(
  body, content = '', tokenize = "unicode61 remove_diacritics 2");
)sql";

std::string EncodeGaps(const std::vector<schema::Gap>& gaps) {
  std::string out;
  for (const schema::Gap& gap : gaps) {
    schema::PutSigned(&out, gap.at.wall_ns);
    schema::PutSigned(&out, gap.at.monotonic_ns);
    schema::PutString(&out, gap.reason);
    for (const uint64_t number : {gap.count, gap.bytes, gap.first_sequence, gap.last_sequence})
      schema::PutVarint(&out, number);
  }
  return out;
}

std::optional<std::vector<schema::Gap>> DecodeGaps(std::string_view bytes) {
  std::vector<schema::Gap> gaps;
  schema::Reader in(bytes);
  while (in.ok() && !in.AtEnd()) {
    schema::Gap& gap = gaps.emplace_back();
    gap.at.wall_ns = in.Signed();
    gap.at.monotonic_ns = in.Signed();
    gap.reason = in.String();
    for (uint64_t* number : {&gap.count, &gap.bytes, &gap.first_sequence, &gap.last_sequence})
      *number = in.Varint();
  }
  if (!in.ok()) return std::nullopt;
  return gaps;
}

schema::Ulid IdAt(const Statement& row, int column) {
  return schema::UlidFromBytes(row.Bytes(column)).value_or(schema::Ulid{});
}

CatalogProgress ProgressAt(const Statement& row, int column) {
  return {row.Integer(column), row.Integer(column + 1), row.Integer(column + 2) != 0};
}

void BindProgress(const CatalogProgress& progress, int parameter, Statement* statement) {
  statement->BindInteger(parameter, progress.row_count);
  statement->BindInteger(parameter + 1, progress.scanned_ordinal);
  statement->BindInteger(parameter + 2, progress.final ? 1 : 0);
}

absl::Status Damaged() {
  return absl::DataLossError("catalog.db holds a damaged row");
}

}  // namespace

absl::Status CatalogDb::Fail(Failure failure) {
  return ToStatus(failure, connection_, "catalog.db", "deriving");
}

absl::StatusOr<Statement> CatalogDb::Prepare(const char* sql) {
  Statement statement;
  if (const Failure failure = connection_.Prepare(sql, &statement); failure != Failure::kNone)
    return Fail(failure);
  return statement;
}

absl::Status CatalogDb::Run(Statement* statement) {
  return Fail(statement->Run());
}

absl::StatusOr<std::unique_ptr<CatalogDb>> CatalogDb::Open(const std::string& path) {
  auto db = std::make_unique<CatalogDb>();
  if (!path.empty()) MakePrivateFile(path);
  Failure failure =
      db->connection_.Open(path.empty() ? ":memory:" : path, sqlite::OpenMode::kCreate);
  if (failure == Failure::kNone) failure = db->connection_.Execute("PRAGMA journal_mode=DELETE");
  if (failure != Failure::kNone) return db->Fail(failure);
  static const std::string kSightings = absl::StrCat(kAddSightingsSql, kSightingSql);
  static const MigrationStep kSteps[] = {
      {0, kCatalogSql}, {1, kAddStampSql}, {2, kSightings.c_str()}};
  static_assert(std::size(kSteps) == kCatalogVersion);
  std::string why;
  switch (
      Migrate(&db->connection_, {kCatalogApplicationId, kCatalogVersion, kSteps}, &failure, &why)) {
    case MigrationResult::kOk:
      break;
    case MigrationResult::kNewer:
      return absl::FailedPreconditionError(why);
    case MigrationResult::kForeign:
      return absl::DataLossError(why);
    case MigrationResult::kFailed:
      return db->Fail(failure);
  }
  for (const auto& [statement, sql] :
       {std::pair{&db->add_text_, "INSERT INTO text(rowid, body) VALUES(?1, ?2)"},
        std::pair{&db->add_document_,
                  "INSERT INTO document(segment, run, sequence, place, at_wall_ns)"
                  " VALUES(?1, ?2, ?3, ?4, ?5) RETURNING id"},
        std::pair{&db->add_seen_,
                  "INSERT OR IGNORE INTO seen_message(run, hash) VALUES(?1, ?2)"}}) {
    failure = db->connection_.Prepare(sql, statement);
    if (failure != Failure::kNone) return db->Fail(failure);
  }
  return db;
}

absl::Status CatalogDb::Begin() {
  return Fail(connection_.Execute("BEGIN IMMEDIATE"));
}

absl::Status CatalogDb::Commit() {
  return Fail(connection_.Execute("COMMIT"));
}

void CatalogDb::Rollback() {
  if (connection_.in_transaction()) (void)connection_.Execute("ROLLBACK");
}

absl::StatusOr<std::map<std::string, CatalogSegment>> CatalogDb::Segments() {
  auto rows = Prepare(
      "SELECT id, name, parts_rows, parts_ordinal, parts_final, text_rows, text_ordinal, "
      "text_final,"
      " gaps, size_bytes, modified_ns, component_ordinal FROM segment");
  if (!rows.ok()) return rows.status();
  std::map<std::string, CatalogSegment> segments;
  while (rows->Step()) {
    auto gaps = DecodeGaps(rows->Bytes(8));
    if (!gaps) return Damaged();
    std::string name(rows->Bytes(1));
    segments[name] = {.id = rows->Integer(0),
                      .name = name,
                      .parts = ProgressAt(*rows, 2),
                      .text = ProgressAt(*rows, 5),
                      .component_ordinal = rows->Integer(11),
                      .gaps = *std::move(gaps),
                      .stamp = {rows->Integer(9), rows->Integer(10)}};
  }
  if (rows->failure() != Failure::kNone) return Fail(rows->failure());
  return segments;
}

absl::Status CatalogDb::Put(CatalogSegment* segment) {
  auto put = Prepare(
      "INSERT INTO segment(name, parts_rows, parts_ordinal, parts_final, text_rows, text_ordinal,"
      " text_final, gaps, size_bytes, modified_ns, component_ordinal)"
      " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT(name) DO UPDATE SET"
      " parts_rows = ?2, parts_ordinal = ?3, parts_final = ?4, text_rows = ?5, text_ordinal = ?6,"
      " text_final = ?7, gaps = ?8, size_bytes = ?9, modified_ns = ?10, component_ordinal = ?11"
      " RETURNING id");
  if (!put.ok()) return put.status();
  const std::string gaps = EncodeGaps(segment->gaps);
  put->BindText(1, segment->name);
  BindProgress(segment->parts, 2, &*put);
  BindProgress(segment->text, 5, &*put);
  put->BindBlob(8, gaps);
  put->BindInteger(9, segment->stamp.size_bytes);
  put->BindInteger(10, segment->stamp.modified_ns);
  put->BindInteger(11, segment->component_ordinal);
  if (put->Step()) segment->id = put->Integer(0);
  return Run(&*put);
}

absl::Status CatalogDb::Delete(const char* sql, int64_t segment) {
  auto statement = Prepare(sql);
  if (!statement.ok()) return statement.status();
  statement->BindInteger(1, segment);
  return Run(&*statement);
}

absl::Status CatalogDb::Forget(int64_t segment) {
  for (const char* sql :
       {"DELETE FROM run_part WHERE segment = ?1", "DELETE FROM model_call WHERE segment = ?1",
        "DELETE FROM document WHERE segment = ?1", "DELETE FROM sighting WHERE segment = ?1",
        "DELETE FROM segment WHERE id = ?1"}) {
    if (absl::Status done = Delete(sql, segment); !done.ok()) return done;
  }
  return absl::OkStatus();
}

absl::Status CatalogDb::ForgetText(int64_t segment) {
  return Delete("DELETE FROM document WHERE segment = ?1", segment);
}

absl::StatusOr<bool> CatalogDb::IsMostlyDead() {
  static constexpr int64_t kWorthwhile = 10'000;
  int64_t given = 0;
  int64_t alive = 0;
  Failure failure = connection_.QueryInteger(
      "SELECT ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'document'), 0)", &given);
  if (failure == Failure::kNone)
    failure = connection_.QueryInteger("SELECT count(*) FROM document", &alive);
  if (failure != Failure::kNone) return Fail(failure);
  return given > kWorthwhile && alive < given / 2;
}

absl::StatusOr<RunParts> CatalogDb::Parts(int64_t segment) {
  auto rows = Prepare("SELECT run, part FROM run_part WHERE segment = ?1");
  if (!rows.ok()) return rows.status();
  rows->BindInteger(1, segment);
  RunParts parts;
  while (rows->Step()) {
    auto part = DecodeRunPart(rows->Bytes(1));
    if (!part) return Damaged();
    parts.emplace(IdAt(*rows, 0), *std::move(part));
  }
  if (rows->failure() != Failure::kNone) return Fail(rows->failure());
  return parts;
}

absl::Status CatalogDb::PutParts(int64_t segment, const RunParts& parts) {
  auto put = Prepare(
      "INSERT INTO run_part(segment, run, part) VALUES(?1, ?2, ?3)"
      " ON CONFLICT(segment, run) DO UPDATE SET part = ?3");
  if (!put.ok()) return put.status();
  for (const auto& [run, part] : parts) {
    const std::string encoded = EncodeRunPart(part);
    put->BindInteger(1, segment);
    put->BindBlob(2, run.AsBytes());
    put->BindBlob(3, encoded);
    if (absl::Status done = Run(&*put); !done.ok()) return done;
  }
  return absl::OkStatus();
}

absl::Status CatalogDb::AddModelCall(int64_t segment, const ModelCallRow& call) {
  auto add = Prepare(
      "INSERT INTO model_call(segment, run, sequence, started_wall_ns, asked_model, served_model,"
      " fingerprint, logprob_tokens, logprob_sum_bits, near_ties, margins_unknown)"
      " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)");
  if (!add.ok()) return add.status();
  add->BindInteger(1, segment);
  add->BindBlob(2, call.run.AsBytes());
  add->BindInteger(3, static_cast<int64_t>(call.sequence));
  add->BindInteger(4, call.started_wall_ns);
  add->BindText(5, call.asked_model);
  add->BindText(6, call.served_model);
  add->BindText(7, call.fingerprint);
  add->BindInteger(8, call.logprob_tokens);
  add->BindInteger(9, std::bit_cast<int64_t>(call.logprob_sum_nats));
  add->BindInteger(10, call.near_ties);
  add->BindInteger(11, call.margins_unknown);
  return Run(&*add);
}

absl::StatusOr<std::vector<ModelCallRow>> CatalogDb::ModelCalls(int64_t since_wall_ns,
                                                                int64_t until_wall_ns) {
  auto rows = Prepare(
      "SELECT run, sequence, started_wall_ns, asked_model, served_model, fingerprint,"
      " logprob_tokens, logprob_sum_bits, near_ties, margins_unknown FROM model_call"
      " WHERE started_wall_ns >= ?1 AND started_wall_ns < ?2 ORDER BY started_wall_ns, id");
  if (!rows.ok()) return rows.status();
  rows->BindInteger(1, since_wall_ns);
  rows->BindInteger(2, until_wall_ns);
  std::vector<ModelCallRow> calls;
  while (rows->Step()) {
    calls.push_back({.run = IdAt(*rows, 0),
                     .sequence = static_cast<uint64_t>(rows->Integer(1)),
                     .started_wall_ns = rows->Integer(2),
                     .asked_model = std::string(rows->Bytes(3)),
                     .served_model = std::string(rows->Bytes(4)),
                     .fingerprint = std::string(rows->Bytes(5)),
                     .logprob_tokens = rows->Integer(6),
                     .logprob_sum_nats = std::bit_cast<double>(rows->Integer(7)),
                     .near_ties = rows->Integer(8),
                     .margins_unknown = rows->Integer(9)});
  }
  if (rows->failure() != Failure::kNone) return Fail(rows->failure());
  return calls;
}

absl::Status CatalogDb::AddSightings(int64_t segment, const SightingMaps& maps) {
  return Fail(internal::AddSightings(maps, segment, &connection_));
}

absl::StatusOr<Sightings> CatalogDb::ReadSightings(const SightingFilter& filter) {
  Sightings sightings;
  bool damaged = false;
  const Failure failure = internal::ReadSightings(filter, &connection_, &sightings, &damaged);
  if (failure != Failure::kNone) return Fail(failure);
  if (damaged) return Damaged();
  return sightings;
}

absl::StatusOr<SeenMessages> CatalogDb::Seen(const schema::Ulid& run) {
  auto rows = Prepare("SELECT hash FROM seen_message WHERE run = ?1");
  if (!rows.ok()) return rows.status();
  rows->BindBlob(1, run.AsBytes());
  SeenMessages seen;
  while (rows->Step()) seen.insert(static_cast<uint64_t>(rows->Integer(0)));
  if (rows->failure() != Failure::kNone) return Fail(rows->failure());
  return seen;
}

absl::Status CatalogDb::AddSeen(const schema::Ulid& run, uint64_t hash) {
  add_seen_.BindBlob(1, run.AsBytes());
  add_seen_.BindInteger(2, static_cast<int64_t>(hash));
  return Run(&add_seen_);
}

absl::Status CatalogDb::AddDocument(const Place& place, const SearchDocument& document) {
  add_document_.BindInteger(1, place.segment);
  add_document_.BindBlob(2, place.run.AsBytes());
  add_document_.BindInteger(3, static_cast<int64_t>(place.sequence));
  add_document_.BindInteger(4, static_cast<int64_t>(document.place));
  add_document_.BindInteger(5, place.at_wall_ns);
  const int64_t id = add_document_.Step() ? add_document_.Integer(0) : 0;
  if (absl::Status done = Run(&add_document_); !done.ok()) return done;
  const std::string text = SeparateIdeographs(document.text);
  add_text_.BindInteger(1, id);
  add_text_.BindText(2, text);
  return Run(&add_text_);
}

absl::StatusOr<std::vector<TextMatch>> CatalogDb::RunDocuments(int64_t segment) {
  auto rows = Prepare("SELECT run, place FROM document WHERE segment = ?1 AND sequence = 0");
  if (!rows.ok()) return rows.status();
  rows->BindInteger(1, segment);
  std::vector<TextMatch> documents;
  while (rows->Step()) {
    documents.push_back({.run = IdAt(*rows, 0), .place = static_cast<TextPlace>(rows->Integer(1))});
  }
  if (rows->failure() != Failure::kNone) return Fail(rows->failure());
  return documents;
}

absl::StatusOr<std::vector<TextMatch>> CatalogDb::Match(const std::string& query, int64_t limit) {
  auto rows = Prepare(
      "SELECT segment.name, document.run, document.sequence, document.place FROM text"
      " JOIN document ON document.id = text.rowid JOIN segment ON segment.id = document.segment"
      " WHERE text MATCH ?1 ORDER BY document.at_wall_ns DESC, document.id DESC LIMIT ?2");
  if (!rows.ok()) return rows.status();
  rows->BindText(1, query);
  rows->BindInteger(2, limit > 0 ? limit : -1);
  std::vector<TextMatch> matches;
  while (rows->Step()) {
    const int64_t place = rows->Integer(3);
    if (place < 1 || place > static_cast<int64_t>(TextPlace::kOutput)) return Damaged();
    matches.push_back({std::string(rows->Bytes(0)), IdAt(*rows, 1),
                       static_cast<uint64_t>(rows->Integer(2)), static_cast<TextPlace>(place)});
  }
  if (rows->failure() != Failure::kNone) return Fail(rows->failure());
  return matches;
}

}  // namespace reenact::store::internal
