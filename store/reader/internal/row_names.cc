// What a row is called in messages.

#include "absl/strings/str_cat.h"

#include "store/reader/internal/record_file.h"

namespace reenact::store::internal {
namespace {

using sqlite::Failure;
using sqlite::Statement;

std::string RunName(std::string_view id) {
  const auto ulid = schema::UlidFromBytes(id);
  return ulid ? absl::StrCat("run ", ToString(*ulid)) : "a run whose id is damaged";
}

// The first row of a look-up with one parameter. False: there is none.
bool Find(RecordFile* file, const char* sql, int64_t parameter, Statement* row) {
  if (file->connection.Prepare(sql, row) != Failure::kNone) return false;
  row->BindInteger(1, parameter);
  return row->Step();
}

std::string NameOfBody(RecordFile* file, int64_t ordinal) {
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
    if (Find(file, use.sql, ordinal, &row))
      return absl::StrCat("body ", ordinal, " (", use.role, " of ",
                          NameOfRow(file, use.table, row.Integer(0)), ")");
  }
  return absl::StrCat("body ", ordinal);
}

}  // namespace

std::string NameOfRow(RecordFile* file, Table table, int64_t ordinal) {
  Statement row;
  switch (table) {
    case Table::kMeta:
      if (Find(file, "SELECT key FROM meta WHERE ordinal = ?1", ordinal, &row))
        return absl::StrCat("meta ", std::string(row.Bytes(0)));
      break;
    case Table::kBody:
      return NameOfBody(file, ordinal);
    case Table::kRun:
      if (Find(file, "SELECT id FROM run WHERE ordinal = ?1", ordinal, &row))
        return RunName(row.Bytes(0));
      break;
    case Table::kRunEnd:
      if (Find(file,
               "SELECT run.id FROM run_end JOIN run ON run.ordinal = run_end.run"
               " WHERE run_end.ordinal = ?1",
               ordinal, &row))
        return absl::StrCat("end of ", RunName(row.Bytes(0)));
      break;
    case Table::kRunTag:
      if (Find(file,
               "SELECT run.id, key FROM run_tag JOIN run ON run.ordinal = run_tag.run"
               " WHERE run_tag.ordinal = ?1",
               ordinal, &row))
        return absl::StrCat("tag ", std::string(row.Bytes(1)), " of ", RunName(row.Bytes(0)));
      break;
    case Table::kComponent:
      if (Find(file,
               "SELECT run.id, kind, name FROM component JOIN run ON run.ordinal = component.run"
               " WHERE component.ordinal = ?1",
               ordinal, &row))
        return absl::StrCat("component ", std::string(row.Bytes(1)), " ", std::string(row.Bytes(2)),
                            " of ", RunName(row.Bytes(0)));
      break;
    case Table::kEvent:
      if (Find(file,
               "SELECT run.id, sequence FROM event JOIN run ON run.ordinal = event.run"
               " WHERE event.ordinal = ?1",
               ordinal, &row)) {
        const auto sequence = static_cast<uint64_t>(row.Integer(1));
        return absl::StrCat("event ", file->info.grouped ? sequence % kGroupStride : sequence,
                            " of ", RunName(row.Bytes(0)));
      }
      break;
    case Table::kGap:
      return absl::StrCat("gap in row ", ordinal);
    case Table::kMark:
      if (Find(file, "SELECT run FROM mark WHERE ordinal = ?1", ordinal, &row))
        return absl::StrCat("mark on ", RunName(row.Bytes(0)));
      break;
  }
  return absl::StrCat("row ", ordinal);
}

}  // namespace reenact::store::internal
