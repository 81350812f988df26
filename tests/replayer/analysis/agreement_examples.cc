// Agreement of repeated runs, near-ties, and logprobs of a sampler against those of a trainer.

#include <cmath>

#include "gtest/gtest.h"

#include "replayer/analysis/agreement.h"
#include "replayer/analysis/first_divergence.h"
#include "replayer/analysis/near_tie.h"
#include "replayer/analysis/rl_mismatch.h"
#include "replayer/analysis/ulp.h"
#include "tests/replayer/analysis/example_case.h"

namespace reenact::analysis {
namespace {

nlohmann::json OrNull(const std::optional<int64_t>& index) {
  return index ? nlohmann::json(*index) : nlohmann::json();
}

void AgreementOutputs(ExampleCase& example, const Agreement& agreement) {
  example.Number("n_unique", static_cast<double>(agreement.unique));
  example.Number("modal_share", agreement.modal_share);
  example.Number("pairwise_agreement", agreement.pairwise);
  example.Number("entropy_nats", agreement.entropy_nats);
  example.Number("effective_n", agreement.effective);
  example.Number("gini", agreement.gini);
}

void AgreementExample(ExampleCase& example) {
  std::vector<int64_t> counts;
  for (const auto& [answer, count] : example.in("counts").items()) {
    counts.push_back(count.get<int64_t>());
  }
  AgreementOutputs(example, AgreementOf(counts));
}

void Tar(ExampleCase& example) {
  std::vector<RepeatedCase> cases;
  std::vector<std::string> names;
  for (const auto& [name, raw] : example.in("raw").items()) {
    RepeatedCase one{.raw = raw.get<std::vector<std::string>>()};
    for (const nlohmann::json& answer : example.in("answers").at(name)) {
      one.parsed.push_back(answer.is_null() ? std::optional<std::string>()
                                            : answer.get<std::string>());
    }
    one.gold = example.in("gold").at(name).get<std::string>();
    cases.push_back(std::move(one));
    names.push_back(name);
  }
  const TotalAgreement result = MeasureAgreement(cases);
  const std::string at = "@" + std::to_string(result.runs);
  example.Number("N", static_cast<double>(result.runs));
  for (const std::string& suffix : {std::string(), at}) {
    example.Number("TARr" + suffix, result.raw);
    example.Number("TARa" + suffix, result.parsed);
  }
  example.Ends("TARr_wilson", result.raw_interval);
  example.Ends("TARa_wilson", result.parsed_interval);
  example.Numbers("accuracy_per_run", result.accuracy);
  example.Number("mean_acc", result.mean_accuracy);
  example.Number("Std@Acc", result.sd_accuracy);
  example.Number("best_possible", result.best_possible);
  example.Number("worst_possible", result.worst_possible);
  example.Number("spread", result.spread);
  example.Inside("per_question", [&](ExampleCase& inner) {
    for (size_t i = 0; i < names.size(); ++i) {
      inner.Inside(names[i], [&](ExampleCase& one) { AgreementOutputs(one, result.cases[i]); });
    }
  });
}

void DivergenceIndexExample(ExampleCase& example) {
  const auto runs = example.in("runs").get<std::vector<Tokens>>();
  const DivergenceIndex result = FindDivergence(runs);
  nlohmann::json pairwise = nlohmann::json::object();
  size_t pair = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    for (size_t j = i + 1; j < runs.size(); ++j) {
      pairwise[std::to_string(i) + "," + std::to_string(j)] = OrNull(result.pairwise[pair++]);
    }
  }
  nlohmann::json from_first = nlohmann::json::array();
  for (const std::optional<int64_t>& index : result.from_first) from_first.push_back(OrNull(index));
  example.Exactly("pairwise_first_divergence", pairwise);
  example.Exactly("n_way_Div_Index", OrNull(result.n_way));
  example.Exactly("vs_run0", from_first);
  example.Number("mean_pairwise_identical", result.pairs_identical);
}

void DivergenceSurvivalExample(ExampleCase& example) {
  const auto index = example.in("token_index").get<std::vector<int64_t>>();
  std::vector<Observed> observed;
  for (size_t i = 0; i < index.size(); ++i) {
    observed.push_back(
        {.token_index = index[i], .diverged = example.in("diverged").at(i).get<int>() != 0});
  }
  const DivergenceSurvival result = EstimateSurvival(observed);
  std::vector<double> actual;
  for (const SurvivalStep& step : result.steps) {
    actual.insert(actual.end(),
                  {static_cast<double>(step.token_index), static_cast<double>(step.at_risk),
                   static_cast<double>(step.diverged), step.survival});
  }
  example.Rows("km", actual);
  example.Number("events", static_cast<double>(result.events));
  example.Number("exposure_tokens", static_cast<double>(result.exposure_tokens));
  example.Number("hazard_per_token", result.hazard);
  example.Number("hazard_upper95_if_zero_events", result.hazard_upper95);
}

void StdMetrics(ExampleCase& example) {
  if (example.has("acc")) {
    example.Number("Std@Acc", StandardDeviation(example.numbers("acc")));
    example.Number("Avg_Std@Output_Length",
                   MeanDeviation(example.in("lengths").get<std::vector<std::vector<double>>>()));
    return;
  }
  const auto examples = example.in("examples_runs_positions").get<std::vector<ProbabilityRuns>>();
  const TopProbabilityDeviation result = DeviationOfTopProbability(examples);
  example.Number("Avg_Std@top1_prob_pooled", result.pooled);
  example.Number("Avg_Std@top1_prob_macro", result.macro);
}

void UlpF32(ExampleCase& example) {
  const FloatDistance distance =
      DistanceOf(static_cast<float>(example.number("a")), static_cast<float>(example.number("b")));
  example.Number("ulp", distance.ulp);
  example.Truth("bitwise_equal", distance.bitwise_equal);
  example.Number("abs_diff", distance.absolute);
}

void NearTieSequence(ExampleCase& example) {
  const SequenceRisk risk = RiskOfSequence(example.numbers("margins"),
                                           example.number("sigma_margin"), example.number("tau"));
  example.Numbers("p_flip", risk.flip);
  example.Number("p_any_flip", risk.any_flip);
  example.Number("n_below_tau", static_cast<double>(risk.below));
  example.Number("fraction_below_tau", risk.share_below);
  example.Number("min_margin", risk.least);
  example.Number("argmin", static_cast<double>(risk.least_index));
  example.Number("q05", risk.q05);
  example.Number("median", risk.median);
}

void NearTieScore(ExampleCase& example) {
  const ScoreTie tie =
      JudgeScores(example.numbers("scores"), example.number("threshold"), example.confidence());
  example.Number("mean", tie.mean);
  example.Number("half_width", tie.half_width);
  example.Truth("ci_straddles", tie.interval_straddles);
  example.Truth("verdict_flips", tie.verdict_flips);
  example.Truth("flag", tie.near_tie);
  example.Number("z_to_threshold", tie.distance);
}

void RlMismatch(ExampleCase& example) {
  const auto train = example.in("train").get<std::vector<std::vector<double>>>();
  const auto rollout = example.in("rollout").get<std::vector<std::vector<double>>>();
  std::vector<ScoredSequence> sequences;
  for (size_t i = 0; i < train.size(); ++i) {
    sequences.push_back({.rollout = rollout[i], .trainer = train[i]});
    for (const nlohmann::json& kept : example.in("mask").at(i)) {
      sequences.back().mask.push_back(kept.get<int>() != 0);
    }
  }
  const Mismatch m = CompareLogprobs(sequences);
  example.Number("n_tokens", static_cast<double>(m.tokens));
  example.Number("k1_mean(kl_rollout_train)", m.k1);
  example.Number("k2_mean", m.k2);
  example.Number("k3_mean", m.k3);
  example.Number("mean_abs_dlogp", m.mean_abs);
  example.Number("max_abs_dlogp", m.max_abs);
  example.Number("n_bitwise_equal", static_cast<double>(m.bitwise_equal));
  example.Number("chi2_token", m.chi2_token);
  example.Number("is_weight_mean", m.weight_mean);
  example.Number("ess_fraction", m.ess_fraction);
  example.Number("rollout_probs_diff_mean", m.probs_diff_mean);
  example.Number("rollout_probs_diff_max", m.probs_diff_max);
  example.Number("pearson_probs", m.pearson);
  example.Numbers("seq_log_ratio", m.sequence_log_ratio);
  example.Number("chi2_seq", m.chi2_sequence);
  example.Number("log_ppl_diff_mean", m.log_ppl_diff);
  example.Number("log_ppl_abs_diff_mean", m.log_ppl_abs_diff);
  example.Number("ppl_ratio", m.ppl_ratio);
  example.Number("training_ppl", m.trainer_ppl);
  example.Number("rollout_ppl", m.rollout_ppl);
  example.Number("seq_mean_abs_dlogp", m.sequence_mean_abs);
}

void KlExact(ExampleCase& example) {
  const EstimatorMoments m = ExactMoments(example.numbers("q_sampling"), example.numbers("p"));
  example.Number("kl_qp", m.kl);
  example.Number("E_k1", m.mean_k1);
  example.Number("E_k2", m.mean_k2);
  example.Number("E_k3", m.mean_k3);
  example.Number("sd_k1", m.sd_k1);
  example.Number("sd_k2", m.sd_k2);
  example.Number("sd_k3", m.sd_k3);
}

// N(0, 1) sampled, N(0.1, 1) the other: both on a fine grid, where the moments are exact.
void KlGauss(ExampleCase& example) {
  std::vector<double> q;
  std::vector<double> p;
  for (double x = -9; x <= 9; x += 0.01) {
    q.push_back(0.01 * std::exp(-x * x / 2) / std::sqrt(2 * 3.141592653589793));
    p.push_back(0.01 * std::exp(-(x - 0.1) * (x - 0.1) / 2) / std::sqrt(2 * 3.141592653589793));
  }
  ASSERT_EQ(example.in("q"), "N(0,1)");
  ASSERT_EQ(example.in("p"), "N(0.1,1)");
  const EstimatorMoments m = ExactMoments(q, p);
  example.Number("kl_exact", m.kl);
  example.Number("k1_mean_mc", m.mean_k1);
  example.Number("k2_mean_mc", m.mean_k2);
  example.Number("k3_mean_mc", m.mean_k3);
  example.Number("k1_std", m.sd_k1);
  example.Number("k2_std", m.sd_k2);
  example.Number("k3_std", m.sd_k3);
  example.Number("k2_exact_mean", m.mean_k2);
}

}  // namespace

void AddAgreementExamples(ExampleChecks* checks) {
  checks->insert({
      {"agreement", AgreementExample},
      {"tar", Tar},
      {"divergence_index", DivergenceIndexExample},
      {"divergence_survival", DivergenceSurvivalExample},
      {"hazard_to_sequence",
       [](ExampleCase& e) {
         e.Number("p_identical", IdenticalProbability(e.number("h"), e.integer("L")));
         e.Number("expected_first_flip", ExpectedFirstDivergence(e.number("h")));
       }},
      {"std_metrics", StdMetrics},
      {"ulp_f32", UlpF32},
      {"near_tie_token",
       [](ExampleCase& e) {
         e.Number("p_flip", FlipProbability(e.number("margin"), e.number("sigma_margin")));
       }},
      {"near_tie_sequence", NearTieSequence},
      {"near_tie_prob_margin",
       [](ExampleCase& e) {
         const TwoWayOdds odds = OddsOfMargin(e.number("logprob_margin"));
         e.Number("odds_ratio", odds.odds_ratio);
         e.Number("p1_if_two_way", odds.likelier);
       }},
      {"near_tie_score", NearTieScore},
      {"rl_mismatch", RlMismatch},
      {"kl_estimators_exact", KlExact},
      {"kl_estimators_gauss", KlGauss},
      {"k3_numerics",
       [](ExampleCase& e) {
         e.Number("k3_exact", K3(e.number("d_f32")));
         e.Number("half_d2", K2(e.number("d_f32")));
       }},
  });
}

}  // namespace reenact::analysis
