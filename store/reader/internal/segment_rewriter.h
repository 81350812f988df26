// Writes a file of records anew as a redaction policy leaves it. Rows keep their order, and all
// that the policy does not touch keeps every byte; the chain is made anew, for it commits to what
// goes. A frame that was made with a changed body as its prefix is made again, so that nothing of
// what went is left in a dictionary.

#ifndef REENACT_STORE_READER_INTERNAL_SEGMENT_REWRITER_H_
#define REENACT_STORE_READER_INTERNAL_SEGMENT_REWRITER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "schema/record.h"
#include "store/format/body_codec.h"
#include "store/reader/internal/row_redaction.h"
#include "store/reader/internal/row_walk.h"
#include "store/writer/internal/chain_writer.h"
#include "store/writer/internal/row_lookup.h"
#include "store/writer/internal/segment_file.h"

namespace reenact::store::internal {

struct ChangedRow {
  schema::Ulid run;                // Zero: it belongs to none.
  std::string record;              // "event 17"
  std::vector<std::string> parts;  // "request", "endpoint".
};

class SegmentRewriter {
 public:
  // Both must outlive this. `file` is sealed; a bundle is too. `facts` are added to what each
  // changed run says of its process: they are how a replay knows what to expect of its requests.
  SegmentRewriter(RecordFile* file, const RecordRedactor* redactor, schema::Tags facts)
      : file_(file), rows_(file, redactor), facts_(std::move(facts)) {}

  // What a rewrite would change; nothing is written. DataLoss: something cannot be read, or does
  // not fit the chain, and would be given a new chain as if it were sound.
  absl::StatusOr<std::vector<ChangedRow>> FindChanges();
  // Writes the new file, synced and read-only, and returns where its chain ends. After FindChanges.
  absl::StatusOr<ChainState> WriteTo(const std::string& path);

  // Of FindChanges: bodies that could not be searched, a sentence each.
  const std::vector<std::string>& unsearched() const { return unsearched_; }

  // Where the chain of the old one ends.
  const ChainState& head() const { return head_; }

 private:
  absl::Status CheckChain();
  absl::Status ReadRunIds();
  ChangedRow Describe(const RowWalk& walk, std::vector<std::string> parts);
  absl::Status ReadBodyUses();

  absl::Status Damaged(const std::string& what) const;
  // Into the new file.
  absl::StatusOr<ChainState> WriteRows(SegmentFile* to);
  absl::Status WriteRow(const RowWalk& walk);
  absl::Status WriteBody(int64_t ordinal);
  absl::StatusOr<std::vector<RowBody>> VariantsOf(int64_t ordinal);
  absl::Status CopyBody(const sqlite::Statement& row);
  absl::Status AppendReencoded(const sqlite::Statement& row, const std::string& bytes);
  absl::Status AppendBody(const schema::Body& body, int64_t base);
  absl::Status EncodeFrame(const std::string& bytes, int64_t base, BodyFrame* frame);
  void WriteFrame(const BodyFrame& frame, const std::string& bytes, std::string_view salt,
                  const ColumnValue& dedupe_key);
  absl::Status Append();
  void WriteColumn(const ColumnValue& value);
  void AddFacts(const ColumnValue& run_id, ColumnValue* process) const;
  int64_t NewOrdinal(int64_t old) const;

  RecordFile* file_;
  RowRedactor rows_;
  const schema::Tags facts_;
  ChainState head_;
  std::map<int64_t, std::vector<BodyUse>> uses_;  // By body.
  std::map<int64_t, schema::Ulid> run_ids_;       // By ordinal.
  std::set<schema::Ulid> changed_runs_;
  std::vector<std::string> unsearched_;
  // While writing.
  ChainWriter chain_;
  RowLookup written_;
  BodyEncoder encoder_{1};
  bool deterministic_ = false;
  std::set<int64_t> changed_bodies_;  // Old ordinals.
  // A body that two rows share, and of which the policy leaves each something else, becomes two:
  // from there on ordinals are higher by one.
  std::vector<int64_t> split_bodies_;                          // Old ordinals, in order.
  std::map<std::pair<int64_t, int>, int64_t> other_variants_;  // (row, column) to new ordinal.
};

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_SEGMENT_REWRITER_H_
