// The rows of all chained tables of one file, merged by ordinal: in the order of writing.

#ifndef REENACT_STORE_READER_INTERNAL_ROW_WALK_H_
#define REENACT_STORE_READER_INTERNAL_ROW_WALK_H_

#include <array>
#include <cstdint>
#include <iterator>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "store/format/sqlite.h"
#include "store/format/tables.h"
#include "store/reader/internal/record_file.h"

namespace reenact::store::internal {

class RowWalk {
 public:
  explicit RowWalk(RecordFile* file) : file_(file) {}

  // Goes to the first row, then to each next one. False: there is none any more.
  absl::StatusOr<bool> Next();

  const ChainedTable& table() const;

  int64_t ordinal() const { return current_->ordinal; }

  // Columns of the table's SELECT; of a body only those up to its chain, for its frame is most of
  // what there is to read.
  const sqlite::Statement& row() const { return current_->rows; }

 private:
  struct Cursor {
    sqlite::Statement rows;
    bool has_row = false;
    int64_t ordinal = 0;
  };

  absl::Status Start();
  absl::Status Advance(Cursor* cursor);

  RecordFile* file_;
  std::array<Cursor, std::size(kChainedTables)> cursors_;
  Cursor* current_ = nullptr;
  bool started_ = false;
};

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_ROW_WALK_H_
