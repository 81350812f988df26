// Two systems compared: paired, unpaired, by verdicts.

#include <cmath>

#include "replayer/analysis/paired.h"
#include "replayer/analysis/paired_proportions.h"
#include "replayer/analysis/unpaired.h"
#include "tests/replayer/analysis/example_case.h"

namespace reenact::analysis {
namespace {

void PairedTExample(ExampleCase& example) {
  const PairedT result =
      ComparePaired(example.numbers("a"), example.numbers("b"), example.confidence());
  example.Number("n", static_cast<double>(result.n));
  example.Number("mean_a", result.mean_a);
  example.Number("mean_b", result.mean_b);
  example.Number("diff", result.diff);
  example.Number("sd_d", result.sd_diff);
  example.Number("se_paired", result.se_paired);
  example.Number("df", static_cast<double>(result.df));
  example.Ends("ci", result.interval);
  example.Number("t", result.t);
  example.Number("p", result.p);
  example.Number("corr", result.correlation);
  example.Number("se_unpaired", result.se_unpaired);
  example.Number("welch_t", result.welch_t);
  example.Number("welch_p", result.welch_p);
  example.Ends("ci_a", result.interval_a);
  example.Ends("ci_b", result.interval_b);
  example.Truth("cis_overlap", result.intervals_overlap);
}

void McNemarExample(ExampleCase& example) {
  const McNemar result = McNemarTest(example.integer("b"), example.integer("c"));
  example.Number("n_discordant", static_cast<double>(result.discordant));
  example.Number("p_exact", result.p_exact);
  example.Number("p_mid", result.p_mid);
  example.Number("chi2", result.chi2);
  example.Number("chi2_p", result.chi2_p);
  example.Number("chi2_cc", result.chi2_corrected);
  example.Number("chi2_cc_p", result.chi2_corrected_p);
}

void PairedPropCi(ExampleCase& example) {
  const PairedDifference result = DifferenceOfPaired({.both_pass = example.integer("a"),
                                                      .only_a = example.integer("b"),
                                                      .only_b = example.integer("c"),
                                                      .both_fail = example.integer("d")},
                                                     example.confidence());
  example.Number("diff", result.diff);
  example.Number("phi_cc", result.phi);
  example.Ends("tango", result.tango);
  example.Ends("newcombe10", result.newcombe);
  example.Ends("bonett_price", result.bonett_price);
  example.Ends("wald", result.wald);
}

void TwoProp(ExampleCase& example) {
  const TwoProportions result =
      CompareProportions(example.integer("x1"), example.integer("n1"), example.integer("x2"),
                         example.integer("n2"), example.confidence());
  example.Number("diff", result.diff);
  example.Ends("newcombe", result.newcombe);
  example.Number("fisher_p", result.fisher_p);
  example.Number("z_pooled", result.z_pooled);
  example.Number("z_p", result.z_p);
  example.Truth("wilson_cis_overlap", result.wilson_intervals_overlap);
}

void PairedPermutation(ExampleCase& example) {
  const std::vector<double> d = example.numbers("d");
  const SignFlip flip = SignFlipTest(d);
  const SignedRank rank = SignedRankTest(d);
  example.Number("p_signflip_exact", flip.p);
  example.Number("n_flips", static_cast<double>(flip.draw_count));
  example.Number("mean", d.empty() ? Measure(Status::kNoData) : Measure(MeanOf(d)));
  example.Number("sign_test_p", SignTest(d));
  example.Number("wilcoxon_W", rank.statistic);
  example.Number("wilcoxon_p_exact", rank.p);
}

void TwoSample(ExampleCase& example) {
  const std::vector<double> x = example.numbers("x");
  const std::vector<double> y = example.numbers("y");
  const SampleDistance distance = CompareSamples(x, y);
  const WelchT welch = CompareWelch(x, y);
  const Tolerance exact{.relative = 1e-12, .absolute = 1e-12};
  example.Number("mean_diff", welch.mean_diff);
  example.Number("ks", distance.ks);
  example.Number("ks_p", distance.ks_p, exact);
  example.Number("mwu_U", distance.mann_whitney_u);
  example.Number("mwu_p", distance.mann_whitney_p, exact);
  example.Number("welch_t", welch.t);
  example.Number("welch_p", welch.p);
  example.Number("energy2", distance.energy);
  // scipy returns the root.
  example.Number("energy_scipy_sqrt", std::sqrt(distance.energy.value()));
  example.Number("wasserstein", distance.wasserstein);
  example.Number("cliffs_delta", distance.cliffs_delta);
}

}  // namespace

void AddTwoSampleExamples(ExampleChecks* checks) {
  checks->insert({
      {"paired_t", PairedTExample},
      {"mcnemar", McNemarExample},
      {"paired_prop_ci", PairedPropCi},
      {"two_prop", TwoProp},
      {"paired_permutation", PairedPermutation},
      {"two_sample", TwoSample},
  });
}

}  // namespace reenact::analysis
