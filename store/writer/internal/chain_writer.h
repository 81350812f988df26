// Appends rows to the chained tables: binds each column once and hashes it into the row's link on
// the way, so that what is stored and what the chain commits to cannot differ.

#ifndef REENACT_STORE_WRITER_INTERNAL_CHAIN_WRITER_H_
#define REENACT_STORE_WRITER_INTERNAL_CHAIN_WRITER_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "store/format/chain.h"
#include "store/format/sqlite.h"

namespace reenact::store {

// Where a chain stands.
struct ChainState {
  int64_t rows = 0;  // The last ordinal.
  schema::Digest head{};
};

class ChainWriter {
 public:
  // Prepares the inserts and finds where the chain of the file stands.
  sqlite::Failure Open(sqlite::Connection* connection, const schema::Ulid& segment_id);

  // Begins a row and returns its ordinal. Then the chained columns in order, EndChain, the others,
  // Append. Bytes must stay until Append.
  int64_t Begin(const ChainedTable& table);
  void Null();
  void Integer(int64_t value);
  void Text(std::string_view value);
  void Blob(std::string_view value);
  void EndChain();
  sqlite::Failure Append();

  // Appended rows become part of the chain for good, or are forgotten.
  void Committed() { committed_ = state_; }

  void RolledBack() { state_ = committed_; }

  const ChainState& committed() const { return committed_; }

  const ChainState& state() const { return state_; }

  // Lets go of the statements; the state stays.
  void Close();
  void Abandon();

 private:
  sqlite::Statement& statement() { return inserts_[static_cast<size_t>(table_->id)]; }

  // By Table, which counts from 1.
  std::array<sqlite::Statement, std::size(kChainedTables) + 1> inserts_;
  const ChainedTable* table_ = nullptr;
  int parameter_ = 0;
  bool chaining_ = false;
  Link link_;
  schema::Digest next_{};
  ChainState state_;
  ChainState committed_;
};

}  // namespace reenact::store

#endif  // REENACT_STORE_WRITER_INTERNAL_CHAIN_WRITER_H_
