// How a file of recorded runs is opened for reading without disturbing whoever writes it, and how
// its failures are told. Used by the segment reader, verify, the catalog and incidents.

#ifndef REENACT_STORE_INTERNAL_RECORD_FILE_H_
#define REENACT_STORE_INTERNAL_RECORD_FILE_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "schema/sha256.h"
#include "store/internal/sqlite.h"
#include "store/segment_reader.h"
#include "store/tables.h"

namespace reenact::store::internal {

// The last path component.
std::string FileName(const std::string& path);

// `what` failed with `failure` on `name`; the connection's own message is added.
absl::Status ToStatus(sqlite::Failure failure, const sqlite::Connection& connection,
                      const std::string& name, std::string_view what);

// A connection in a read transaction on a file of ours, its version checked.
class RecordFile {
 public:
  // Errors: as SegmentReader::Open.
  static absl::StatusOr<std::unique_ptr<RecordFile>> Open(const std::string& path);
  static absl::StatusOr<std::unique_ptr<RecordFile>> OpenBytes(std::string_view bytes,
                                                               const std::string& name);
  ~RecordFile();

  SegmentInfo info;
  sqlite::Connection connection;

  // The value of the latest `meta` row of this key.
  absl::StatusOr<std::optional<std::string>> MetaValue(const char* key);
  absl::Status Fail(sqlite::Failure failure, std::string_view what) const;

 private:
  absl::Status OpenSealed();
  absl::Status OpenUnsealed();
  absl::Status OpenCopy();
  absl::Status Begin();
  absl::Status CheckVersion();
  absl::Status ReadInfo();
  absl::Status CheckWalIsOurs();

  std::string copy_folder_;  // Where a copy was opened instead; removed with this.
};

// One pass over all rows in order: does every link of the chain fit the one before it? Rows are
// checked, bodies are not.
struct ChainBreak {
  const ChainedTable* table = nullptr;
  int64_t ordinal = 0;  // Of the first row that does not fit.
  int64_t missing = 0;  // The ordinal before it that is not there; 0: it was edited or moved.
};

struct ChainResult {
  std::optional<ChainBreak> first_break;
  int64_t rows = 0;
  schema::Digest head{};  // Of the last row that fits.
};

absl::StatusOr<ChainResult> WalkChain(RecordFile* file);

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_INTERNAL_RECORD_FILE_H_
