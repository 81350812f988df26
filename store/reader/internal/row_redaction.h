// What a redaction policy makes of the rows of a file that were written already: the same code as
// before the store, applied to rows instead of records.

#ifndef REENACT_STORE_READER_INTERNAL_ROW_REDACTION_H_
#define REENACT_STORE_READER_INTERNAL_ROW_REDACTION_H_

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "schema/record.h"
#include "store/format/body_codec.h"
#include "store/format/sqlite.h"
#include "store/format/tables.h"
#include "store/reader/internal/record_file.h"
#include "store/reader/internal/segment_rows.h"
#include "store/writer/internal/record_redactor.h"

namespace reenact::store::internal {

struct ColumnValue {
  sqlite::ValueType type = sqlite::ValueType::kNull;
  int64_t integer = 0;
  std::string bytes;  // Of text and blobs.
};

ColumnValue ReadColumn(const sqlite::Statement& row, int column);

// A body that a row refers to.
struct RowBody {
  int column = 0;
  int64_t ordinal = 0;
  schema::Body body;  // As the policy leaves it; without a salt when that differs from what it was.
  bool changed = false;
};

struct RedactedRow {
  std::vector<ColumnValue> columns;  // Those of the chain; they refer to bodies as before.
  std::vector<RowBody> bodies;
  std::vector<std::string> parts;  // What is not as it was: "endpoint", "request"; none: nothing.
  // A body is in an encoding that cannot be undone here, and was searched as it is: "br".
  std::string opaque_encoding;
};

// Where a body is used: how to find that row again.
struct BodyUse {
  const ChainedTable* table = nullptr;
  int64_t ordinal = 0;
  int64_t key = 0;  // Of an event its sequence, else its run.
  int column = 0;
};

class RowRedactor {
 public:
  // Both must outlive this.
  RowRedactor(RecordFile* file, const RecordRedactor* redactor);

  // Of a row of any table but `body`. DataLoss: the row or a body of it cannot be read.
  absl::StatusOr<std::shared_ptr<const RedactedRow>> Redact(const ChainedTable& table,
                                                            const sqlite::Statement& row);
  // The same, looked up. What was redacted last is remembered.
  absl::StatusOr<std::shared_ptr<const RedactedRow>> RedactUser(const BodyUse& use);
  // Of a body that no row refers to.
  absl::StatusOr<RowBody> RedactUnused(int64_t body);

 private:
  using Row = std::shared_ptr<const RedactedRow>;

  absl::StatusOr<RedactedRow> Make(const ChainedTable& table, const sqlite::Statement& row);
  absl::Status RedactRun(const sqlite::Statement& row, RedactedRow* result);
  absl::Status RedactRunEnd(const sqlite::Statement& row, RedactedRow* result);
  absl::Status RedactComponent(const sqlite::Statement& row, RedactedRow* result);
  absl::Status RedactEvent(const sqlite::Statement& row, RedactedRow* result);
  absl::Status RedactExchange(const schema::Exchange& before, const schema::Exchange& after,
                              RedactedRow* result);
  void RedactTag(const sqlite::Statement& row, RedactedRow* result);
  void RedactMeta(const sqlite::Statement& row, RedactedRow* result);

  struct Remembered {
    Table table;
    int64_t ordinal;
    Row row;
  };

  const RecordRedactor* redactor_;
  RecordFile* file_;
  BodyReader bodies_;
  RowContext context_;
  BodyEncoder encoder_{1};
  std::list<Remembered> remembered_;  // The last first.
};

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_ROW_REDACTION_H_
