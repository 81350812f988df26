#include "store/reader/segment_reader.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"

#include "store/format/tables.h"
#include "store/reader/internal/record_file.h"
#include "store/reader/internal/segment_rows.h"

namespace reenact::store {

using internal::BodyReader;
using internal::RecordFile;
using internal::RowContext;
using sqlite::Failure;
using sqlite::Statement;

struct SegmentReader::Impl {
  explicit Impl(std::unique_ptr<RecordFile> opened) : file(std::move(opened)), bodies(file.get()) {}

  absl::Status LoadGroups();
  absl::StatusOr<Statement> Select(const std::string& sql);
  absl::Status Finish(const Statement& statement, std::string_view what) const;
  absl::Status CompleteRun(RunRow* row, bool with_bytes);

  RowContext Context(int64_t run, bool with_bytes) {
    const auto found = sequence_offsets.find(run);
    return {.file = file.get(),
            .bodies = &bodies,
            .with_bytes = with_bytes,
            .damaged = damaged,
            .sequence_offset = found == sequence_offsets.end() ? 0 : found->second};
  }

  // Whether a row that does not fit is, or may have been, one of this run's.
  bool BelongsTo(const internal::ChainBreak& wrong, int64_t run);
  absl::Status CheckCensus(const RunRow& run);

  std::unique_ptr<RecordFile> file;
  BodyReader bodies;
  std::vector<DamagedBody>* damaged = nullptr;
  std::optional<internal::ChainResult> chain;    // Once somebody asked.
  std::map<int64_t, uint64_t> sequence_offsets;  // By run, of grouped files.
};

void SegmentReader::LeaveOutDamagedBodies(std::vector<DamagedBody>* damaged) {
  impl_->damaged = damaged;
}

absl::StatusOr<Statement> SegmentReader::Impl::Select(const std::string& sql) {
  Statement statement;
  if (const Failure failure = file->connection.Prepare(sql, &statement); failure != Failure::kNone)
    return file->Fail(failure, "reading failed");
  return statement;
}

absl::Status SegmentReader::Impl::Finish(const Statement& statement, std::string_view what) const {
  if (statement.failure() == Failure::kNone) return absl::OkStatus();
  return file->Fail(statement.failure(), what);
}

absl::Status SegmentReader::Impl::LoadGroups() {
  if (!file->info.grouped) return absl::OkStatus();
  auto runs = Select("SELECT ordinal FROM run ORDER BY ordinal");
  if (!runs.ok()) return runs.status();
  for (uint64_t offset = 0; runs->Step(); offset += kGroupStride)
    sequence_offsets.emplace(runs->Integer(0), offset);
  return Finish(*runs, "reading runs failed");
}

// Tags and end, which have tables of their own.
absl::Status SegmentReader::Impl::CompleteRun(RunRow* row, bool with_bytes) {
  auto tags = Select(absl::StrCat(kRunTagTable.select, kOfRunInOrder));
  if (!tags.ok()) return tags.status();
  tags->BindInteger(1, row->ordinal);
  while (tags->Step()) {
    row->run.tags.emplace_back(tags->Bytes(run_tag_column::kKey),
                               tags->Bytes(run_tag_column::kValue));
  }
  if (absl::Status done = Finish(*tags, "reading tags failed"); !done.ok()) return done;
  auto ends = Select(absl::StrCat(kRunEndTable.select, kOfRunInOrder));
  if (!ends.ok()) return ends.status();
  ends->BindInteger(1, row->ordinal);
  if (ends->Step()) {
    auto end = internal::ReadRunEndRow(*ends, Context(row->ordinal, with_bytes));
    if (!end.ok()) return end.status();
    row->end = *std::move(end);
    row->end->run = row->run.id;
  }
  return Finish(*ends, "reading run ends failed");
}

SegmentReader::SegmentReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

SegmentReader::~SegmentReader() = default;

absl::StatusOr<std::unique_ptr<SegmentReader>> SegmentReader::Open(const std::string& path) {
  auto file = RecordFile::Open(path);
  if (!file.ok()) return file.status();
  auto impl = std::make_unique<Impl>(*std::move(file));
  if (absl::Status loaded = impl->LoadGroups(); !loaded.ok()) return loaded;
  return std::unique_ptr<SegmentReader>(new SegmentReader(std::move(impl)));
}

absl::StatusOr<std::unique_ptr<SegmentReader>> SegmentReader::OpenBytes(std::string_view bytes,
                                                                        const std::string& name) {
  auto file = RecordFile::OpenBytes(bytes, name);
  if (!file.ok()) return file.status();
  auto impl = std::make_unique<Impl>(*std::move(file));
  if (absl::Status loaded = impl->LoadGroups(); !loaded.ok()) return loaded;
  return std::unique_ptr<SegmentReader>(new SegmentReader(std::move(impl)));
}

const SegmentInfo& SegmentReader::info() const {
  return impl_->file->info;
}

absl::StatusOr<int64_t> SegmentReader::RowCount() {
  // Ordinals count the rows of all tables; two tables are not indexed by them.
  auto counts = impl_->Select(
      "SELECT (SELECT count(*) FROM event) + (SELECT count(*) FROM run_end)"
      " + ifnull((SELECT max(ordinal) FROM meta), 0) + ifnull((SELECT max(ordinal) FROM body), 0)"
      " + ifnull((SELECT max(ordinal) FROM run), 0) + ifnull((SELECT max(ordinal) FROM run_tag), 0)"
      " + ifnull((SELECT max(ordinal) FROM component), 0)"
      " + ifnull((SELECT max(ordinal) FROM gap), 0) + ifnull((SELECT max(ordinal) FROM mark), 0)");
  if (!counts.ok()) return counts.status();
  const int64_t count = counts->Step() ? counts->Integer(0) : 0;
  if (absl::Status done = impl_->Finish(*counts, "counting rows failed"); !done.ok()) return done;
  return count;
}

absl::StatusOr<std::vector<RunHead>> SegmentReader::RunHeads() {
  auto rows = impl_->Select(
      "SELECT id, origin, started_wall_ns, trace_id, run_end.run IS NOT NULL FROM run"
      " LEFT JOIN run_end ON run_end.run = run.ordinal ORDER BY run.ordinal");
  if (!rows.ok()) return rows.status();
  std::vector<RunHead> heads;
  while (rows->Step()) {
    if (const auto id = schema::UlidFromBytes(rows->Bytes(0))) {
      heads.push_back({.id = *id,
                       .origin = static_cast<schema::RunOrigin>(rows->Integer(1)),
                       .started_wall_ns = rows->Integer(2),
                       .trace_id = std::string(rows->Bytes(3)),
                       .ended = rows->Integer(4) != 0});
    }
  }
  if (absl::Status done = impl_->Finish(*rows, "reading runs failed"); !done.ok()) return done;
  return heads;
}

absl::StatusOr<std::optional<RunRow>> SegmentReader::FindRun(const schema::Ulid& id, bool bodies) {
  auto rows = impl_->Select(absl::StrCat(kRunTable.select, " WHERE id = ?1"));
  if (!rows.ok()) return rows.status();
  rows->BindBlob(1, id.AsBytes());
  if (!rows->Step()) {
    if (absl::Status done = impl_->Finish(*rows, "reading runs failed"); !done.ok()) return done;
    return std::nullopt;
  }
  auto row = internal::ReadRunRow(*rows, impl_->Context(0, bodies));
  if (!row.ok()) return row.status();
  if (absl::Status completed = impl_->CompleteRun(&*row, bodies); !completed.ok()) return completed;
  return *std::move(row);
}

absl::Status SegmentReader::ForEachRun(bool bodies,
                                       const std::function<absl::Status(RunRow)>& visit) {
  auto rows = impl_->Select(absl::StrCat(kRunTable.select, kInOrder));
  if (!rows.ok()) return rows.status();
  while (rows->Step()) {
    auto row = internal::ReadRunRow(*rows, impl_->Context(0, bodies));
    if (!row.ok()) return row.status();
    if (absl::Status done = impl_->CompleteRun(&*row, bodies); !done.ok()) return done;
    if (absl::Status visited = visit(*std::move(row)); !visited.ok()) return visited;
  }
  return impl_->Finish(*rows, "reading runs failed");
}

bool SegmentReader::Impl::BelongsTo(const internal::ChainBreak& wrong, int64_t run) {
  switch (wrong.table->id) {
    case Table::kRun:
      return wrong.ordinal == run;
    case Table::kRunEnd:
    case Table::kRunTag:
    case Table::kComponent:
    case Table::kEvent:
      // What was changed may be the run that the row names.
      return true;
    case Table::kMeta:
    case Table::kGap:
    case Table::kMark:
      return false;
    case Table::kBody:
      break;
  }
  auto rows = Select(
      "SELECT 1 FROM event WHERE run = ?2 AND ?1 IN (request_body, response_body)"
      " UNION ALL SELECT 1 FROM run WHERE ordinal = ?2 AND input_body = ?1"
      " UNION ALL SELECT 1 FROM run_end WHERE run = ?2 AND output_body = ?1"
      " UNION ALL SELECT 1 FROM component WHERE run = ?2 AND content_body = ?1");
  if (!rows.ok()) return true;
  rows->BindInteger(1, wrong.ordinal);
  rows->BindInteger(2, run);
  return rows->Step() || rows->failure() != Failure::kNone;
}

// An index that was damaged hides rows which are there.
absl::Status SegmentReader::Impl::CheckCensus(const RunRow& run) {
  const internal::RunCensus counted = chain->runs[run.ordinal];
  auto rows = Select(
      "SELECT (SELECT count(*) FROM event WHERE run = ?1), (SELECT count(*) FROM run_tag WHERE run "
      "="
      " ?1), (SELECT count(*) FROM component WHERE run = ?1)");
  if (!rows.ok()) return rows.status();
  rows->BindInteger(1, run.ordinal);
  if (!rows->Step()) return Finish(*rows, "counting rows failed");
  if (rows->Integer(0) == counted.events && rows->Integer(1) == counted.tags &&
      rows->Integer(2) == counted.components)
    return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("run ", ToString(run.run.id), " of ", file->info.name,
                                          ": an index is damaged and hides rows of it"));
}

absl::Status SegmentReader::CheckRows(const RunRow& run) {
  RecordFile* file = impl_->file.get();
  if (!impl_->chain) {
    auto walked = internal::WalkChain(file);
    if (!walked.ok()) return walked.status();
    impl_->chain = *std::move(walked);
  }
  for (const internal::ChainBreak& wrong : impl_->chain->breaks) {
    if (wrong.missing != 0) {
      return absl::DataLossError(
          absl::StrCat(file->info.name, ": row ", wrong.missing, " is missing, before ",
                       internal::NameOfRow(file, wrong.table->id, wrong.ordinal)));
    }
    if (!impl_->BelongsTo(wrong, run.ordinal)) continue;
    return absl::DataLossError(
        absl::StrCat(internal::NameOfRow(file, wrong.table->id, wrong.ordinal), " of ",
                     file->info.name, " does not fit the chain: it was changed or moved"));
  }
  return impl_->CheckCensus(run);
}

absl::StatusOr<std::vector<schema::Component>> SegmentReader::Components(int64_t run, bool bodies) {
  auto rows = impl_->Select(absl::StrCat(kComponentTable.select, kOfRunInOrder));
  if (!rows.ok()) return rows.status();
  rows->BindInteger(1, run);
  std::vector<schema::Component> components;
  while (rows->Step()) {
    auto component = internal::ReadComponentRow(*rows, impl_->Context(run, bodies));
    if (!component.ok()) return component.status();
    components.push_back(*std::move(component));
  }
  if (absl::Status done = impl_->Finish(*rows, "reading components failed"); !done.ok())
    return done;
  return components;
}

absl::StatusOr<std::vector<schema::Event>> SegmentReader::Events(int64_t run, bool bodies) {
  std::vector<schema::Event> events;
  auto rows = impl_->Select(absl::StrCat(kEventTable.select, kOfRunBySequence));
  if (!rows.ok()) return rows.status();
  rows->BindInteger(1, run);
  while (rows->Step()) {
    auto row = internal::ReadEventRow(*rows, impl_->Context(run, bodies));
    if (!row.ok()) return row.status();
    events.push_back(std::move(row->event));
  }
  if (absl::Status done = impl_->Finish(*rows, "reading events failed"); !done.ok()) return done;
  auto open = impl_->Select(absl::StrCat(kSelectOpenCalls, kOfRunBySequence));
  if (!open.ok()) return open.status();
  open->BindInteger(1, run);
  while (open->Step()) {
    auto row = internal::ReadOpenCallRow(*open, impl_->Context(run, bodies));
    if (!row.ok()) return row.status();
    events.push_back(std::move(row->event));
  }
  if (absl::Status done = impl_->Finish(*open, "reading open calls failed"); !done.ok())
    return done;
  return events;
}

absl::Status SegmentReader::ForEachEvent(int64_t after_ordinal,
                                         const std::function<absl::Status(EventRow)>& visit) {
  auto rows =
      impl_->Select(absl::StrCat(kEventTable.select, " WHERE ordinal > ?1 ORDER BY ordinal"));
  if (!rows.ok()) return rows.status();
  rows->BindInteger(1, after_ordinal);
  while (rows->Step()) {
    const int64_t run = rows->Integer(event_column::kRun);
    auto row = internal::ReadEventRow(*rows, impl_->Context(run, true));
    if (absl::IsDataLoss(row.status())) {
      const absl::Status damage = row.status();
      row = internal::ReadEventRow(*rows, impl_->Context(run, false));
      if (row.ok()) row->damage = damage;
    }
    if (!row.ok()) return row.status();
    if (absl::Status visited = visit(*std::move(row)); !visited.ok()) return visited;
  }
  return impl_->Finish(*rows, "reading events failed");
}

absl::Status SegmentReader::ForEachComponent(
    int64_t after_ordinal, const std::function<absl::Status(ComponentRow)>& visit) {
  auto rows =
      impl_->Select(absl::StrCat(kComponentTable.select, " WHERE ordinal > ?1 ORDER BY ordinal"));
  if (!rows.ok()) return rows.status();
  rows->BindInteger(1, after_ordinal);
  while (rows->Step()) {
    const int64_t run = rows->Integer(component_column::kRun);
    auto component = internal::ReadComponentRow(*rows, impl_->Context(run, true));
    if (absl::IsDataLoss(component.status()))
      component = internal::ReadComponentRow(*rows, impl_->Context(run, false));
    if (!component.ok()) return component.status();
    absl::Status visited =
        visit({run, rows->Integer(component_column::kOrdinal), *std::move(component)});
    if (!visited.ok()) return visited;
  }
  return impl_->Finish(*rows, "reading components failed");
}

absl::StatusOr<std::vector<EventRow>> SegmentReader::OpenCalls() {
  auto rows = impl_->Select(absl::StrCat(kSelectOpenCalls, " ORDER BY sequence"));
  if (!rows.ok()) return rows.status();
  std::vector<EventRow> calls;
  while (rows->Step()) {
    const int64_t run = rows->Integer(open_call_column::kRun);
    auto row = internal::ReadOpenCallRow(*rows, impl_->Context(run, true));
    if (!row.ok()) return row.status();
    calls.push_back(*std::move(row));
  }
  if (absl::Status done = impl_->Finish(*rows, "reading open calls failed"); !done.ok())
    return done;
  return calls;
}

absl::StatusOr<std::optional<schema::Event>> SegmentReader::FindEvent(int64_t run,
                                                                      uint64_t sequence) {
  const RowContext context = impl_->Context(run, true);
  auto rows = impl_->Select(absl::StrCat(kEventTable.select, kOfSequence));
  if (!rows.ok()) return rows.status();
  rows->BindInteger(1, static_cast<int64_t>(sequence + context.sequence_offset));
  if (rows->Step() && rows->Integer(event_column::kRun) == run) {
    auto row = internal::ReadEventRow(*rows, context);
    if (!row.ok()) return row.status();
    return std::move(row->event);
  }
  if (absl::Status done = impl_->Finish(*rows, "reading an event failed"); !done.ok()) return done;
  return std::nullopt;
}

absl::StatusOr<std::vector<schema::Gap>> SegmentReader::Gaps(int64_t run) {
  auto rows = impl_->Select(
      absl::StrCat(kGapTable.select, " WHERE ordinal > ?1 AND ordinal < ?2 ORDER BY ordinal"));
  if (!rows.ok()) return rows.status();
  int64_t first = 0;
  int64_t end = INT64_MAX;
  const auto& groups = impl_->sequence_offsets;
  if (const auto group = groups.find(run); group != groups.end()) {
    first = run;
    if (const auto next = std::next(group); next != groups.end()) end = next->first;
  }
  rows->BindInteger(1, first);
  rows->BindInteger(2, end);
  std::vector<schema::Gap> gaps;
  while (rows->Step()) gaps.push_back(internal::ReadGapRow(*rows, impl_->Context(run, false)));
  if (absl::Status done = impl_->Finish(*rows, "reading gaps failed"); !done.ok()) return done;
  return gaps;
}

absl::StatusOr<std::vector<schema::Mark>> SegmentReader::Marks() {
  auto rows = impl_->Select(absl::StrCat(kMarkTable.select, kInOrder));
  if (!rows.ok()) return rows.status();
  std::vector<schema::Mark> marks;
  while (rows->Step()) {
    auto mark = internal::ReadMarkRow(*rows, impl_->Context(0, false));
    if (!mark.ok()) return mark.status();
    marks.push_back(*std::move(mark));
  }
  if (absl::Status done = impl_->Finish(*rows, "reading marks failed"); !done.ok()) return done;
  return marks;
}

absl::StatusOr<schema::Tags> SegmentReader::Meta() {
  auto rows = impl_->Select(absl::StrCat(kMetaTable.select, kInOrder));
  if (!rows.ok()) return rows.status();
  std::map<std::string, std::string> latest;
  while (rows->Step()) {
    std::string key(rows->Bytes(meta_column::kKey));
    if (key.compare(0, sizeof(kMetaPrefix) - 1, kMetaPrefix) == 0) continue;
    latest[std::move(key)] = rows->Bytes(meta_column::kValue);
  }
  if (absl::Status done = impl_->Finish(*rows, "reading meta failed"); !done.ok()) return done;
  return schema::Tags(latest.begin(), latest.end());
}

}  // namespace reenact::store
