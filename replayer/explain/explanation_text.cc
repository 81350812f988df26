#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "replayer/explain/explanation.h"
#include "schema/logprob.h"

namespace reenact::explain {
namespace {

std::string PartOf(int64_t part, int64_t whole) {
  return std::to_string(part) + " of " + std::to_string(whole);
}

std::string NamesOf(const std::vector<size_t>& causes, const std::vector<Variable>& variables) {
  std::string text;
  for (size_t k = 0; k < causes.size(); ++k) {
    if (k > 0) text += k + 1 == causes.size() ? " and " : ", ";
    text += NameOf(variables[causes[k]]);
  }
  return text;
}

std::string CauseSentence(const Explanation& explanation, const std::vector<Variable>& variables) {
  const Finding& finding = explanation.findings[explanation.causes.front()];
  return "The cause is " + NamesOf(explanation.causes, variables) +
         ": it changed, and flips the outcome (put in alone " +
         PartOf(finding.put_in.reference, finding.put_in.done()) + ", taken out alone " +
         PartOf(finding.taken_out.incident, finding.taken_out.done()) + "; unchanged " +
         PartOf(explanation.unchanged.reference, explanation.unchanged.done()) + ").";
}

std::string DrawnSentence(const std::string& by, const Explanation& explanation) {
  const Arm& arm = explanation.reference.done() > 0 ? explanation.reference : explanation.unchanged;
  return by + ": unchanged reruns give both, the incident's outcome " +
         PartOf(arm.incident, arm.done()) + " times.";
}

// Where the incident did not happen again, and a batch brought it about.
std::string LoadSentence(const LoadTrials& loads) {
  std::string text = loads.is_near_tie() ? "A near-tie at token " : "Token ";
  text += std::to_string(*loads.token_index) +
          " flipped with the batch size: " + NameOf(loads.batches.front()) +
          " the answer is the reference's, " + NameOf(*loads.Flipping()) + " the incident's";
  return text + (loads.recorded_schedule ? ", which its recorded schedule gives again." : ".");
}

}  // namespace

std::string_view ToString(Verdict verdict) {
  static constexpr std::string_view kNames[] = {"no_difference", "cause", "causes",      "sampling",
                                                "near_tie",      "load",  "inconclusive"};
  return kNames[static_cast<size_t>(verdict)];
}

bool RecordEvidence::near_tie() const {
  return margin_nats && std::fabs(*margin_nats) < schema::kNearTieNats;
}

std::vector<std::string> SentencesOf(const RecordEvidence& record) {
  std::vector<std::string> sentences;
  if (!record.same_request) return sentences;
  if (!record.missing.empty()) sentences.push_back(record.missing);
  if (!record.token_index) return sentences;
  std::string text = "both records answer the same request, and part at token " +
                     std::to_string(*record.token_index);
  if (record.margin_nats) {
    char margin[32];
    std::snprintf(margin, sizeof margin, "%.3f", *record.margin_nats);
    text += ", " + std::string(margin) + " nats apart" + (record.near_tie() ? " (a near-tie)" : "");
  } else {
    text += "; the margin there is not known";
  }
  sentences.push_back(std::move(text));
  if (record.incident_in_flight != record.reference_in_flight) {
    sentences.push_back(
        "own calls under way beside it: " + std::to_string(record.incident_in_flight) +
        " in the incident, " + std::to_string(record.reference_in_flight) + " in the reference");
  }
  return sentences;
}

std::string Sentence(const Explanation& explanation, const std::vector<Variable>& variables,
                     const RecordEvidence& record) {
  const bool drawn_by_load =
      explanation.verdict == Verdict::kNearTie || explanation.verdict == Verdict::kLoad;
  if (drawn_by_load && explanation.loads) return LoadSentence(*explanation.loads);
  switch (explanation.verdict) {
    case Verdict::kNoDifference:
      return "Both runs did the same: there is nothing to explain.";
    case Verdict::kCause:
      return CauseSentence(explanation, variables);
    case Verdict::kCauses:
      return "The causes are " + NamesOf(explanation.causes, variables) + ": they changed, and " +
             (explanation.each_is_enough
                  ? "each makes the incident alone, so that all must be undone."
                  : "only together make the incident.");
    case Verdict::kSampling:
      return DrawnSentence("The answer is drawn by sampling", explanation);
    case Verdict::kNearTie:
      return DrawnSentence("A near-tie at token " + std::to_string(record.token_index.value_or(0)) +
                               ", flipped by what no request tells, consistent with load",
                           explanation);
    case Verdict::kLoad:
      return DrawnSentence(
          "The target gives both to one request that draws nothing, consistent "
          "with load",
          explanation);
    case Verdict::kInconclusive:
      break;
  }
  return "Inconclusive: " + explanation.because + ".";
}

}  // namespace reenact::explain
