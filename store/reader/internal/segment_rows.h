// Rows of a segment as values. Everything read is untrusted: a number out of range, an id of
// another length or a list that cannot be unpacked is DataLoss with the record's name.

#ifndef REENACT_STORE_READER_INTERNAL_SEGMENT_ROWS_H_
#define REENACT_STORE_READER_INTERNAL_SEGMENT_ROWS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "schema/record.h"
#include "store/format/body_codec.h"
#include "store/format/sqlite.h"
#include "store/reader/internal/record_file.h"
#include "store/reader/segment_reader.h"

namespace reenact::store::internal {

// Reads bodies by ordinal and checks them against their digests.
class BodyReader {
 public:
  explicit BodyReader(RecordFile* file) : file_(file) {}

  // `owner` names the record in messages: "event 17". Without `bytes` only what stands beside them
  // is read.
  absl::StatusOr<schema::Body> Read(int64_t ordinal, bool bytes, const std::string& owner);
  // The body that `column` of `row` refers to; an empty one for NULL.
  absl::StatusOr<schema::Body> ReadColumn(const sqlite::Statement& row, int column, bool bytes,
                                          const std::string& owner);

 private:
  absl::Status Fail(int64_t ordinal, const std::string& owner, const std::string& what) const;
  bool Fetch(int64_t ordinal, BodyFrame* frame, std::string* why);

  RecordFile* file_;
  BodyDecoder decoder_;
  sqlite::Statement row_;
  sqlite::Statement frame_;
};

struct RowContext {
  RecordFile* file;
  BodyReader* bodies;
  bool with_bytes;
  std::vector<DamagedBody>* damaged;  // Null: a damaged body is an error.
  uint64_t sequence_offset;           // What a grouped file added to the sequences of this run.
};

// Each takes a row of the table's SELECT.
absl::StatusOr<RunRow> ReadRunRow(const sqlite::Statement& row, const RowContext& context);
absl::StatusOr<schema::RunEnd> ReadRunEndRow(const sqlite::Statement& row,
                                             const RowContext& context);
absl::StatusOr<schema::Component> ReadComponentRow(const sqlite::Statement& row,
                                                   const RowContext& context);
// `event.run` is left to the caller.
absl::StatusOr<EventRow> ReadEventRow(const sqlite::Statement& row, const RowContext& context);
absl::StatusOr<EventRow> ReadOpenCallRow(const sqlite::Statement& row, const RowContext& context);
schema::Gap ReadGapRow(const sqlite::Statement& row, const RowContext& context);
absl::StatusOr<schema::Mark> ReadMarkRow(const sqlite::Statement& row, const RowContext& context);

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_SEGMENT_ROWS_H_
