// The distributions that the tests of this library ask for. Arguments outside a function's domain
// give NaN; callers check theirs before, and Measure turns what is left into a status.
//
// Bits: equal on every machine (see elementary.h and docs/decisions/0012). Accuracy: 1e-12 relative
// and better for the arguments of tests, quantiles 1e-12.

#ifndef REENACT_REPLAYER_ANALYSIS_SPECIAL_FUNCTIONS_H_
#define REENACT_REPLAYER_ANALYSIS_SPECIAL_FUNCTIONS_H_

#include <cstdint>

namespace reenact::analysis {

double NormalCdf(double z);
// z with NormalCdf(z) = p; 0 < p < 1.
double NormalQuantile(double p);

// P(Beta(a, b) <= x), the regularised incomplete beta function; a, b > 0.
double BetaCdf(double x, double a, double b);
double BetaQuantile(double p, double a, double b);

// df > 0, not necessarily whole (Welch).
double StudentCdf(double t, double df);
// 2 P(T >= |t|), exact in the tail.
double StudentTwoSidedP(double t, double df);
double StudentQuantile(double p, double df);

// P(X >= x) of a chi-square with `df` degrees.
double ChiSquareUpperTail(double x, int64_t df);

double LogChoose(int64_t n, int64_t k);
// n choose k as a double: exact up to 2^53, rounded above, infinite where it does not fit.
double Choose(int64_t n, int64_t k);
// P(X = k) and P(X <= k) for k successes of n with probability p.
double BinomialPmf(int64_t k, int64_t n, double p);
double BinomialCdf(int64_t k, int64_t n, double p);

}  // namespace reenact::analysis

#endif  // REENACT_REPLAYER_ANALYSIS_SPECIAL_FUNCTIONS_H_
