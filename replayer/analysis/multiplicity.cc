#include "replayer/analysis/multiplicity.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace reenact::analysis {
namespace {

// Indices of p from the smallest; equal ones in their order.
std::vector<size_t> Ascending(std::span<const double> p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });
  return order;
}

// min over j >= i of factor * m * p(j) / j.
std::vector<double> StepUp(std::span<const double> p, double factor) {
  const double m = static_cast<double>(p.size());
  const std::vector<size_t> order = Ascending(p);
  std::vector<double> adjusted(p.size());
  double least = 1;
  for (size_t rank = p.size(); rank >= 1; --rank) {
    const size_t index = order[rank - 1];
    // The factor first: it is never below 1, so that no rounding takes a value below its raw one.
    least = std::min(least, p[index] * (factor * m / static_cast<double>(rank)));
    adjusted[index] = least;
  }
  return adjusted;
}

}  // namespace

std::vector<double> Bonferroni(std::span<const double> p) {
  std::vector<double> adjusted;
  for (const double value : p)
    adjusted.push_back(std::min(1.0, static_cast<double>(p.size()) * value));
  return adjusted;
}

std::vector<double> Holm(std::span<const double> p) {
  const std::vector<size_t> order = Ascending(p);
  std::vector<double> adjusted(p.size());
  double most = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    most = std::max(most, static_cast<double>(p.size() - i) * p[order[i]]);
    adjusted[order[i]] = std::min(1.0, most);
  }
  return adjusted;
}

std::vector<double> BenjaminiHochberg(std::span<const double> p) {
  return StepUp(p, 1);
}

std::vector<double> BenjaminiYekutieli(std::span<const double> p) {
  double harmonic = 0;
  for (size_t i = p.size(); i >= 1; --i) harmonic += 1 / static_cast<double>(i);
  return StepUp(p, harmonic);
}

}  // namespace reenact::analysis
