#include "replayer/analysis/paired_proportions.h"

#include <algorithm>
#include <cmath>

#include "replayer/analysis/special_functions.h"

namespace reenact::analysis {
namespace {

struct Counts {
  double n = 0;
  double b = 0;  // Only A passes.
  double c = 0;  // Only B passes.
};

// Numerator and squared denominator of Tango's T at a supposed difference. The second holds the
// chance of "only B" that fits best under it: the root q of 2n q^2 + B q + C = 0.
struct Score {
  double distance = 0;
  double variance = 0;
};

Score TangoScore(const Counts& counts, double delta) {
  const double linear = -counts.b - counts.c + (2 * counts.n - counts.b + counts.c) * delta;
  const double constant = -counts.c * delta * (1 - delta);
  const double root = std::sqrt(std::max(0.0, linear * linear - 8 * counts.n * constant));
  // The form of the root without cancellation depends on the sign.
  const double q = linear > 0 ? -2 * constant / (linear + root) : (root - linear) / (4 * counts.n);
  return {.distance = counts.b - counts.c - counts.n * delta,
          .variance = std::max(0.0, counts.n * (2 * q + delta * (1 - delta)))};
}

// The end of the interval between the estimate and `bound`: where |T| reaches z.
double TangoEnd(const Counts& counts, double estimate, double bound, double z) {
  double inside = estimate;
  double outside = bound;
  for (int step = 0; step < 1100; ++step) {
    const double middle = inside + (outside - inside) / 2;
    if (middle == inside || middle == outside) break;
    const Score score = TangoScore(counts, middle);
    const bool rejected = std::fabs(score.distance) > z * std::sqrt(score.variance);
    (rejected ? outside : inside) = middle;
  }
  return inside;
}

// Corrected correlation of the two verdicts; 0 where a margin is empty.
double CorrectedPhi(const PairedTable& table) {
  const double a = static_cast<double>(table.both_pass);
  const double b = static_cast<double>(table.only_a);
  const double c = static_cast<double>(table.only_b);
  const double d = static_cast<double>(table.both_fail);
  const double margins = (a + b) * (c + d) * (a + c) * (b + d);
  if (margins == 0) return 0;
  double product = a * d - b * c;
  if (product > 0) product = std::max(0.0, product - static_cast<double>(table.n()) / 2);
  return product / std::sqrt(margins);
}

double Joined(double first, double second, double phi) {
  return std::sqrt(std::max(0.0, first * first - 2 * phi * first * second + second * second));
}

Interval Newcombe(const PairedTable& table, double diff, double phi, double confidence) {
  const int64_t pass_a = table.both_pass + table.only_a;
  const int64_t pass_b = table.both_pass + table.only_b;
  const double n = static_cast<double>(table.n());
  const double p_a = static_cast<double>(pass_a) / n;
  const double p_b = static_cast<double>(pass_b) / n;
  const Interval of_a = WilsonInterval(pass_a, table.n(), confidence);
  const Interval of_b = WilsonInterval(pass_b, table.n(), confidence);
  return {.lo = diff - Joined(p_a - of_a.lo.value(), of_b.hi.value() - p_b, phi),
          .hi = diff + Joined(p_b - of_b.lo.value(), of_a.hi.value() - p_a, phi)};
}

}  // namespace

McNemar McNemarTest(int64_t only_a, int64_t only_b) {
  McNemar result;
  if (only_a < 0 || only_b < 0) {
    result.status = Status::kOutOfRange;
    result.p_exact = result.p_mid = Status::kOutOfRange;
    return result;
  }
  const int64_t n = only_a + only_b;
  result.discordant = n;
  if (n == 0) {
    result.status = Status::kNoDiscordant;
    result.p_exact = result.p_mid = 1.0;
    result.chi2 = result.chi2_p = Status::kNoDiscordant;
    result.chi2_corrected = result.chi2_corrected_p = Status::kNoDiscordant;
    return result;
  }
  const int64_t smaller = std::min(only_a, only_b);
  const double tail = 2 * BinomialCdf(smaller, n, 0.5);
  result.p_exact = std::min(1.0, tail);
  result.p_mid = std::min(1.0, tail - BinomialPmf(smaller, n, 0.5));
  const double gap = std::fabs(static_cast<double>(only_a - only_b));
  const double total = static_cast<double>(n);
  const double corrected = std::max(0.0, gap - 1);
  result.chi2 = gap * gap / total;
  result.chi2_p = ChiSquareUpperTail(gap * gap / total, 1);
  result.chi2_corrected = corrected * corrected / total;
  result.chi2_corrected_p = ChiSquareUpperTail(corrected * corrected / total, 1);
  return result;
}

PairedDifference DifferenceOfPaired(const PairedTable& table, double confidence) {
  PairedDifference result;
  Status wrong = Status::kOk;
  if (table.n() == 0) wrong = Status::kNoData;
  if (std::min({table.both_pass, table.only_a, table.only_b, table.both_fail}) < 0 ||
      !(confidence > 0 && confidence < 1)) {
    wrong = Status::kOutOfRange;
  }
  if (wrong != Status::kOk) {
    result.diff = result.phi = wrong;
    result.tango = result.newcombe = result.bonett_price = result.wald = NoInterval(wrong);
    return result;
  }
  const Counts counts{.n = static_cast<double>(table.n()),
                      .b = static_cast<double>(table.only_a),
                      .c = static_cast<double>(table.only_b)};
  const double z = NormalQuantile(0.5 + confidence / 2);
  const double diff = (counts.b - counts.c) / counts.n;
  result.diff = diff;
  result.tango = {.lo = TangoEnd(counts, diff, -1, z), .hi = TangoEnd(counts, diff, 1, z)};
  result.phi = CorrectedPhi(table);
  result.newcombe = Newcombe(table, diff, result.phi.value(), confidence);

  const double p_b = (counts.b + 1) / (counts.n + 2);
  const double p_c = (counts.c + 1) / (counts.n + 2);
  const double shrunk = p_b - p_c;
  const double half = z * std::sqrt((p_b + p_c - shrunk * shrunk) / (counts.n + 2));
  result.bonett_price = {.lo = std::max(-1.0, shrunk - half), .hi = std::min(1.0, shrunk + half)};

  const double spread =
      counts.b + counts.c - (counts.b - counts.c) * (counts.b - counts.c) / counts.n;
  const double wald_half = z * std::sqrt(std::max(0.0, spread)) / counts.n;
  result.wald = {.lo = diff - wald_half,
                 .hi = diff + wald_half,
                 .status = wald_half == 0 ? Status::kZeroVariance : Status::kOk};
  return result;
}

}  // namespace reenact::analysis
