#include "store/reader/internal/segment_check.h"

#include "absl/strings/str_cat.h"

#include "store/reader/internal/segment_rows.h"

namespace reenact::store::internal {
namespace {

using sqlite::Failure;
using sqlite::Statement;

// A segment with more damage than this is damaged enough.
constexpr size_t kMaxFindings = 100;

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

  void CheckIntegrity();
  void CheckChain();
  void CheckSeal(const ChainResult& chain);
  void CheckOpenCalls();
  void CheckBodies();

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
  if (chain->breaks.empty()) {
    check_.head_hex = schema::ToHex(chain->head);
    CheckSeal(*chain);
    return;
  }
  const ChainBreak& first = chain->breaks.front();
  // Before all other findings: what SQLite makes of the damage is less telling.
  VerifyFinding finding{file_->info.name, NameOfRow(file_, first.table->id, first.ordinal),
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
  CheckOpenCalls();
}

// Sealing ends every call, and these rows are outside the chain.
void Checker::CheckOpenCalls() {
  Statement calls;
  if (file_->connection.Prepare("SELECT sequence FROM open_call ORDER BY sequence LIMIT 1",
                                &calls) != Failure::kNone)
    return;
  if (calls.Step())
    Add(absl::StrCat("open call ", calls.Integer(0)), "was put there: a sealed file has none");
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
    Add(NameOfRow(file_, Table::kBody, ordinal), std::move(problem));
  }
  if (rows.failure() != Failure::kNone)
    Add("segment", absl::StrCat("bodies cannot be read: ", file_->connection.message()));
}

}  // namespace

SegmentCheck CheckSegment(RecordFile* file) {
  return Checker(file).Run();
}

}  // namespace reenact::store::internal
