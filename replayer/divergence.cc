#include "replayer/divergence.h"

#include <algorithm>
#include <string>

#include "replayer/internal/message_text.h"
#include "replayer/tape.h"

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

std::string MessageOf(const Divergence& divergence) {
  std::string text;
  if (!divergence.name.empty()) {
    text = Describe({divergence.scope, divergence.boundary, divergence.name});
    text += IsCall(divergence.boundary) ? " (call " : " (reading ";
    text += std::to_string(divergence.ordinal + 1) + " there";
    if (!divergence.key.empty()) text += ", key " + divergence.key;
    text += "): ";
  }
  text += divergence.summary;
  if (divergence.differences.empty()) return text;
  return text + "; " + CountDifferences(divergence.differences) + ": " +
         DescribeDifferences(divergence.differences);
}

std::string CountDifferences(const std::vector<schema::JsonDifference>& differences) {
  const bool times = std::all_of(differences.begin(), differences.end(), OnlyTimesDiffer);
  switch (differences.size()) {
    case 0:
      return "";
    case 1:
      return times ? "the only difference is a date or time" : "1 path differs";
    default:
      return times ? "the only differences are dates or times"
                   : std::to_string(differences.size()) + " paths differ";
  }
}

}  // namespace reenact::replayer
