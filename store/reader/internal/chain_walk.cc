// Walking the chain.

#include <cstring>

#include "store/format/chain.h"
#include "store/reader/internal/record_file.h"
#include "store/reader/internal/row_walk.h"

namespace reenact::store::internal {
namespace {

void Count(Table table, const sqlite::Statement& row, std::map<int64_t, RunCensus>* runs) {
  if (table == Table::kEvent)
    ++(*runs)[row.Integer(event_column::kRun)].events;
  else if (table == Table::kRunTag)
    ++(*runs)[row.Integer(run_tag_column::kRun)].tags;
  else if (table == Table::kComponent)
    ++(*runs)[row.Integer(component_column::kRun)].components;
}

}  // namespace

absl::StatusOr<ChainResult> WalkChain(RecordFile* file) {
  RowWalk walk(file);
  ChainResult result{.head = FirstLink(file->info.id)};
  Link link;
  int64_t expected = 1;
  for (auto next = walk.Next();; next = walk.Next()) {
    if (!next.ok()) return next.status();
    if (!*next) return result;
    const ChainedTable& table = walk.table();
    const schema::Digest digest = LinkOfRow(&link, result.head, table, walk.row());
    const std::string_view stored = walk.row().Bytes(table.chained_columns);
    const bool missing = walk.ordinal() > expected;
    if ((missing || walk.ordinal() < expected || stored != schema::AsBytes(digest)) &&
        result.breaks.size() < kMaxChainBreaks)
      result.breaks.push_back({&table, walk.ordinal(), missing ? expected : 0});
    result.head = {};
    if (stored.size() == result.head.size())
      std::memcpy(result.head.data(), stored.data(), stored.size());
    Count(table.id, walk.row(), &result.runs);
    ++result.rows;
    expected = walk.ordinal() + 1;
  }
}

}  // namespace reenact::store::internal
