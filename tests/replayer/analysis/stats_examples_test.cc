// Every number of the examples to its stated tolerance, every null a status. A group or an output
// that is not consumed is a failure that names it.

#include <cstdlib>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

#include "tests/replayer/analysis/example_case.h"

namespace reenact::analysis {
namespace {

std::string ExamplesPath() {
  const char* path = std::getenv("REENACT_STATS_EXAMPLES");
  return path != nullptr && *path != 0 ? path : REENACT_DEFAULT_STATS_EXAMPLES;
}

nlohmann::json ReadExamples() {
  std::ifstream file(ExamplesPath());
  return nlohmann::json::parse(file, nullptr, false);
}

ExampleChecks AllChecks() {
  ExampleChecks checks;
  AddOneSampleExamples(&checks);
  AddTwoSampleExamples(&checks);
  AddDriftExamples(&checks);
  AddAgreementExamples(&checks);
  return checks;
}

// _meta says how exact the numbers are.
Tolerance StatedTolerance(const nlohmann::json& examples, const std::string& group) {
  const nlohmann::json meta = examples.value("_meta", nlohmann::json::object());
  const nlohmann::json stated = meta.value("tolerances", nlohmann::json::object());
  Tolerance tolerance{.relative = stated.value("default_rel", 1e-9),
                      .absolute = stated.value("default_abs", 1e-12)};
  if (group == "t_quantile") tolerance.relative = 1e-10;
  // A simulation of somebody else.
  if (group == "kl_estimators_gauss") tolerance = {.relative = 0.02, .absolute = 0};
  return tolerance;
}

// What is wrong with a file of examples is collected as test failures.
void CheckFile(const nlohmann::json& examples, const ExampleChecks& checks) {
  for (const auto& [group, cases] : examples.items()) {
    // Evidence has its own tests, and a form of its own.
    if (group[0] == '_' || group == "R_cross_checks") continue;
    const auto check = checks.find(group);
    if (check == checks.end()) {
      ADD_FAILURE() << "group " << group << " is not consumed by this library";
      continue;
    }
    for (const nlohmann::json& one : cases) {
      SCOPED_TRACE(group + "/" + one.value("id", "?"));
      ExampleCase example(one, StatedTolerance(examples, group));
      check->second(example);
      for (const std::string& left : example.Unchecked())
        ADD_FAILURE() << left << " was not checked";
    }
  }
}

TEST(StatsExamples, EveryNumberIsRightAndEveryNullIsAStatus) {
  const nlohmann::json examples = ReadExamples();
  ASSERT_TRUE(examples.is_object()) << "no JSON in " << ExamplesPath();
  CheckFile(examples, AllChecks());
}

TEST(StatsExamples, CommittedFileHasEveryGroupOnce) {
  std::ifstream file(REENACT_DEFAULT_STATS_EXAMPLES);
  const nlohmann::json examples = nlohmann::json::parse(file, nullptr, false);
  for (const auto& [group, check] : AllChecks()) {
    EXPECT_TRUE(examples.contains(group)) << "no example for " << group;
  }
}

}  // namespace
}  // namespace reenact::analysis
