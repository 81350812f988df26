// Whether what a model says now may be compared with what was recorded: not across fingerprint
// epochs, where another engine or other weights answer under the same name.

#ifndef REENACT_TOOLS_REENACT_CAUSES_RERUN_EPOCHS_H_
#define REENACT_TOOLS_REENACT_CAUSES_RERUN_EPOCHS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "replayer/identity/fingerprint_timeline.h"
#include "replayer/rerun/call_rerun.h"
#include "schema/record.h"
#include "store/reader/store_reader.h"
#include "tools/reenact/causes/target_flags.h"
#include "tools/reenact/io/json_output.h"

namespace reenact::tools {

// Answers of one fingerprint.
struct Stratum {
  std::string fingerprint;  // As identity::FingerprintText gives it.
  int64_t answers = 0;
  int64_t agreed = 0;
  bool known = true;  // The endpoint gave it before.
};

class RerunEpochs {
 public:
  // What the store has seen of the endpoints; where it cannot tell, the tape alone.
  RerunEpochs(store::StoreReader* reader, const schema::RecordedRun& tape);

  // Before anything is asked. FailedPrecondition where the store has seen an epoch end since a call
  // that is to be asked again of the same endpoint and model.
  absl::Status MayAsk(const TargetFlags& target, const std::optional<size_t>& step) const;

  // By fingerprint, known ones first; of calls whose target is another on purpose nothing.
  std::vector<Stratum> StrataOf(const TargetFlags& target, const rerun::CallRerun& call) const;

  // FailedPrecondition where no answer of a call has a fingerprint that was known before.
  absl::Status MayCompare(const TargetFlags& target,
                          const std::vector<rerun::CallRerun>& calls) const;

  std::string Text(const TargetFlags& target, const std::vector<rerun::CallRerun>& calls) const;
  // The field "strata".
  void Write(const TargetFlags& target, const std::vector<rerun::CallRerun>& calls,
             JsonWriter* json) const;

 private:
  const identity::EndpointTimeline* TimelineOf(const schema::Event& call) const;
  bool AsksTheSame(const TargetFlags& target, const schema::Event& call) const;

  const schema::RecordedRun& tape_;
  std::vector<identity::EndpointTimeline> timelines_;
};

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_CAUSES_RERUN_EPOCHS_H_
