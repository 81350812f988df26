#include "tests/replayer/analysis/example_case.h"

#include <algorithm>
#include <cmath>

#include "gtest/gtest.h"

namespace reenact::analysis {

ExampleCase::ExampleCase(const nlohmann::json& example, Tolerance tolerance)
    : in_(example.value("in", nlohmann::json::object())),
      out_(example.at("out")),
      tolerance_(tolerance) {}

const nlohmann::json* ExampleCase::Take(const std::string& key) {
  const auto found = out_.find(key);
  if (found == out_.end()) return nullptr;
  checked_.insert(key);
  return &*found;
}

void ExampleCase::Compare(const std::string& key, const nlohmann::json& right,
                          const Measure& actual, Tolerance tolerance) {
  if (right.is_null()) {
    EXPECT_FALSE(actual.ok()) << key << " is undefined, but came out as " << actual.value();
    return;
  }
  ASSERT_TRUE(right.is_number()) << key << ": " << right;
  const double expected = right.get<double>();
  ASSERT_TRUE(actual.ok()) << key << " is " << expected << ", but came out as "
                           << StatusName(actual.status());
  const double allowed = std::max(tolerance.absolute, tolerance.relative * std::fabs(expected));
  EXPECT_LE(std::fabs(actual.value() - expected), allowed)
      << key << " is " << right << ", but came out as " << nlohmann::json(actual.value());
}

void ExampleCase::Number(const std::string& key, const Measure& actual, Tolerance tolerance) {
  if (const nlohmann::json* right = Take(key)) Compare(key, *right, actual, tolerance);
}

void ExampleCase::Measures(const std::string& key, std::span<const Measure> actual) {
  const nlohmann::json* right = Take(key);
  if (right == nullptr) return;
  ASSERT_TRUE(right->is_array()) << key;
  ASSERT_EQ(right->size(), actual.size()) << key;
  for (size_t i = 0; i < actual.size(); ++i) {
    Compare(key + "[" + std::to_string(i) + "]", (*right)[i], actual[i], tolerance_);
  }
}

void ExampleCase::Numbers(const std::string& key, std::span<const double> actual) {
  Measures(key, std::vector<Measure>(actual.begin(), actual.end()));
}

void ExampleCase::Rows(const std::string& key, std::span<const double> actual) {
  const nlohmann::json* right = Take(key);
  if (right == nullptr) return;
  std::vector<nlohmann::json> flat;
  for (const nlohmann::json& row : *right) flat.insert(flat.end(), row.begin(), row.end());
  ASSERT_EQ(flat.size(), actual.size()) << key;
  for (size_t i = 0; i < flat.size(); ++i) Compare(key, flat[i], actual[i], tolerance_);
}

void ExampleCase::Ends(const std::string& key, const Interval& actual) {
  const nlohmann::json* right = Take(key);
  if (right == nullptr) return;
  if (right->is_null()) {
    EXPECT_FALSE(actual.lo.ok()) << key;
    EXPECT_NE(actual.status, Status::kOk) << key;
    return;
  }
  ASSERT_EQ(right->size(), 2u) << key;
  Compare(key + " lower end", (*right)[0], actual.lo, tolerance_);
  Compare(key + " upper end", (*right)[1], actual.hi, tolerance_);
}

void ExampleCase::Ends(const std::string& lo, const std::string& hi, const Interval& actual) {
  Number(lo, actual.lo);
  Number(hi, actual.hi);
}

void ExampleCase::Truth(const std::string& key, std::optional<bool> actual) {
  Exactly(key, actual ? nlohmann::json(*actual) : nlohmann::json());
}

void ExampleCase::Exactly(const std::string& key, const nlohmann::json& actual) {
  const nlohmann::json* right = Take(key);
  if (right == nullptr) return;
  EXPECT_EQ(*right, actual) << key;
}

void ExampleCase::Inside(const std::string& key, const std::function<void(ExampleCase&)>& check) {
  const nlohmann::json* right = Take(key);
  if (right == nullptr) return;
  ExampleCase inner({{"in", in_}, {"out", *right}}, tolerance_);
  check(inner);
  for (const std::string& left : inner.Unchecked())
    ADD_FAILURE() << key << "." << left << " was not checked";
}

std::vector<std::string> ExampleCase::Unchecked() const {
  std::vector<std::string> left;
  for (const auto& [key, value] : out_.items()) {
    const bool wrong_method =
        key.find("NOT_") != std::string::npos || key.find("_INVALID") != std::string::npos;
    if (!wrong_method && !checked_.contains(key)) left.push_back(key);
  }
  return left;
}

}  // namespace reenact::analysis
