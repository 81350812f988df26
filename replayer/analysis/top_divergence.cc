#include "replayer/analysis/top_divergence.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "replayer/analysis/descriptive.h"
#include "replayer/analysis/elementary.h"

namespace reenact::analysis {
namespace {

// Less mass than this is what rounding leaves of none.
constexpr double kNoMass = 1e-12;

// Two distributions over the same cells.
struct Cells {
  std::vector<double> p, q;

  void Add(double of_p, double of_q) {
    p.push_back(of_p < kNoMass ? 0 : of_p);
    q.push_back(of_q < kNoMass ? 0 : of_q);
  }
};

Measure Kl(std::span<const double> p, std::span<const double> q) {
  std::vector<double> terms;
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i] == 0) continue;
    if (q[i] == 0) return Status::kInfinite;
    terms.push_back(p[i] == q[i] ? 0 : p[i] * Log(p[i] / q[i]));
  }
  return std::max(0.0, SumOf(terms));
}

double Js(const Cells& cells) {
  std::vector<double> middle;
  for (size_t i = 0; i < cells.p.size(); ++i) middle.push_back((cells.p[i] + cells.q[i]) / 2);
  return (Kl(cells.p, middle).value() + Kl(cells.q, middle).value()) / 2;
}

struct List {
  TopTokens logprob;
  double tail = 1;
  double last = 1;  // Chance of the least likely entry.
  Measure margin = Status::kInsufficientN;
  std::string best;
};

List Read(const TopTokens& top) {
  List list;
  std::vector<std::pair<double, std::string>> order;
  std::vector<double> masses;
  for (const auto& [token, logprob] : top) {
    if (logprob <= kCensoredFrom) continue;
    list.logprob[token] = logprob;
    masses.push_back(Exp(logprob));
    order.emplace_back(-logprob, token);
  }
  if (order.empty()) return list;
  std::sort(order.begin(), order.end());  // The most likely; equal ones by bytes.
  list.best = order[0].second;
  if (order.size() > 1) list.margin = order[1].first - order[0].first;
  list.last = *std::min_element(masses.begin(), masses.end());
  list.tail = 1 - SumOf(masses);
  return list;
}

double MassOf(const List& list, std::span<const std::string> tokens) {
  std::vector<double> masses;
  for (const std::string& token : tokens) masses.push_back(Exp(list.logprob.at(token)));
  return SumOf(masses);
}

double MostOutside(const List& list, size_t token_count) {
  return std::min(std::max(0.0, list.tail), static_cast<double>(token_count) * list.last);
}

void FillCoarse(const Cells& common, double rest_p, double rest_q, TopDivergence* result) {
  Cells cells = common;
  cells.Add(rest_p, rest_q);
  result->js_coarse = Js(cells);
  result->kl_pq_coarse = Kl(cells.p, cells.q);
  result->kl_qp_coarse = Kl(cells.q, cells.p);
  std::vector<double> distances;
  std::vector<double> squares;
  for (size_t i = 0; i < cells.p.size(); ++i) {
    distances.push_back(std::fabs(cells.p[i] - cells.q[i]));
    const double root = std::sqrt(cells.p[i]) - std::sqrt(cells.q[i]);
    squares.push_back(root * root);
  }
  result->tv_coarse = SumOf(distances) / 2;
  result->hellinger_coarse = std::sqrt(SumOf(squares) / 2);
}

void FillLogprobs(const List& p, const List& q, TopDivergence* result) {
  std::vector<double> common;
  for (const std::string& token : result->common) {
    common.push_back(std::fabs(p.logprob.at(token) - q.logprob.at(token)));
  }
  result->mean_abs_dlogp = common.empty() ? Measure(Status::kNoData) : Measure(MeanOf(common));
  result->max_abs_dlogp = common.empty() ? Measure(Status::kNoData)
                                         : Measure(*std::max_element(common.begin(), common.end()));
  double floor = 0;
  for (const List* list : {&p, &q}) {
    for (const auto& [token, logprob] : list->logprob) floor = std::min(floor, logprob);
  }
  std::vector<double> all = common;
  for (const std::string& token : result->only_p) all.push_back(p.logprob.at(token) - floor);
  for (const std::string& token : result->only_q) all.push_back(q.logprob.at(token) - floor);
  result->mean_abs_dlogp_censored = MeanOf(all);
}

}  // namespace

TopDivergence CompareTop(const TopTokens& top_p, const TopTokens& top_q) {
  TopDivergence result;
  for (const TopTokens* top : {&top_p, &top_q}) {
    for (const auto& [token, logprob] : *top) {
      if (!(logprob <= 1e-6)) result.status = Status::kOutOfRange;
    }
  }
  if (result.status != Status::kOk) return result;
  const List p = Read(top_p);
  const List q = Read(top_q);
  for (const List* list : {&p, &q}) {
    if (list->logprob.empty()) result.status = Status::kNoData;
    result.mass_above_one = result.mass_above_one || list->tail < -1e-3;
  }
  if (result.status != Status::kOk) return result;
  for (const auto& [token, logprob] : p.logprob) {
    (q.logprob.contains(token) ? result.common : result.only_p).push_back(token);
  }
  for (const auto& [token, logprob] : q.logprob) {
    if (!p.logprob.contains(token)) result.only_q.push_back(token);
  }
  const double only_p = MassOf(p, result.only_p);
  const double only_q = MassOf(q, result.only_q);
  const double most_q = MostOutside(q, result.only_p.size());
  const double most_p = MostOutside(p, result.only_q.size());
  const double rest_p = std::max(0.0, 1 - MassOf(p, result.common));
  const double rest_q = std::max(0.0, 1 - MassOf(q, result.common));
  result.mass_only_p = only_p;
  result.mass_only_q = only_q;
  result.bound_q_of_only_p = most_q;
  result.bound_p_of_only_q = most_p;
  result.tail_p = std::max(0.0, p.tail);
  result.tail_q = std::max(0.0, q.tail);
  result.rest_p = rest_p;
  result.rest_q = rest_q;

  Cells common;
  std::vector<double> more_p{std::max(0.0, only_p - most_q)};
  std::vector<double> more_q{std::max(0.0, only_q - most_p)};
  for (const std::string& token : result.common) {
    const double of_p = Exp(p.logprob.at(token));
    const double of_q = Exp(q.logprob.at(token));
    common.Add(of_p, of_q);
    more_p.push_back(std::max(0.0, of_p - of_q));
    more_q.push_back(std::max(0.0, of_q - of_p));
  }
  result.tv_lower_bound = std::max(SumOf(more_p), SumOf(more_q));
  FillCoarse(common, rest_p, rest_q, &result);

  Cells cells = common;
  const double guess_q = std::min(only_p, most_q);
  const double guess_p = std::min(only_q, most_p);
  cells.Add(only_p, guess_q);
  cells.Add(guess_p, only_q);
  cells.Add(std::max(0.0, rest_p - only_p - guess_p), std::max(0.0, rest_q - only_q - guess_q));
  result.js = Js(cells);
  result.kl_pq = Kl(cells.p, cells.q);
  result.kl_qp = Kl(cells.q, cells.p);

  FillLogprobs(p, q, &result);
  const size_t all = result.common.size() + result.only_p.size() + result.only_q.size();
  result.jaccard = static_cast<double>(result.common.size()) / static_cast<double>(all);
  result.top1_same = p.best == q.best;
  result.margin_p = p.margin;
  result.margin_q = q.margin;
  return result;
}

}  // namespace reenact::analysis
