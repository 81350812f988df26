// Walking the chain: the rows of all tables, merged by ordinal.

#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"

#include "store/format/chain.h"
#include "store/reader/internal/record_file.h"

namespace reenact::store::internal {
namespace {

constexpr size_t kTableCount = std::size(kChainedTables);
constexpr const char* kReadingFailed = "reading the chain failed";

struct Cursor {
  sqlite::Statement rows;
  bool has_row = false;
  int64_t ordinal = 0;

  // False: reading failed. To be asked at once, while the connection still says why.
  bool Next() {
    has_row = rows.Step();
    if (has_row) ordinal = rows.Integer(0);
    return rows.failure() == sqlite::Failure::kNone;
  }
};

// A body's frame is not part of the chain, and most of what there is to read.
std::string SelectOf(const ChainedTable& table) {
  if (table.id != Table::kBody) return absl::StrCat(table.select, kInOrder);
  return absl::StrCat(
      "SELECT ordinal, raw_size, digest, flags, original_size, original_digest, chain FROM body",
      kInOrder);
}

void Count(Table table, const sqlite::Statement& row, std::map<int64_t, RunCensus>* runs) {
  if (table == Table::kEvent)
    ++(*runs)[row.Integer(event_column::kRun)].events;
  else if (table == Table::kRunTag)
    ++(*runs)[row.Integer(run_tag_column::kRun)].tags;
  else if (table == Table::kComponent)
    ++(*runs)[row.Integer(component_column::kRun)].components;
}

// The cursor with the lowest ordinal; null at the end.
Cursor* Lowest(std::array<Cursor, kTableCount>* cursors) {
  Cursor* lowest = nullptr;
  for (Cursor& cursor : *cursors) {
    if (cursor.has_row && (lowest == nullptr || cursor.ordinal < lowest->ordinal)) lowest = &cursor;
  }
  return lowest;
}

}  // namespace

absl::StatusOr<ChainResult> WalkChain(RecordFile* file) {
  std::array<Cursor, kTableCount> cursors;
  for (size_t i = 0; i < kTableCount; ++i) {
    const auto failure = file->connection.Prepare(SelectOf(*kChainedTables[i]), &cursors[i].rows);
    if (failure != sqlite::Failure::kNone) return file->Fail(failure, kReadingFailed);
    if (!cursors[i].Next()) return file->Fail(cursors[i].rows.failure(), kReadingFailed);
  }
  ChainResult result{.head = FirstLink(file->info.id)};
  Link link;
  int64_t expected = 1;
  while (Cursor* cursor = Lowest(&cursors)) {
    const ChainedTable& table = *kChainedTables[static_cast<size_t>(cursor - cursors.data())];
    const schema::Digest digest = LinkOfRow(&link, result.head, table, cursor->rows);
    const std::string_view stored = cursor->rows.Bytes(table.chained_columns);
    const bool missing = cursor->ordinal > expected;
    if ((missing || cursor->ordinal < expected || stored != schema::AsBytes(digest)) &&
        result.breaks.size() < kMaxChainBreaks)
      result.breaks.push_back({&table, cursor->ordinal, missing ? expected : 0});
    result.head = {};
    if (stored.size() == result.head.size())
      std::memcpy(result.head.data(), stored.data(), stored.size());
    Count(table.id, cursor->rows, &result.runs);
    ++result.rows;
    expected = cursor->ordinal + 1;
    if (!cursor->Next()) return file->Fail(cursor->rows.failure(), kReadingFailed);
  }
  return result;
}

}  // namespace reenact::store::internal
