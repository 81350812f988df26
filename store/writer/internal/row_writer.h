// Turns values into the rows of a segment: what is there already is left alone, bodies come before
// what refers to them, the chain covers each row. Knows nothing of transactions; SegmentWriter
// does.

#ifndef REENACT_STORE_WRITER_INTERNAL_ROW_WRITER_H_
#define REENACT_STORE_WRITER_INTERNAL_ROW_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "schema/record.h"
#include "store/format/body_codec.h"
#include "store/format/sqlite.h"
#include "store/writer/internal/body_writer.h"
#include "store/writer/internal/chain_writer.h"
#include "store/writer/internal/row_lookup.h"

namespace reenact::store {

class RowWriter {
 public:
  explicit RowWriter(const BodyWriterOptions& options);

  // Prepares everything. `*segment_id`: of a new segment; set to its own when the file has one.
  sqlite::Failure Open(sqlite::Connection* connection, schema::Ulid* segment_id);

  // kConstraint with contradiction() set: the value does not fit the segment. All as in
  // SegmentWriter.
  sqlite::Failure AddRun(const schema::Run& run);
  sqlite::Failure AddRunEnd(const schema::RunEnd& end);
  sqlite::Failure AddTags(const schema::Ulid& run_id, const schema::Tags& tags);
  sqlite::Failure AddComponent(const schema::Ulid& run_id, const schema::Component& component);
  sqlite::Failure AddEvent(const schema::Event& event);
  sqlite::Failure AddOpenCall(const schema::Event& begin);
  sqlite::Failure CloseOpenCalls();
  sqlite::Failure AddGap(const schema::Gap& gap);
  sqlite::Failure AddMark(const schema::Mark& mark);
  sqlite::Failure SetMeta(std::string_view key, std::string_view value);

  RowLookup& lookup() { return lookup_; }

  const ChainWriter& chain() const { return chain_; }

  const std::string& contradiction() const { return contradiction_; }

  void ClearContradiction() { contradiction_.clear(); }

  void SetHurried(bool hurried) { bodies_.SetHurried(hurried); }

  void Committed() { chain_.Committed(); }

  // Forgets all rows since Committed. The lookup is left to its own RolledBack, which reads the
  // file.
  void RolledBack();
  // Lets go of the statements.
  void Close();
  void Abandon();

 private:
  sqlite::Failure KnownRun(const schema::Ulid& id, int64_t* run);
  sqlite::Failure AppendTags(int64_t run, const schema::Tags& tags);
  sqlite::Failure AddRequest(const schema::Event& event, int64_t run, int64_t* ordinal);
  sqlite::Failure AppendEvent(const schema::Event& event, int64_t run, int64_t request,
                              int64_t response);
  void BodyColumn(int64_t ordinal);
  void MomentColumns(const schema::Moment& moment);

  ChainWriter chain_;
  RowLookup lookup_;
  BodyWriter bodies_;
  BodyEncoder column_encoder_{1};
  std::string contradiction_;
  // Columns under construction; kept for their memory.
  std::string headers_, packed_, meta_;
};

}  // namespace reenact::store

#endif  // REENACT_STORE_WRITER_INTERNAL_ROW_WRITER_H_
