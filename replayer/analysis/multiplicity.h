// p-values of a family of tests, adjusted: all metrics and slices of one comparison. Order kept;
// adjusted values are monotone in the raw ones and at most 1.

#ifndef REENACT_REPLAYER_ANALYSIS_MULTIPLICITY_H_
#define REENACT_REPLAYER_ANALYSIS_MULTIPLICITY_H_

#include <span>
#include <vector>

namespace reenact::analysis {

// Values outside [0, 1] are the caller's mistake; NaN must not be passed.
std::vector<double> Bonferroni(std::span<const double> p);
// Controls the chance of any false accusation: for gates.
std::vector<double> Holm(std::span<const double> p);
// Controls the share of false ones among those named: for lists to look through.
std::vector<double> BenjaminiHochberg(std::span<const double> p);
// As that, under any dependence.
std::vector<double> BenjaminiYekutieli(std::span<const double> p);

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_MULTIPLICITY_H_
