// A run put together from the segments that hold rows of it.

#ifndef REENACT_STORE_READER_INTERNAL_RUN_ASSEMBLY_H_
#define REENACT_STORE_READER_INTERNAL_RUN_ASSEMBLY_H_

#include <map>
#include <optional>

#include "absl/status/status.h"

#include "schema/record.h"
#include "store/reader/segment_reader.h"

namespace reenact::store::internal {

class RunAssembly {
 public:
  // Damaged bodies are left out and told in `*damaged`; null: they are DataLoss.
  RunAssembly(const schema::Ulid& run, bool bodies, std::vector<DamagedBody>* damaged)
      : id_(run), bodies_(bodies), damaged_(damaged) {}

  // Segments are added in their order.
  absl::Status Add(SegmentReader* segment);
  // Nothing when no segment held the run.
  std::optional<schema::RecordedRun> Finish();

 private:
  absl::Status AddRowsOf(SegmentReader* segment);
  void AddEvents(std::vector<schema::Event> events);

  schema::Ulid id_;
  bool bodies_;
  std::vector<DamagedBody>* damaged_;
  bool found_ = false;
  bool owner_alive_ = false;  // Of the last segment that holds the run.
  schema::RecordedRun result_;
  std::map<uint64_t, schema::Event> events_;
  std::vector<schema::Gap> own_gaps_;      // Of grouped files: known to be the run's.
  std::vector<schema::Gap> process_gaps_;  // Of its process, at any time.
};

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_RUN_ASSEMBLY_H_
