#include "store/internal/segment_check.h"

#include "absl/strings/str_cat.h"

#include "store/internal/segment_rows.h"

namespace reenact::store::internal {
namespace {

using sqlite::Failure;
using sqlite::Statement;

// A segment with more damage than this is damaged enough.
constexpr size_t kMaxFindings = 100;

std::string RunName(std::string_view id) {
  const auto ulid = schema::UlidFromBytes(id);
  return ulid ? absl::StrCat("run ", ToString(*ulid)) : "a run whose id is damaged";
}

class Checker {
 public:
  explicit Checker(RecordFile* file) : file_(file), bodies_(file) {}

  SegmentCheck Run() {
    check_.sealed = file_->info.sealed;
    CheckIntegrity();
    CheckChain();
    CheckBodies();
    return std::move(check_);
  }

 private:
  void Add(std::string record, std::string problem) {
    if (check_.findings.size() < kMaxFindings)
      check_.findings.push_back({file_->info.name, std::move(record), std::move(problem)});
  }

  // The first row of a look-up with one parameter; absent where there is none.
  bool Find(const char* sql, int64_t parameter, Statement* row) {
    if (file_->connection.Prepare(sql, row) != Failure::kNone) return false;
    row->BindInteger(1, parameter);
    return row->Step();
  }

  void CheckIntegrity();
  void CheckChain();
  void CheckSeal(const ChainResult& chain);
  void CheckBodies();
  std::string NameOf(Table table, int64_t ordinal);
  std::string NameOfBody(int64_t ordinal);

  RecordFile* file_;
  BodyReader bodies_;
  SegmentCheck check_;
};

void Checker::CheckIntegrity() {
  std::string result;
  const Failure failure = file_->connection.QueryText("PRAGMA integrity_check(1)", &result);
  if (failure != Failure::kNone)
    Add("segment", absl::StrCat("SQLite cannot check it: ", file_->connection.message()));
  else if (result != "ok")
    Add("segment", absl::StrCat("SQLite finds it damaged: ", result));
}

void Checker::CheckChain() {
  const auto chain = WalkChain(file_);
  if (!chain.ok()) {
    Add("segment", std::string(chain.status().message()));
    return;
  }
  check_.rows = chain->rows;
  if (!chain->first_break) {
    check_.head_hex = schema::ToHex(chain->head);
    CheckSeal(*chain);
    return;
  }
  const ChainBreak& first = *chain->first_break;
  // Before all other findings: what SQLite makes of the damage is less telling.
  VerifyFinding finding{file_->info.name, NameOf(first.table->id, first.ordinal),
                        "does not fit the chain: it was changed, moved or put there"};
  if (first.missing != 0)
    finding.problem =
        absl::StrCat("row ", first.missing, " is missing: the chain breaks before it");
  check_.findings.insert(check_.findings.begin(), std::move(finding));
}

void Checker::CheckSeal(const ChainResult& chain) {
  if (!check_.sealed) return;
  const auto sealed = file_->MetaValue(kMetaSealed);
  if (sealed.ok() && sealed->has_value() && **sealed != std::to_string(chain.rows - 1))
    Add("segment", absl::StrCat("was sealed after ", **sealed, " rows, has ", chain.rows - 1));
}

void Checker::CheckBodies() {
  Statement rows;
  if (file_->connection.Prepare("SELECT ordinal FROM body ORDER BY ordinal", &rows) !=
      Failure::kNone)
    return;
  while (rows.Step()) {
    const int64_t ordinal = rows.Integer(0);
    ++check_.bodies;
    const auto body = bodies_.Read(ordinal, true, "body");
    if (body.ok()) continue;
    std::string problem(body.status().message());
    // "body of X.db: body 34 does not match its digest" -> what follows the number.
    const std::string number = absl::StrCat(": body ", ordinal, " ");
    if (const size_t at = problem.find(number); at != std::string::npos)
      problem = "body " + problem.substr(at + number.size());
    Add(NameOfBody(ordinal), std::move(problem));
  }
  if (rows.failure() != Failure::kNone)
    Add("segment", absl::StrCat("bodies cannot be read: ", file_->connection.message()));
}

std::string Checker::NameOf(Table table, int64_t ordinal) {
  Statement row;
  switch (table) {
    case Table::kMeta:
      if (Find("SELECT key FROM meta WHERE ordinal = ?1", ordinal, &row))
        return absl::StrCat("meta ", std::string(row.Bytes(0)));
      break;
    case Table::kBody:
      return NameOfBody(ordinal);
    case Table::kRun:
      if (Find("SELECT id FROM run WHERE ordinal = ?1", ordinal, &row))
        return RunName(row.Bytes(0));
      break;
    case Table::kRunEnd:
      if (Find("SELECT run.id FROM run_end JOIN run ON run.ordinal = run_end.run"
               " WHERE run_end.ordinal = ?1",
               ordinal, &row))
        return absl::StrCat("end of ", RunName(row.Bytes(0)));
      break;
    case Table::kRunTag:
      if (Find("SELECT run.id, key FROM run_tag JOIN run ON run.ordinal = run_tag.run"
               " WHERE run_tag.ordinal = ?1",
               ordinal, &row))
        return absl::StrCat("tag ", std::string(row.Bytes(1)), " of ", RunName(row.Bytes(0)));
      break;
    case Table::kComponent:
      if (Find("SELECT run.id, kind, name FROM component JOIN run ON run.ordinal = component.run"
               " WHERE component.ordinal = ?1",
               ordinal, &row))
        return absl::StrCat("component ", std::string(row.Bytes(1)), " ", std::string(row.Bytes(2)),
                            " of ", RunName(row.Bytes(0)));
      break;
    case Table::kEvent:
      if (Find("SELECT run.id, sequence FROM event JOIN run ON run.ordinal = event.run"
               " WHERE event.ordinal = ?1",
               ordinal, &row)) {
        const auto sequence = static_cast<uint64_t>(row.Integer(1));
        return absl::StrCat("event ", file_->info.grouped ? sequence % kGroupStride : sequence,
                            " of ", RunName(row.Bytes(0)));
      }
      break;
    case Table::kGap:
      return absl::StrCat("gap in row ", ordinal);
    case Table::kMark:
      if (Find("SELECT run FROM mark WHERE ordinal = ?1", ordinal, &row))
        return absl::StrCat("mark on ", RunName(row.Bytes(0)));
      break;
  }
  return absl::StrCat("row ", ordinal);
}

std::string Checker::NameOfBody(int64_t ordinal) {
  static constexpr struct {
    const char* sql;
    Table table;
    const char* role;
  } kUses[] = {
      {"SELECT ordinal FROM event WHERE request_body = ?1", Table::kEvent, "request"},
      {"SELECT ordinal FROM event WHERE response_body = ?1", Table::kEvent, "response"},
      {"SELECT ordinal FROM run WHERE input_body = ?1", Table::kRun, "input"},
      {"SELECT ordinal FROM run_end WHERE output_body = ?1", Table::kRunEnd, "output"},
      {"SELECT ordinal FROM component WHERE content_body = ?1", Table::kComponent, "content"},
  };

  for (const auto& use : kUses) {
    Statement row;
    if (Find(use.sql, ordinal, &row))
      return absl::StrCat("body ", ordinal, " (", use.role, " of ",
                          NameOf(use.table, row.Integer(0)), ")");
  }
  return absl::StrCat("body ", ordinal);
}

}  // namespace

SegmentCheck CheckSegment(RecordFile* file) {
  return Checker(file).Run();
}

}  // namespace reenact::store::internal
