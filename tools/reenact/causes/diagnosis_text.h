// What a diagnosis came to: for a reader, and as JSON.

#ifndef REENACT_TOOLS_REENACT_CAUSES_DIAGNOSIS_TEXT_H_
#define REENACT_TOOLS_REENACT_CAUSES_DIAGNOSIS_TEXT_H_

#include <optional>
#include <string>

#include "replayer/rerun/diagnosis.h"
#include "tools/reenact/io/json_output.h"
#include "tools/reenact/io/terminal_text.h"

namespace reenact::tools {

// The local engine's throughput in both profiles, measured on the spot.
struct DeterminismPrice {
  double n1_tokens_per_second = 0;
  double stock_tokens_per_second = 0;
};

std::string RenderDiagnosis(const rerun::Target& target, const rerun::Diagnosis& diagnosis,
                            const std::optional<DeterminismPrice>& price, const Style& style);

// The fields after "target" of a document that is open.
void WriteDiagnosis(const rerun::Diagnosis& diagnosis, const std::optional<DeterminismPrice>& price,
                    JsonWriter* json);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_CAUSES_DIAGNOSIS_TEXT_H_
