#include "tools/reenact/causes/diagnosis_text.h"

#include <array>
#include <cstdio>
#include <utility>

#include "replayer/analysis/intervals.h"
#include "tools/reenact/io/measure_text.h"
#include "tools/reenact/io/text_table.h"

namespace reenact::tools {
namespace {

using analysis::Measure;
using rerun::Diagnosis;
using rerun::DiagnosisCell;

constexpr size_t kDiagnosisTableWidth = 112;
constexpr std::array<int64_t, 4> kLengths = {64, 256, 1024, 4096};
constexpr double kTrusted = 0.95;

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string DiagnosisLine(std::string_view label, const std::string& value) {
  return "  " + PadRight(label, 16) + value + "\n";
}

std::string Rate(const DiagnosisCell& cell) {
  if (cell.completion_tokens == 0 || cell.seconds <= 0) return "";
  return Number(static_cast<double>(cell.completion_tokens) / cell.seconds);
}

std::string CellTable(const Diagnosis& diagnosis, const Style& style) {
  Table table({{"prompt"},
               {"max tokens", true},
               {"at once", true},
               {"answered", true},
               {"different", true},
               {"unlike alone", true},
               {"first divergence", true},
               {"tokens/s", true}},
              kDiagnosisTableWidth);
  for (const DiagnosisCell& cell : diagnosis.cells) {
    const std::string divergence = cell.first_divergence.ok()
                                       ? "token " + MeasureText(cell.first_divergence)
                                       : MeasureText(cell.first_divergence);
    table.AddRow({cell.prompt, std::to_string(cell.max_tokens), std::to_string(cell.at_once),
                  std::to_string(cell.answered) + "/" + std::to_string(cell.samples.size()),
                  std::to_string(cell.agreement.unique), std::to_string(cell.unlike_alone),
                  divergence, Rate(cell)},
                 cell.unlike_alone > 0 ? Ink::kYellow : Ink::kPlain);
  }
  return table.Render(style);
}

// The hazard to compute with: measured, or where nothing diverged its upper bound.
std::pair<Measure, bool> HazardOf(const analysis::DivergenceSurvival& survival) {
  const bool bound = survival.events == 0;
  return {bound ? survival.hazard_upper95 : survival.hazard, bound};
}

std::string SurvivalText(const analysis::DivergenceSurvival& survival) {
  const auto [hazard, bound] = HazardOf(survival);
  if (!hazard.ok()) return "not measured: " + MeasureText(hazard);
  std::string text;
  for (const int64_t length : kLengths) {
    text += (text.empty() ? "" : ", ") +
            MeasureText(analysis::IdenticalProbability(hazard.value(), length)) + " at " +
            std::to_string(length);
  }
  text += bound ? " tokens at least (nothing diverged in "
                : " tokens (hazard " + Number(hazard.value());
  text += bound ? WithThousands(survival.exposure_tokens) + " tokens)" : " a token)";
  const Measure longest = analysis::LongestIdentical(hazard.value(), kTrusted);
  return text + "; above 95 % up to " + MeasureText(longest) + " tokens";
}

// "0 of the answers part before token 14: 0.8": the steps of the curve, as far as a line holds.
std::string CurveText(const analysis::DivergenceSurvival& survival) {
  static constexpr size_t kSteps = 8;
  std::string text;
  for (size_t i = 0; i < survival.steps.size() && i < kSteps; ++i) {
    const analysis::SurvivalStep& step = survival.steps[i];
    text += (text.empty() ? "" : ", ") + Number(step.survival) + " beyond token " +
            std::to_string(step.token_index);
  }
  if (survival.steps.size() > kSteps) {
    text += " and " + std::to_string(survival.steps.size() - kSteps) + " more steps";
  }
  return text;
}

std::string AloneText(const analysis::TotalAgreement& alone) {
  if (alone.status != analysis::Status::kOk) {
    return std::string(analysis::StatusName(alone.status));
  }
  return MeasureText(alone.raw) + " of questions get one and the same answer (Wilson " +
         MeasureText(alone.raw_interval.lo) + " to " + MeasureText(alone.raw_interval.hi) + ")";
}

std::string LoadText(const rerun::LoadEffect& load) {
  if (load.loaded == 0) return "not measured";
  std::string text = std::to_string(load.loaded_unlike) + " of " + std::to_string(load.loaded) +
                     " answers under load are unlike those alone, " +
                     std::to_string(load.alone_unlike) + " of " + std::to_string(load.alone) +
                     " alone; p " + MeasureText(load.p);
  return text + (load.depends ? ": depends on load" : ": no dependence on load is claimed");
}

std::string TiesText(const Diagnosis& diagnosis) {
  if (diagnosis.partings == 0) return "no two answers parted";
  if (diagnosis.margins_known == 0) {
    return Counted(diagnosis.partings, "parting") + ", of no one the margin is known";
  }
  return std::to_string(diagnosis.near_ties) + " of " +
         Counted(diagnosis.margins_known, "parting") + " with a known margin (of " +
         std::to_string(diagnosis.partings) + ")";
}

std::string FingerprintText(const Diagnosis& diagnosis) {
  std::string text;
  for (const auto& [fingerprint, count] : diagnosis.fingerprints) {
    text += (text.empty() ? "" : ", ") +
            (fingerprint.empty() ? std::string("none") : Shortened(fingerprint, 40)) + " x" +
            std::to_string(count);
  }
  return text.empty() ? "no answer" : text;
}

std::string CacheText(const rerun::CachePattern& cache) {
  std::string text = "X, Y, Y in " + std::to_string(cache.cold_first) + " of " +
                     Counted(cache.questions, "question");
  return text + (cache.cached_tokens_seen ? "; cached tokens were told of"
                                          : "; no cached tokens were told of");
}

std::string PriceText(const DeterminismPrice& price) {
  std::string text = "n1 " + Number(price.n1_tokens_per_second) + " tokens/s, stock " +
                     Number(price.stock_tokens_per_second) + " tokens/s";
  if (price.stock_tokens_per_second > 0) {
    text += ": n1 runs at " +
            Number(100 * price.n1_tokens_per_second / price.stock_tokens_per_second) + " % of it";
  }
  return text;
}

void WriteSurvival(std::string_view name, const analysis::DivergenceSurvival& survival,
                   JsonWriter* json) {
  const auto [hazard, bound] = HazardOf(survival);
  json->Key(name);
  json->BeginObject();
  json->IntField("events", survival.events);
  json->IntField("exposure_tokens", survival.exposure_tokens);
  MeasureField("hazard", survival.hazard, json);
  MeasureField("hazard_upper95", survival.hazard_upper95, json);
  json->BoolField("identical_is_a_bound", bound);
  for (const int64_t length : kLengths) {
    const Measure identical = hazard.ok() ? analysis::IdenticalProbability(hazard.value(), length)
                                          : Measure(hazard.status());
    MeasureField("identical_" + std::to_string(length), identical, json);
  }
  const Measure longest =
      hazard.ok() ? analysis::LongestIdentical(hazard.value(), kTrusted) : Measure(hazard.status());
  MeasureField("longest_at_95_percent", longest, json);
  json->Key("steps");
  json->BeginArray();
  for (const analysis::SurvivalStep& step : survival.steps) {
    json->BeginObject();
    json->IntField("token_index", step.token_index);
    json->IntField("at_risk", step.at_risk);
    json->IntField("diverged", step.diverged);
    json->RealField("survival", step.survival);
    json->EndObject();
  }
  json->EndArray();
  json->EndObject();
}

void WriteCell(const DiagnosisCell& cell, JsonWriter* json) {
  json->BeginObject();
  json->TextField("prompt", cell.prompt);
  json->IntField("max_tokens", cell.max_tokens);
  json->IntField("at_once", cell.at_once);
  json->IntField("asked", static_cast<int64_t>(cell.samples.size()));
  json->IntField("answered", cell.answered);
  json->IntField("unique", cell.agreement.unique);
  MeasureField("modal_share", cell.agreement.modal_share, json);
  MeasureField("pairwise_agreement", cell.agreement.pairwise, json);
  MeasureField("first_divergence", cell.first_divergence, json);
  json->IntField("unlike_alone", cell.unlike_alone);
  json->IntField("completion_tokens", cell.completion_tokens);
  json->RealField("seconds", cell.seconds);
  json->EndObject();
}

void WriteCounts(std::string_view name, const std::map<std::string, int64_t>& counts,
                 JsonWriter* json) {
  json->Key(name);
  json->BeginObject();
  for (const auto& [key, count] : counts) json->IntField(key, count);
  json->EndObject();
}

}  // namespace

std::string RenderDiagnosis(const rerun::Target& target, const Diagnosis& diagnosis,
                            const std::optional<DeterminismPrice>& price, const Style& style) {
  const Ink ink = !diagnosis.enough           ? Ink::kYellow
                  : diagnosis.deterministic() ? Ink::kGreen
                                              : Ink::kRed;
  std::string out = style(ink, Printable(rerun::DiagnosisSentence(diagnosis))) + "\n\n";
  out += style(Ink::kBold, "Diagnosis of " + Printable(target.Name())) + "\n";
  out += CellTable(diagnosis, style);
  for (const auto& [status, count] : diagnosis.failures) {
    out += DiagnosisLine("no answer", std::to_string(count) + " " + status);
  }
  if (diagnosis.enough) {
    out += DiagnosisLine("alone", "TARr: " + AloneText(diagnosis.alone));
    out += DiagnosisLine("identical", SurvivalText(diagnosis.survival()));
    const std::string curve = CurveText(diagnosis.survival());
    if (!curve.empty()) out += DiagnosisLine("survival", curve);
    out += DiagnosisLine("near-ties", TiesText(diagnosis));
    out += DiagnosisLine("load", LoadText(diagnosis.load));
    out += DiagnosisLine("cold cache", CacheText(diagnosis.cache));
    out += DiagnosisLine("fingerprints", FingerprintText(diagnosis));
  }
  for (const rerun::BrokenPromise& broken : diagnosis.broken_promises) {
    out +=
        DiagnosisLine(broken.name.size() < 16 ? broken.name : "promise",
                      (broken.name.size() < 16 ? "" : broken.name + ": ") + Printable(broken.text));
  }
  if (price) out += DiagnosisLine("price", PriceText(*price));
  out += style(Ink::kBold, "What follows") + "\n";
  for (const auto& [use, advice] : rerun::Recommend(diagnosis)) {
    out += "  " + use + ": " + advice + "\n";
  }
  return out;
}

void WriteDiagnosis(const Diagnosis& diagnosis, const std::optional<DeterminismPrice>& price,
                    JsonWriter* json) {
  json->TextField("sentence", rerun::DiagnosisSentence(diagnosis));
  json->BoolField("enough", diagnosis.enough);
  json->GivenTextField("not_enough_because", diagnosis.not_enough_because);
  json->BoolField("deterministic", diagnosis.enough && diagnosis.deterministic());
  json->BoolField("draws", diagnosis.draws);
  json->BoolField("provider_blind", diagnosis.provider_blind);
  json->Key("cells");
  json->BeginArray();
  for (const DiagnosisCell& cell : diagnosis.cells) WriteCell(cell, json);
  json->EndArray();
  json->TextField("alone_status", analysis::StatusName(diagnosis.alone.status));
  MeasureField("tarr", diagnosis.alone.raw, json);
  json->IntField("tarr_n", diagnosis.alone.runs);
  WriteSurvival("alone", diagnosis.alone_survival, json);
  WriteSurvival("under_load", diagnosis.loaded_survival, json);
  json->IntField("partings", diagnosis.partings);
  json->IntField("margins_known", diagnosis.margins_known);
  json->IntField("near_ties", diagnosis.near_ties);
  json->Key("load");
  json->BeginObject();
  json->IntField("alone", diagnosis.load.alone);
  json->IntField("alone_unlike", diagnosis.load.alone_unlike);
  json->IntField("loaded", diagnosis.load.loaded);
  json->IntField("loaded_unlike", diagnosis.load.loaded_unlike);
  MeasureField("p", diagnosis.load.p, json);
  json->BoolField("depends", diagnosis.load.depends);
  json->EndObject();
  json->Key("cache");
  json->BeginObject();
  json->IntField("questions", diagnosis.cache.questions);
  json->IntField("cold_first", diagnosis.cache.cold_first);
  json->BoolField("cached_tokens_seen", diagnosis.cache.cached_tokens_seen);
  json->EndObject();
  WriteCounts("fingerprints", diagnosis.fingerprints, json);
  WriteCounts("failures", diagnosis.failures, json);
  json->Key("broken_promises");
  json->BeginArray();
  for (const rerun::BrokenPromise& broken : diagnosis.broken_promises) {
    json->BeginObject();
    json->TextField("name", broken.name);
    json->TextField("text", broken.text);
    json->EndObject();
  }
  json->EndArray();
  json->Key("price");
  if (price) {
    json->BeginObject();
    json->RealField("n1_tokens_per_second", price->n1_tokens_per_second);
    json->RealField("stock_tokens_per_second", price->stock_tokens_per_second);
    json->EndObject();
  } else {
    json->Null();
  }
  json->Key("recommendations");
  json->BeginArray();
  for (const auto& [use, advice] : rerun::Recommend(diagnosis)) {
    json->BeginObject();
    json->TextField("use", use);
    json->TextField("advice", advice);
    json->EndObject();
  }
  json->EndArray();
}

}  // namespace reenact::tools
