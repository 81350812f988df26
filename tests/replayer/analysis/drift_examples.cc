// Distributions that may have moved: logprobs, top-k lists, counts, texts, series.

#include <cmath>
#include <optional>

#include "replayer/analysis/drift_series.h"
#include "replayer/analysis/logprob_shift.h"
#include "replayer/analysis/noise_floor.h"
#include "replayer/analysis/text_distance.h"
#include "replayer/analysis/token_counts.h"
#include "replayer/analysis/top_divergence.h"
#include "replayer/analysis/uniformity.h"
#include "tests/replayer/analysis/example_case.h"

namespace reenact::analysis {
namespace {

nlohmann::json OrNull(const std::optional<size_t>& index) {
  return index ? nlohmann::json(*index) : nlohmann::json();
}

Censoring CensoringOf(const std::string& name) {
  if (name == "per_sample_min") return Censoring::kSampleMin;
  return name.find("fix") != std::string::npos || name.find("40") != std::string::npos
             ? Censoring::kFixed
             : Censoring::kSeriesMin;
}

void LtPermutation(ExampleCase& example) {
  const auto first = example.in("sample1").get<std::vector<TopTokens>>();
  const auto second = example.in("sample2").get<std::vector<TopTokens>>();
  ShiftOptions options;
  options.censoring = CensoringOf(example.in("censor").get<std::string>());
  const LogprobShift shift = TestShift(first, second, options);
  example.Exactly("tokens", shift.tokens);
  example.Number("statistic", shift.statistic);
  example.Number("n_perms", shift.relabellings);
  example.Number("n_ge", static_cast<double>(shift.as_extreme));
  example.Number("p_exact", shift.p);
}

void ResolutionExample(ExampleCase& example) {
  const Resolution resolution = PermutationResolution(example.integer("n1"), example.integer("n2"));
  example.Number("n_perms", resolution.relabellings);
  example.Number("min_p_symmetric_stat", resolution.smallest_p);
}

void TopkDivergence(ExampleCase& example) {
  const TopDivergence d =
      CompareTop(example.in("p").get<TopTokens>(), example.in("q").get<TopTokens>());
  example.Exactly("only_p", d.only_p);
  example.Exactly("only_q", d.only_q);
  example.Exactly("common", d.common);
  example.Number("union_size",
                 static_cast<double>(d.common.size() + d.only_p.size() + d.only_q.size()));
  example.Number("mass_only_p", d.mass_only_p);
  example.Number("mass_only_q", d.mass_only_q);
  example.Number("qA_upper", d.bound_q_of_only_p);
  example.Number("pB_upper", d.bound_p_of_only_q);
  example.Number("tail_p", d.tail_p);
  example.Number("tail_q", d.tail_q);
  example.Number("rest_p", d.rest_p);
  example.Number("rest_q", d.rest_q);
  example.Number("tv_lower_bound_union", d.tv_lower_bound);
  example.Number("js_imputed", d.js);
  example.Number("kl_pq_imputed", d.kl_pq);
  example.Number("kl_qp_imputed", d.kl_qp);
  example.Number("js_coarse", d.js_coarse);
  example.Number("js_coarse_bits",
                 d.js_coarse.ok() ? Measure(d.js_coarse.value() / std::log(2.0)) : d.js_coarse);
  example.Number("kl_pq_coarse", d.kl_pq_coarse);
  example.Number("kl_qp_coarse", d.kl_qp_coarse);
  example.Number("tv_lower_bound_coarse", d.tv_coarse);
  example.Number("hellinger", d.hellinger_coarse);
  example.Number("mean_abs_dlogp_common", d.mean_abs_dlogp);
  example.Number("max_abs_dlogp_common", d.max_abs_dlogp);
  example.Number("mean_abs_dlogp_censored_union", d.mean_abs_dlogp_censored);
  example.Number("jaccard", d.jaccard);
  example.Truth("top1_same", d.top1_same);
  example.Number("margin_p", d.margin_p);
  example.Number("margin_q", d.margin_q);
}

// Of valid UTF-8: the bytes that continue a character add six bits to it.
std::vector<int32_t> CodePoints(const std::string& text) {
  std::vector<int32_t> points;
  for (const char c : text) {
    const int32_t byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0) == 0x80 && !points.empty()) {
      points.back() = points.back() << 6 | (byte & 0x3F);
    } else {
      points.push_back(byte < 0x80   ? byte
                       : byte < 0xE0 ? byte & 0x1F
                       : byte < 0xF0 ? byte & 0x0F
                                     : byte & 0x07);
    }
  }
  return points;
}

std::vector<TextSample> Texts(const nlohmann::json& rows) {
  std::vector<TextSample> samples;
  for (const nlohmann::json& row : rows) {
    TextSample sample{.prompt = row[0].get<int64_t>()};
    sample.symbols = CodePoints(row[1].get<std::string>());
    samples.push_back(std::move(sample));
  }
  return samples;
}

void MmdHamming(ExampleCase& example) {
  const std::vector<TextSample> x = Texts(example.in("x"));
  const std::vector<TextSample> y = Texts(example.in("y"));
  TextOptions options;
  options.length = example.integer("L");
  const auto compare = [&](const std::string& key, bool within_prompt) {
    options.within_prompt = within_prompt;
    const TextDistance distance = CompareTexts(x, y, options);
    example.Number("L", static_cast<double>(distance.length));
    example.Number("mmd2", distance.mmd2);
    example.Inside(key, [&](ExampleCase& inner) {
      inner.Number("n_ge", static_cast<double>(distance.as_extreme));
      inner.Number("n_perms", static_cast<double>(distance.draw_count));
      inner.Number("undefined", static_cast<double>(distance.undefined));
      inner.Number("p_exact", distance.p);
    });
  };
  compare("stratified", true);
  compare("unstratified", false);
}

void TokenCounts(ExampleCase& example) {
  const CountComparison c =
      CompareCounts(example.in("ref").get<Counts>(), example.in("cur").get<Counts>());
  example.Exactly("tokens", c.tokens);
  example.Number("tv", c.tv);
  example.Number("p_perm_tv_exact", c.p);
  example.Number("chi2", c.chi2);
  example.Number("chi2_df", static_cast<double>(c.df));
  example.Number("chi2_p", c.chi2_p);
  example.Number("g", c.g);
  example.Number("g_p", c.g_p);
  example.Number("fisher_p", c.fisher_p);
}

void FingerprintMixExample(ExampleCase& example) {
  const FingerprintMix mix =
      CompareFingerprints(example.in("before").get<Counts>(), example.in("after").get<Counts>());
  example.Exactly("novel", mix.novel);
  example.Exactly("vanished", mix.vanished);
  example.Number("novel_share", mix.novel_share);
  example.Number("tv", mix.mix.tv);
  example.Number("p_perm_tv_exact", mix.mix.p);
  example.Inside("p_unseen_given_old_share", [&](ExampleCase& inner) {
    for (const auto& [value, chance] : mix.unseen_by_chance) inner.Number(value, chance);
  });
}

void RutRank(ExampleCase& example) {
  const RandomisedRank rank =
      RankAmong(example.number("score"), example.numbers("ref"), example.number("u"));
  example.Number("rank_paper", rank.published);
  example.Number("rank_exact_uniform", rank.exact);
}

void CvmUniform(ExampleCase& example) {
  const Uniformity result = TestUniformity(example.numbers("x"));
  example.Number("omega2", result.omega2);
  example.Number("p", result.p, {.relative = 1e-6, .absolute = 1e-6});
  example.Number("ks", result.ks);
  example.Number("ks_p", result.ks_p);
}

void NoiseFloorExample(ExampleCase& example) {
  const NoiseFloor floor = JudgeAgainstBaselines(example.numbers("null"), example.number("obs"));
  example.Number("m", static_cast<double>(floor.baseline_count));
  example.Number("p_empirical", floor.p);
  example.Number("min_p", floor.smallest_p);
  example.Number("median", floor.median);
  example.Number("mad", floor.mad);
  example.Number("robust_z", floor.robust_z);
  example.Number("mean", floor.mean);
  example.Number("sd", floor.sd);
  example.Number("z", floor.z);
  example.Number("q95_type7", floor.q95);
  example.Number("threshold_alpha05", floor.threshold_alpha05);
}

void Series(ExampleCase& example, const char* key, const std::optional<size_t>& alarm) {
  example.Exactly(key, OrNull(alarm));
}

void EProcessExample(ExampleCase& example) {
  const EProcess process =
      RunEProcess(example.numbers("p"), example.number("kappa"), example.number("alpha"));
  example.Numbers("e", process.e);
  Series(example, "alarm_index", process.alarm);
}

void CusumExample(ExampleCase& example) {
  const Cusum cusum = RunCusum(example.numbers("z"), example.number("k"), example.number("h"));
  example.Numbers("s_pos", cusum.above);
  example.Numbers("s_neg", cusum.below);
  Series(example, "alarm_index", cusum.alarm);
}

void EwmaExample(ExampleCase& example) {
  const Ewma ewma = RunEwma(example.numbers("z"), example.number("lambda"), example.number("L"));
  example.Numbers("ewma", ewma.average);
  example.Numbers("limits", ewma.limit);
  Series(example, "alarm_index", ewma.alarm);
}

void LevelShiftExample(ExampleCase& example) {
  example.Number("shift", LevelShift(example.numbers("series"), example.integer("index"),
                                     example.integer("window"), example.integer("min_post")));
}

// The first of the two holds what was measured at a real endpoint, with the dates of its windows.
void B3itRealEndpoint(ExampleCase& example) {
  const nlohmann::json& config = example.in("config");
  const TrailingRule rule{.window = config.at("window").get<size_t>(),
                          .exclusion = config.at("exclusion").get<size_t>(),
                          .min_baseline = config.at("min_baseline").get<size_t>(),
                          .sigma_k = config.at("sigma_k").get<double>(),
                          .abs_delta = config.at("abs_delta").get<double>(),
                          .persistence = config.at("persistence").get<size_t>(),
                          .cooldown = config.at("cooldown").get<size_t>()};
  const bool dated = example.out().contains("series");
  std::vector<double> series;
  std::vector<std::string> dates;
  for (const nlohmann::json& value : dated ? example.out().at("series") : example.in("series")) {
    series.push_back((dated ? value[1] : value).get<double>());
    if (dated) dates.push_back(value[0].get<std::string>());
  }
  const TrailingResult result = DetectTrailing(series, rule);
  nlohmann::json deviates = nlohmann::json::array();
  for (const std::optional<bool>& one : result.deviates) {
    deviates.push_back(one ? nlohmann::json(*one) : nlohmann::json());
  }
  example.Exactly("deviates", deviates);
  example.Exactly("event_onset_index",
                  result.events.empty() ? nlohmann::json() : nlohmann::json(result.events[0]));
  nlohmann::json events = nlohmann::json::array();
  for (const size_t index : result.events) {
    if (dated) events.push_back(dates[index]);
  }
  example.Exactly("events", events);
  // Where the series comes from: its own numbers, and how it was begun.
  for (const char* key : {"series", "phase1", "reference_batch"}) {
    if (example.out().contains(key)) example.Exactly(key, example.out().at(key));
  }
}

}  // namespace

void AddDriftExamples(ExampleChecks* checks) {
  checks->insert({
      {"lt_permutation", LtPermutation},
      {"permutation_resolution", ResolutionExample},
      {"mc_permutation_p",
       [](ExampleCase& e) { e.Number("p_plus1", DrawnP(e.integer("b"), e.integer("B"))); }},
      {"topk_divergence", TopkDivergence},
      {"mmd_hamming", MmdHamming},
      {"token_counts", TokenCounts},
      {"fingerprint_mix", FingerprintMixExample},
      {"rut_rank", RutRank},
      {"cvm_uniform", CvmUniform},
      {"noise_floor", NoiseFloorExample},
      {"noise_floor_min_m",
       [](ExampleCase& e) { e.Number("m", BaselinesNeeded(e.number("alpha"))); }},
      {"e_process", EProcessExample},
      {"cusum", CusumExample},
      {"ewma", EwmaExample},
      {"level_shift", LevelShiftExample},
      {"b3it_real_endpoint", B3itRealEndpoint},
  });
}

}  // namespace reenact::analysis
