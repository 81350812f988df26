#include "replayer/divergence.h"

namespace reenact::replayer {

std::string_view ToString(DivergenceKind kind) {
  switch (kind) {
    case DivergenceKind::kNovelCall:
      return "novel_call";
    case DivergenceKind::kExhausted:
      return "exhausted";
    case DivergenceKind::kOmittedCall:
      return "omitted_call";
    case DivergenceKind::kNovelReading:
      return "novel_reading";
    case DivergenceKind::kOmittedReading:
      return "omitted_reading";
    case DivergenceKind::kNovelRun:
      return "novel_run";
    case DivergenceKind::kNoRun:
      return "no_run";
    case DivergenceKind::kAmbiguous:
      return "ambiguous";
    case DivergenceKind::kUnusable:
      return "unusable";
    case DivergenceKind::kComponent:
      return "component";
    case DivergenceKind::kOutput:
      return "output";
    case DivergenceKind::kNotRead:
      return "not_read";
    case DivergenceKind::kNetwork:
      return "network";
    case DivergenceKind::kProcess:
      return "process";
  }
  return "unknown";
}

}  // namespace reenact::replayer
