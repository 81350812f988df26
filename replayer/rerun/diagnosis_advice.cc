// What a diagnosis asks, and what it means for those who build on the target.

#include <cstdio>
#include <utility>

#include "replayer/analysis/intervals.h"
#include "replayer/rerun/diagnosis.h"

namespace reenact::rerun {
namespace {

using schema::ModelDialect;

constexpr const char* kShort = "Write a short story about a lighthouse keeper and a storm.";
// Reasons that are close to each other, so that many tokens are near-ties.
constexpr const char* kTask =
    "Below are notes of a support desk. Summarise them, note by note, in your own words, and then "
    "say which one should be answered first, and why.";
constexpr const char* kNote =
    " A customer writes that the parcel came two days late, that the box was wet on one side, and "
    "that the lamp in it works but flickers when it is moved; she would keep it for a third off "
    "the price, or send it back if that is what the shop prefers.";
constexpr int kNotes = 3;

std::string MessageOf(bool is_long) {
  if (!is_long) return kShort;
  std::string text = kTask;
  for (int i = 1; i <= kNotes; ++i) text += " Note " + std::to_string(i) + "." + kNote;
  return text;
}

Prompt MakePrompt(ModelDialect dialect, const std::string& model, bool is_long) {
  Prompt prompt;
  prompt.label = is_long ? "long" : "short";
  schema::Event& call = prompt.call;
  call.boundary = schema::Boundary::kModel;
  const bool anthropic = dialect == ModelDialect::kAnthropicMessages;
  call.provider = anthropic ? "anthropic" : "openai_compatible";
  call.endpoint = anthropic ? "/v1/messages" : "/v1/chat/completions";
  call.name = anthropic ? "messages" : "chat";
  // The model's name is the user's, and may hold what JSON escapes.
  call.request.bytes = R"({"model":"","messages":[{"role":"user","content":")" +
                       MessageOf(is_long) + R"("}],)" + (anthropic ? "" : R"("temperature":0,)") +
                       R"("max_tokens":16})";
  call.request.bytes = QuestionOf(call, {.model = model}).request;
  return prompt;
}

std::string Percent(double share) {
  char text[16];
  std::snprintf(text, sizeof text, "%.3g %%", share * 100);
  return text;
}

}  // namespace

std::vector<Prompt> OwnPrompts(ModelDialect dialect, const std::string& model) {
  return {MakePrompt(dialect, model, false), MakePrompt(dialect, model, true)};
}

std::string DiagnosisSentence(const Diagnosis& diagnosis) {
  if (!diagnosis.enough) return "No diagnosis: " + diagnosis.not_enough_because + ".";
  if (diagnosis.deterministic()) {
    int64_t least = 0;
    for (const DiagnosisCell& cell : diagnosis.cells) {
      if (least == 0 || cell.answered < least) least = cell.answered;
    }
    std::string text = "Every answer was the same, alone and under load";
    if (diagnosis.load.loaded == 0) text = "Every answer was the same when asked alone";
    const analysis::ZeroFailureBound bound = analysis::BoundWithoutFailure(least);
    return text + "; " + std::to_string(least) + " repeats leave up to " +
           Percent(bound.one_sided_upper.value()) + " of answers that differ all the same.";
  }
  if (diagnosis.draws) {
    return "Answers differ, as they may: they are drawn at a temperature above 0, without a seed.";
  }
  if (diagnosis.load.depends) {
    return "Answers depend on load: " + std::to_string(diagnosis.load.loaded_unlike) + " of " +
           std::to_string(diagnosis.load.loaded) + " differ under load, " +
           std::to_string(diagnosis.load.alone_unlike) + " of " +
           std::to_string(diagnosis.load.alone) + " alone.";
  }
  if (diagnosis.cache.cold_first > 0 && diagnosis.load.alone_unlike == diagnosis.cache.cold_first) {
    return "The first answer differs from all later ones, which agree: a cache computes them "
           "otherwise.";
  }
  return "Answers differ from one time to the next, and load was not shown to be the reason.";
}

std::vector<std::pair<std::string, std::string>> Recommend(const Diagnosis& diagnosis) {
  std::vector<std::pair<std::string, std::string>> advice;
  if (!diagnosis.enough) {
    advice.emplace_back("anything", "measure again: there were not enough answers");
    return advice;
  }
  const analysis::DivergenceSurvival& survival = diagnosis.survival();
  const bool same = diagnosis.deterministic();
  std::string exact = same ? "compare answers byte by byte"
                           : "replay recorded answers; do not ask this target again";
  if (!same && survival.hazard.ok() && survival.hazard.value() > 0) {
    const analysis::Measure longest = analysis::LongestIdentical(survival.hazard.value(), 0.95);
    if (longest.ok() && longest.value() >= 1) {
      exact += ", but for answers of at most " +
               std::to_string(static_cast<int64_t>(longest.value())) + " tokens (95 % identical)";
    }
  }
  advice.emplace_back("exact regression tests", exact);
  advice.emplace_back("evals", same ? "one run a case tells what five do"
                                    : "repeat each case, and compare pairs with intervals");
  advice.emplace_back("finding the cause of an incident",
                      same ? "a rerun that differs has a cause other than chance"
                           : "ask at least five times before a difference is laid to anything");
  if (diagnosis.provider_blind) {
    advice.emplace_back("noticing a change",
                        "provider blind: it gives neither logprobs nor a fingerprint, so that a "
                        "new model cannot be told from noise but by many answers");
  }
  return advice;
}

}  // namespace reenact::rerun
