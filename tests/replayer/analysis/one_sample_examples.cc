// Means, pass rates, clusters, pass@k, power, resampling of one sample.

#include "replayer/analysis/bootstrap.h"
#include "replayer/analysis/clustered.h"
#include "replayer/analysis/intervals.h"
#include "replayer/analysis/multiplicity.h"
#include "replayer/analysis/pass_at_k.h"
#include "replayer/analysis/power.h"
#include "replayer/analysis/special_functions.h"
#include "tests/replayer/analysis/example_case.h"

namespace reenact::analysis {
namespace {

void MeanTCi(ExampleCase& example) {
  const MeanInterval result = StudentInterval(example.numbers("x"), example.confidence());
  const Summary& summary = result.summary;
  example.Number("n", static_cast<double>(summary.n));
  example.Number("mean", summary.mean);
  example.Number("median", summary.median);
  example.Number("mad", summary.mad);
  example.Number("min", summary.min);
  example.Number("max", summary.max);
  example.Number("sd", summary.sd);
  example.Number("se", summary.se);
  // One value has no degree of freedom: 0, or none at all.
  const bool none = example.out().contains("df") && example.out().at("df").is_null();
  example.Number("df", none ? summary.sd : Measure(static_cast<double>(result.df)));
  example.Number("tcrit", result.t_critical);
  example.Ends("ci_lo", "ci_hi", result.interval);
  example.Truth("degenerate", result.interval.status != Status::kOk);
}

void BinomialCi(ExampleCase& example) {
  const int64_t k = example.integer("k");
  const int64_t n = example.integer("n");
  const double confidence = example.confidence();
  example.Number("p", n == 0 ? Measure(Status::kNoData)
                             : Measure(static_cast<double>(k) / static_cast<double>(n)));
  example.Ends("wilson", WilsonInterval(k, n, confidence));
  example.Ends("clopper_pearson", ClopperPearsonInterval(k, n, confidence));
  example.Ends("jeffreys", JeffreysInterval(k, n, confidence));
  example.Ends("wald", WaldInterval(k, n, confidence));
}

void ZeroFailures(ExampleCase& example) {
  const ZeroFailureBound bound = BoundWithoutFailure(example.integer("n"), example.confidence());
  example.Number("one_sided_upper", bound.one_sided_upper);
  example.Number("two_sided_upper", bound.two_sided_upper);
  example.Number("rule_of_three", bound.rule_of_three);
}

void PassAtKExample(ExampleCase& example) {
  const PassCount count{.runs = example.integer("n"), .passes = example.integer("c")};
  const int64_t k = example.integer("k");
  example.Number("pass_at_k", PassAtK(count, k));
  example.Number("pass_hat_k", PassHatK(count, k));
  example.Number("naive_plugin_hat", PassHatKPlugIn(count, k));
}

void PassAtKSuite(ExampleCase& example) {
  std::vector<PassCount> cases;
  for (const nlohmann::json& passes : example.in("c")) {
    cases.push_back({.runs = example.integer("n"), .passes = passes.get<int64_t>()});
  }
  const auto compare = [&](const std::string& key, auto suite) {
    example.Inside(key, [&](ExampleCase& inner) {
      for (const auto& [k, value] : inner.out().items()) {
        inner.Number(k, suite(cases, std::stoll(k)));
      }
    });
  };
  compare("pass_at_k", SuitePassAtK);
  compare("pass_hat_k", SuitePassHatK);
}

void ClusteredSe(ExampleCase& example) {
  const ClusteredMean result =
      MeanOfClusters(example.numbers("x"), example.in("cluster").get<std::vector<int64_t>>(),
                     example.confidence());
  example.Number("n", static_cast<double>(result.n));
  example.Number("clusters", static_cast<double>(result.cluster_count));
  example.Number("mean", result.mean);
  example.Number("se_naive", result.se_naive);
  example.Number("se_cr0", result.se_cr0);
  example.Number("se_cr1", result.se_cr1);
  example.Number("df", static_cast<double>(result.df));
  example.Ends("ci_lo", "ci_hi", result.interval);
  example.Number("design_effect", result.design_effect);
}

void VarianceDecomposition(ExampleCase& example) {
  const VarianceSplit split =
      SplitVariance(example.in("x").get<std::vector<std::vector<double>>>());
  example.Number("n_cases", static_cast<double>(split.case_count));
  example.Number("K", static_cast<double>(split.runs_per_case));
  example.Number("mean", split.mean);
  example.Number("MSB", split.mean_square_between);
  example.Number("MSW", split.mean_square_within);
  example.Number("var_within", split.variance_within);
  example.Number("var_between", split.variance_between);
  example.Number("icc1", split.icc);
  example.Number("se_superpopulation", split.se_superpopulation);
  example.Number("se_fixed_suite", split.se_fixed_suite);
  example.Numbers("run_means", split.run_means);
  example.Number("sd_of_run_means", split.sd_of_run_means);
  example.Number("se_from_run_means", split.se_from_run_means);
  example.Number("instability", split.instability);
}

void BootstrapExhaustive(ExampleCase& example) {
  const Bootstrap result =
      BootstrapInterval(example.numbers("x"), MeanOf, {.confidence = example.confidence()});
  example.Number("n", static_cast<double>(result.n));
  example.Number("resamples", static_cast<double>(result.resamples));
  example.Number("mean", result.estimate);
  example.Number("boot_se", result.se);
  example.Ends("pct_linear", result.percentile_linear);
  example.Ends("pct_type1", result.percentile_inverted);
  example.Number("p_below", result.share_below);
  example.Number("z0", result.z0);
  example.Number("accel", result.acceleration);
  example.Number("alpha1", result.alpha_lo);
  example.Number("alpha2", result.alpha_hi);
  example.Ends("bca", result.bca_linear);
  example.Ends("bca_linear", result.bca_linear);
  example.Ends("bca_type1", result.bca_inverted);
}

TestLevel LevelOf(const ExampleCase& example) {
  return {.alpha = example.number_or("alpha", 0.05), .power = example.number_or("power", 0.8)};
}

void Size(ExampleCase& example, const SampleSize& size) {
  example.Number("n_exact", size.exact);
  example.Number("n", size.n);
}

void PowerPairedMean(ExampleCase& example) {
  const PairedDesign design{.omega2 = example.number("omega2"),
                            .sigma2_a = example.number("sigma2_a"),
                            .sigma2_b = example.number("sigma2_b"),
                            .runs_a = example.integer("K_a"),
                            .runs_b = example.integer("K_b")};
  Size(example, CasesForMean(design, example.number("delta"), LevelOf(example)));
}

void MdePairedMean(ExampleCase& example) {
  const PairedDesign design{.omega2 = example.number("omega2"),
                            .sigma2_a = example.number("sigma2"),
                            .sigma2_b = example.number("sigma2"),
                            .runs_a = example.integer("K"),
                            .runs_b = example.integer("K")};
  example.Number("mde", DetectableDifference(design, example.integer("n"), LevelOf(example)));
}

void FlakePower(ExampleCase& example) {
  const FlakeOdds odds = OddsOfFlake(example.number("p"), example.integer("n"));
  example.Number("p_all_pass", odds.all_pass);
  example.Number("p_all_same", odds.all_same);
  example.Number("p_detect_flaky", odds.detected);
}

void MultipleComparisons(ExampleCase& example) {
  const std::vector<double> p = example.numbers("p");
  example.Numbers("bonferroni", Bonferroni(p));
  example.Numbers("holm", Holm(p));
  example.Numbers("bh", BenjaminiHochberg(p));
  example.Numbers("by", BenjaminiYekutieli(p));
}

void ProbeCostExample(ExampleCase& example) {
  example.Number("usd_per_year",
                 CostPerYear({.queries_per_probe = example.number("queries_per_probe"),
                              .probes_per_year = example.number("probes_per_year"),
                              .input_tokens = example.number("in_tokens"),
                              .output_tokens = example.number("out_tokens"),
                              .price_input = example.number("usd_per_mtok_in"),
                              .price_output = example.number("usd_per_mtok_out")}));
}

}  // namespace

void AddOneSampleExamples(ExampleChecks* checks) {
  checks->insert({
      {"mean_t_ci", MeanTCi},
      {"t_quantile",
       [](ExampleCase& e) { e.Number("q", StudentQuantile(e.number("p"), e.number("df"))); }},
      {"normal_quantile", [](ExampleCase& e) { e.Number("z", NormalQuantile(e.number("p"))); }},
      {"binomial_ci", BinomialCi},
      {"zero_failures_upper_bound", ZeroFailures},
      {"pass_at_k", PassAtKExample},
      {"pass_at_k_suite", PassAtKSuite},
      {"clustered_se", ClusteredSe},
      {"variance_decomposition", VarianceDecomposition},
      {"bootstrap_exhaustive", BootstrapExhaustive},
      {"power_paired_mean", PowerPairedMean},
      {"mde_paired_mean", MdePairedMean},
      {"power_mcnemar",
       [](ExampleCase& e) {
         Size(e, CasesForMcNemar(e.number("p_discordant"), e.number("delta"), LevelOf(e)));
       }},
      {"flake_detection_power", FlakePower},
      {"runs_to_detect_flake",
       [](ExampleCase& e) { e.Number("n", RunsToSeeFlake(e.number("p"), e.number("prob"))); }},
      {"multiple_comparisons", MultipleComparisons},
      {"probe_cost", ProbeCostExample},
  });
}

}  // namespace reenact::analysis
