// How a file of recorded runs is opened for reading without disturbing whoever writes it, and how
// its failures are told. Used by the segment reader, verify, the catalog and incidents.

#ifndef REENACT_STORE_READER_INTERNAL_RECORD_FILE_H_
#define REENACT_STORE_READER_INTERNAL_RECORD_FILE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "schema/sha256.h"
#include "store/format/sqlite.h"
#include "store/format/tables.h"
#include "store/reader/segment_reader.h"

namespace reenact::store::internal {

// On a DataLoss: the file bears no mark or no id, as one that is just being made.
inline constexpr char kUnmarkedPayload[] = "reenact/unmarked";

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

// A row that does not fit the one before it.
struct ChainBreak {
  const ChainedTable* table = nullptr;
  int64_t ordinal = 0;
  int64_t missing = 0;  // The ordinal before it that is not there; 0: it was edited or moved.
};

// Rows of one run, as counted in the tables and not by way of an index.
struct RunCensus {
  int64_t events = 0;
  int64_t tags = 0;
  int64_t components = 0;
};

struct ChainResult {
  std::vector<ChainBreak> breaks;  // In order; the first kMaxChainBreaks.
  int64_t rows = 0;
  schema::Digest head{};  // Of the last row.
  std::map<int64_t, RunCensus> runs;
};

inline constexpr size_t kMaxChainBreaks = 1000;

// One pass over all rows in order: does every link of the chain fit the one before it? Behind a
// break it goes on from what is stored there. Rows are checked, bodies are not.
absl::StatusOr<ChainResult> WalkChain(RecordFile* file);

// How messages call a row: "event 17 of run 01J…", "body 34 (request of event 17 of run 01J…)".
std::string NameOfRow(RecordFile* file, Table table, int64_t ordinal);

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_RECORD_FILE_H_
