#include "store/reader/internal/segment_rewriter.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "store/format/pairs.h"
#include "store/format/posix_file.h"
#include "store/reader/internal/row_walk.h"
#include "store/reader/internal/run_writer.h"
#include "store/store_layout.h"

namespace reenact::store::internal {
namespace {

using sqlite::Failure;
using sqlite::Statement;
using sqlite::ValueType;

// The column that holds the ordinal of the row's run; 0: there is none.
int RunColumnOf(Table table) {
  switch (table) {
    case Table::kRunEnd:
      return run_end_column::kRun;
    case Table::kRunTag:
      return run_tag_column::kRun;
    case Table::kComponent:
      return component_column::kRun;
    case Table::kEvent:
      return event_column::kRun;
    default:
      return 0;
  }
}

}  // namespace

absl::Status SegmentRewriter::Damaged(const std::string& what) const {
  return absl::DataLossError(absl::StrCat(file_->info.name, ": ", what));
}

absl::Status SegmentRewriter::CheckChain() {
  const auto chain = WalkChain(file_);
  if (!chain.ok()) return chain.status();
  head_ = {.rows = chain->rows, .head = chain->head};
  if (chain->breaks.empty()) return absl::OkStatus();
  const ChainBreak& first = chain->breaks.front();
  return Damaged(absl::StrCat(NameOfRow(file_, first.table->id, first.ordinal),
                              " does not fit the chain: `reenact verify` says more"));
}

absl::Status SegmentRewriter::ReadRunIds() {
  Statement rows;
  if (const Failure failure = file_->connection.Prepare("SELECT ordinal, id FROM run", &rows);
      failure != Failure::kNone)
    return file_->Fail(failure, "reading runs failed");
  while (rows.Step())
    run_ids_[rows.Integer(0)] = schema::UlidFromBytes(rows.Bytes(1)).value_or(schema::Ulid{});
  return rows.failure() == Failure::kNone ? absl::OkStatus()
                                          : file_->Fail(rows.failure(), "reading runs failed");
}

ChangedRow SegmentRewriter::Describe(const RowWalk& walk, std::vector<std::string> parts) {
  const Table table = walk.table().id;
  ChangedRow change{
      .run = {}, .record = NameOfRow(file_, table, walk.ordinal()), .parts = std::move(parts)};
  if (table == Table::kMark) {
    change.run =
        schema::UlidFromBytes(walk.row().Bytes(mark_column::kRun)).value_or(schema::Ulid{});
  } else {
    const int column = RunColumnOf(table);
    const int64_t run = column == 0 ? walk.ordinal() : walk.row().Integer(column);
    const auto found = run_ids_.find(run);
    if (found != run_ids_.end() && (column != 0 || table == Table::kRun))
      change.run = found->second;
  }
  // Whoever names the run beside it needs no second time.
  for (const char* before : {" of ", " on "}) {
    const std::string suffix = absl::StrCat(before, "run ", ToString(change.run));
    if (absl::EndsWith(change.record, suffix))
      change.record.resize(change.record.size() - suffix.size());
  }
  if (table == Table::kRun) change.record = "run";
  return change;
}

absl::StatusOr<std::vector<ChangedRow>> SegmentRewriter::FindChanges() {
  if (absl::Status whole = CheckChain(); !whole.ok()) return whole;
  if (absl::Status read = ReadRunIds(); !read.ok()) return read;
  if (absl::Status read = ReadBodyUses(); !read.ok()) return read;
  std::vector<ChangedRow> changes;
  RowWalk walk(file_);
  for (auto next = walk.Next();; next = walk.Next()) {
    if (!next.ok()) return next.status();
    if (!*next) return changes;
    std::vector<std::string> parts;
    if (walk.table().id != Table::kBody) {
      const auto row = rows_.Redact(walk.table(), walk.row());
      if (!row.ok()) return row.status();
      parts = (*row)->parts;
      if (!(*row)->opaque_encoding.empty())
        unsearched_.push_back(absl::StrCat(
            file_->info.name, ": a body of ", NameOfRow(file_, walk.table().id, walk.ordinal()),
            " is encoded (", (*row)->opaque_encoding, ") and was not searched"));
    } else if (!uses_.contains(walk.ordinal())) {
      const auto body = rows_.RedactUnused(walk.ordinal());
      if (!body.ok()) return body.status();
      if (body->changed) parts = {"bytes"};
    }
    if (parts.empty()) continue;
    changes.push_back(Describe(walk, std::move(parts)));
    changed_runs_.insert(changes.back().run);
  }
}

absl::StatusOr<ChainState> SegmentRewriter::WriteTo(const std::string& path) {
  const auto created = file_->MetaValue(kMetaCreated);
  if (!created.ok()) return created.status();
  deterministic_ = !created->has_value();  // A bundle says nothing of its making.
  SegmentFile to;
  std::string why;
  // Without a WAL, and without a journal on the disk: half a file is thrown away.
  const WriteCode opened = to.Open({.path = path, .deterministic = true}, &why);
  if (opened != WriteCode::kOk) return ToStatus(opened, why);
  auto written = WriteRows(&to);
  chain_.Close();
  written_ = RowLookup();
  if (written.ok()) {
    WriteCode code = ToWriteCode(to.EndJournal());
    if (code == WriteCode::kOk) code = ErrnoToWriteCode(to.MakeReadOnly());
    if (code != WriteCode::kOk) written = ToStatus(code, to.message());
  }
  if (!written.ok()) to.RemoveIfMade();
  return written;
}

absl::StatusOr<ChainState> SegmentRewriter::WriteRows(SegmentFile* to) {
  Failure failure = to->connection().Execute("BEGIN IMMEDIATE");
  if (failure == Failure::kNone) failure = chain_.Open(&to->connection(), file_->info.id);
  if (failure == Failure::kNone) failure = written_.Open(&to->connection());
  if (failure != Failure::kNone) return ToStatus(ToWriteCode(failure), to->message());
  RowWalk walk(file_);
  for (auto next = walk.Next();; next = walk.Next()) {
    if (!next.ok()) return next.status();
    if (!*next) break;
    absl::Status done =
        walk.table().id == Table::kBody ? WriteBody(walk.ordinal()) : WriteRow(walk);
    if (!done.ok()) return done;
  }
  failure = to->connection().Execute("COMMIT");
  if (failure != Failure::kNone) return ToStatus(ToWriteCode(failure), to->message());
  return chain_.state();
}

int64_t SegmentRewriter::NewOrdinal(int64_t old) const {
  const auto before = std::lower_bound(split_bodies_.begin(), split_bodies_.end(), old);
  return old + (before - split_bodies_.begin());
}

void SegmentRewriter::WriteColumn(const ColumnValue& value) {
  switch (value.type) {
    case ValueType::kInteger:
      chain_.Integer(value.integer);
      break;
    case ValueType::kText:
      chain_.Text(value.bytes);
      break;
    case ValueType::kBlob:
      chain_.Blob(value.bytes);
      break;
    case ValueType::kNull:
    case ValueType::kOther:
      chain_.Null();
      break;
  }
}

absl::Status SegmentRewriter::Append() {
  const Failure failure = chain_.Append();
  if (failure == Failure::kNone) return absl::OkStatus();
  return ToStatus(ToWriteCode(failure), absl::StrCat(file_->info.name, ": writing it anew failed"));
}

// Each fact is a list of words with commas; an earlier redaction may have left some.
void SegmentRewriter::AddFacts(const ColumnValue& run_id, ColumnValue* process) const {
  const auto id = schema::UlidFromBytes(run_id.bytes);
  auto pairs = DecodePairs(process->bytes);
  if (!id || !changed_runs_.contains(*id) || !pairs) return;
  for (const auto& [name, words] : facts_) {
    auto found = std::find_if(pairs->begin(), pairs->end(),
                              [&name = name](const auto& pair) { return pair.first == name; });
    if (found == pairs->end()) found = pairs->insert(pairs->end(), {name, ""});
    std::set<std::string> all = absl::StrSplit(found->second, ',', absl::SkipEmpty());
    for (const absl::string_view word : absl::StrSplit(words, ',', absl::SkipEmpty()))
      all.emplace(word);
    found->second = absl::StrJoin(all, ",");
  }
  EncodePairs(*pairs, &process->bytes);
}

absl::Status SegmentRewriter::WriteRow(const RowWalk& walk) {
  const ChainedTable& table = walk.table();
  const auto redacted = rows_.Redact(table, walk.row());
  if (!redacted.ok()) return redacted.status();
  std::vector<ColumnValue> columns = (*redacted)->columns;
  if (const int run = RunColumnOf(table.id); run != 0) {
    ColumnValue& value = columns[static_cast<size_t>(run)];
    value.integer = NewOrdinal(value.integer);
  }
  for (const RowBody& body : (*redacted)->bodies) {
    const auto other = other_variants_.find({walk.ordinal(), body.column});
    columns[static_cast<size_t>(body.column)].integer =
        other != other_variants_.end() ? other->second : NewOrdinal(body.ordinal);
  }
  if (table.id == Table::kRun) AddFacts(columns[run_column::kId], &columns[run_column::kProcess]);
  if (table.id == Table::kMeta && columns[meta_column::kKey].bytes == kMetaSealed)
    columns[meta_column::kValue].bytes = std::to_string(chain_.state().rows);
  chain_.Begin(table);
  for (size_t i = 1; i < columns.size(); ++i) WriteColumn(columns[i]);
  chain_.EndChain();
  return Append();
}

}  // namespace reenact::store::internal
