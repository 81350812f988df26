// Walking the chain: the rows of all tables, merged by ordinal.

#include <array>

#include "absl/strings/str_cat.h"

#include "store/internal/chain.h"
#include "store/internal/record_file.h"

namespace reenact::store::internal {
namespace {

constexpr size_t kTableCount = std::size(kChainedTables);

struct Cursor {
  sqlite::Statement rows;
  bool has_row = false;
  int64_t ordinal = 0;

  void Next() {
    has_row = rows.Step();
    if (has_row) ordinal = rows.Integer(0);
  }
};

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
    const auto failure = file->connection.Prepare(absl::StrCat(kChainedTables[i]->select, kInOrder),
                                                  &cursors[i].rows);
    if (failure != sqlite::Failure::kNone) return file->Fail(failure, "reading the chain failed");
    cursors[i].Next();
  }
  ChainResult result{.head = FirstLink(file->info.id)};
  Link link;
  while (Cursor* cursor = Lowest(&cursors)) {
    const ChainedTable& table = *kChainedTables[static_cast<size_t>(cursor - cursors.data())];
    const int64_t expected = result.rows + 1;
    const schema::Digest digest = LinkOfRow(&link, result.head, table, cursor->rows);
    const bool missing = cursor->ordinal > expected;
    if (missing || cursor->ordinal < expected ||
        cursor->rows.Bytes(table.chained_columns) != schema::AsBytes(digest)) {
      result.first_break = ChainBreak{&table, cursor->ordinal, missing ? expected : 0};
      return result;
    }
    result.head = digest;
    ++result.rows;
    cursor->Next();
  }
  for (const Cursor& cursor : cursors) {
    if (cursor.rows.failure() != sqlite::Failure::kNone)
      return file->Fail(cursor.rows.failure(), "reading the chain failed");
  }
  return result;
}

}  // namespace reenact::store::internal
