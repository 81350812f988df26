// The stages that change text before it is cut.

#ifndef REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_NORMALIZER_H_
#define REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_NORMALIZER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/tokenizer/internal/pattern.h"
#include "local_engine/tokenizer/tokenizer_config.h"

namespace reenact::local_engine {

class Normalizer {
 public:
  static absl::StatusOr<Normalizer> Create(const std::vector<NormalizerStage>& stages);

  // Errors: as Pattern::Cut; ResourceExhausted for a text that grows out of bounds.
  absl::Status Normalize(std::string* text) const;

 private:
  struct Stage {
    NormalizerStage config;
    Pattern pattern;  // kReplace
  };

  static absl::Status Apply(const Stage& stage, std::string* text);

  std::vector<Stage> stages_;
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_TOKENIZER_INTERNAL_NORMALIZER_H_
