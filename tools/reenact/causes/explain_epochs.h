// Whether the two runs of an explanation were answered in different epochs of one endpoint. That an
// identity changed is proof that something else answered; whether it answered otherwise for that
// reason is for an experiment to find.

#ifndef REENACT_TOOLS_REENACT_CAUSES_EXPLAIN_EPOCHS_H_
#define REENACT_TOOLS_REENACT_CAUSES_EXPLAIN_EPOCHS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replayer/explain/variable.h"
#include "replayer/identity/fingerprint_timeline.h"
#include "schema/record.h"
#include "store/reader/store_reader.h"
#include "tools/reenact/io/json_output.h"

namespace reenact::tools {

struct EpochDifference {
  std::string endpoint;
  int64_t incident = 0;  // Epochs that had ended by then.
  int64_t reference = 0;
  std::vector<identity::Change> changes;  // That ended those between, by time.

  // A name that answered for the first time is proof; that shares shifted, or that a name stayed
  // away, is a likelihood.
  bool is_proof() const;
};

// Nothing: both calls lie in one epoch, or asked different endpoints or models, which are
// differences of their own, or the store does not tell.
std::optional<EpochDifference> EpochsBetween(store::StoreReader* reader,
                                             const schema::Event& incident,
                                             const schema::Event& reference);

// Where it is proof: what both answers do not tell of who gave them becomes a difference.
void AddEpochs(const EpochDifference& epochs, std::vector<explain::Variable>* variables);

std::string EpochSentence(const EpochDifference& epochs);

// The field "epochs"; null without a difference.
void WriteEpochs(const std::optional<EpochDifference>& epochs, JsonWriter* json);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_CAUSES_EXPLAIN_EPOCHS_H_
