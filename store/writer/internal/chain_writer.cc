#include "store/writer/internal/chain_writer.h"

#include <algorithm>
#include <string>

namespace reenact::store {

using sqlite::Failure;

namespace {

// The last row of `table`, if it is later than `*state`.
Failure FindLast(sqlite::Connection* connection, const ChainedTable& table, ChainState* state) {
  sqlite::Statement statement;
  const Failure prepared =
      connection->Prepare(std::string(table.select) + " ORDER BY ordinal DESC LIMIT 1", &statement);
  if (prepared != Failure::kNone) return prepared;
  if (!statement.Step()) return statement.failure();
  if (statement.Integer(0) <= state->rows) return Failure::kNone;
  const std::string_view chain = statement.Bytes(table.chained_columns);
  if (chain.size() != state->head.size()) return Failure::kCorrupt;
  state->rows = statement.Integer(0);
  std::copy(chain.begin(), chain.end(), state->head.begin());
  return Failure::kNone;
}

}  // namespace

Failure ChainWriter::Open(sqlite::Connection* connection, const schema::Ulid& segment_id) {
  state_ = {.rows = 0, .head = FirstLink(segment_id)};
  for (const ChainedTable* table : kChainedTables) {
    Failure failure = connection->Prepare(table->insert, &inserts_[static_cast<size_t>(table->id)]);
    if (failure == Failure::kNone) failure = FindLast(connection, *table, &state_);
    if (failure != Failure::kNone) return failure;
  }
  committed_ = state_;
  return Failure::kNone;
}

int64_t ChainWriter::Begin(const ChainedTable& table) {
  table_ = &table;
  const int64_t ordinal = state_.rows + 1;
  link_.Begin(state_.head, table.id, ordinal);
  chaining_ = true;
  parameter_ = 1;
  statement().BindInteger(parameter_, ordinal);
  return ordinal;
}

void ChainWriter::Null() {
  if (chaining_) link_.Null();
  statement().BindNull(++parameter_);
}

void ChainWriter::Integer(int64_t value) {
  if (chaining_) link_.Integer(value);
  statement().BindInteger(++parameter_, value);
}

void ChainWriter::Text(std::string_view value) {
  if (chaining_) link_.Text(value);
  statement().BindText(++parameter_, value);
}

void ChainWriter::Blob(std::string_view value) {
  if (chaining_) link_.Blob(value);
  statement().BindBlob(++parameter_, value);
}

void ChainWriter::EndChain() {
  next_ = link_.Finish();
  chaining_ = false;
  statement().BindBlob(++parameter_, schema::AsBytes(next_));
}

Failure ChainWriter::Append() {
  const Failure failure = statement().Run();
  if (failure == Failure::kNone) state_ = {.rows = state_.rows + 1, .head = next_};
  return failure;
}

void ChainWriter::Close() {
  inserts_ = {};
}

void ChainWriter::Abandon() {
  for (sqlite::Statement& insert : inserts_) insert.Abandon();
}

}  // namespace reenact::store
