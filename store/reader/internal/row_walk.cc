#include "store/reader/internal/row_walk.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace reenact::store::internal {
namespace {

constexpr const char* kReadingRowsFailed = "reading the chain failed";

std::string InOrder(const ChainedTable& table) {
  if (table.id != Table::kBody) return absl::StrCat(table.select, kInOrder);
  return absl::StrCat(
      "SELECT ordinal, raw_size, digest, flags, original_size, original_digest, chain FROM body",
      kInOrder);
}

}  // namespace

absl::Status RowWalk::Advance(Cursor* cursor) {
  cursor->has_row = cursor->rows.Step();
  if (cursor->has_row) cursor->ordinal = cursor->rows.Integer(0);
  // Asked at once, while the connection still says why.
  if (cursor->rows.failure() == sqlite::Failure::kNone) return absl::OkStatus();
  return file_->Fail(cursor->rows.failure(), kReadingRowsFailed);
}

absl::Status RowWalk::Start() {
  started_ = true;
  for (size_t i = 0; i < cursors_.size(); ++i) {
    const auto failure = file_->connection.Prepare(InOrder(*kChainedTables[i]), &cursors_[i].rows);
    if (failure != sqlite::Failure::kNone) return file_->Fail(failure, kReadingRowsFailed);
    if (absl::Status done = Advance(&cursors_[i]); !done.ok()) return done;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> RowWalk::Next() {
  if (absl::Status done = started_ ? Advance(current_) : Start(); !done.ok()) return done;
  current_ = nullptr;
  for (Cursor& cursor : cursors_) {
    if (cursor.has_row && (current_ == nullptr || cursor.ordinal < current_->ordinal))
      current_ = &cursor;
  }
  return current_ != nullptr;
}

const ChainedTable& RowWalk::table() const {
  return *kChainedTables[static_cast<size_t>(current_ - cursors_.data())];
}

}  // namespace reenact::store::internal
