// One example of stats_examples.json: inputs, and right outputs that are ticked off one by one. An
// output that nobody compared is a failure, so that a file with more numbers than we know is
// noticed.

#ifndef REENACT_TESTS_REPLAYER_ANALYSIS_EXAMPLE_CASE_H_
#define REENACT_TESTS_REPLAYER_ANALYSIS_EXAMPLE_CASE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "replayer/analysis/measure.h"

namespace reenact::analysis {

struct Tolerance {
  double relative = 1e-9;
  double absolute = 1e-12;
};

class ExampleCase {
 public:
  ExampleCase(const nlohmann::json& example, Tolerance tolerance);

  // Inputs.
  const nlohmann::json& in(const std::string& key) const { return in_.at(key); }

  bool has(const std::string& key) const { return in_.contains(key); }

  double number(const std::string& key) const { return in_.at(key).get<double>(); }

  double number_or(const std::string& key, double otherwise) const {
    return in_.value(key, otherwise);
  }

  int64_t integer(const std::string& key) const { return in_.at(key).get<int64_t>(); }

  std::vector<double> numbers(const std::string& key) const {
    return in_.at(key).get<std::vector<double>>();
  }

  double confidence() const { return in_.value("conf", 0.95); }

  // Outputs. What the example does not hold is passed over; `null` is met by a status only.
  void Number(const std::string& key, const Measure& actual) { Number(key, actual, tolerance_); }

  void Number(const std::string& key, const Measure& actual, Tolerance tolerance);
  void Numbers(const std::string& key, std::span<const double> actual);
  void Measures(const std::string& key, std::span<const Measure> actual);
  // A list of lists of numbers, row by row.
  void Rows(const std::string& key, std::span<const double> actual);
  void Ends(const std::string& key, const Interval& actual);
  void Ends(const std::string& lo, const std::string& hi, const Interval& actual);
  void Truth(const std::string& key, std::optional<bool> actual);
  // Any other form: equal to the bit.
  void Exactly(const std::string& key, const nlohmann::json& actual);
  // A member that is an object of numbers: compared as a case of its own.
  void Inside(const std::string& key, const std::function<void(ExampleCase&)>& check);

  // Outputs left over. Those named NOT_ or _INVALID document wrong methods and are not ours.
  std::vector<std::string> Unchecked() const;

  const nlohmann::json& out() const { return out_; }

 private:
  // The right value, ticked off; null pointer: the example does not hold it.
  const nlohmann::json* Take(const std::string& key);
  static void Compare(const std::string& key, const nlohmann::json& right, const Measure& actual,
                      Tolerance tolerance);

  nlohmann::json in_;
  nlohmann::json out_;
  Tolerance tolerance_;
  std::set<std::string> checked_;
};

using ExampleCheck = std::function<void(ExampleCase&)>;

// Group name -> how its examples are computed by this library.
using ExampleChecks = std::map<std::string, ExampleCheck>;

void AddOneSampleExamples(ExampleChecks* checks);
void AddTwoSampleExamples(ExampleChecks* checks);
void AddDriftExamples(ExampleChecks* checks);
void AddAgreementExamples(ExampleChecks* checks);

}  // namespace reenact::analysis

#endif  // REENACT_TESTS_REPLAYER_ANALYSIS_EXAMPLE_CASE_H_
