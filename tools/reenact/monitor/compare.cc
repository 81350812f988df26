#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"

#include "replayer/eval/comparison.h"
#include "tools/reenact/io/junit.h"
#include "tools/reenact/io/measure_text.h"
#include "tools/reenact/io/write_file.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

using eval::CompareVerdict;
using eval::Comparison;
using eval::EvalResults;
using eval::MetricComparison;

constexpr double kConfidence = 0.95;

struct CompareOptions {
  std::string a;
  std::string b;
  std::string junit;
  bool force = false;
};

absl::StatusOr<EvalResults> ReadResults(const std::string& path) {
  const auto text = ReadFile(path);
  if (!text.ok()) return text.status();
  auto results = eval::ParseResults(*text);
  if (results.ok()) return results;
  return absl::Status(results.status().code(),
                      absl::StrCat(path, ": ", results.status().message()));
}

std::string VerdictText(const Comparison& comparison) {
  switch (comparison.verdict) {
    case CompareVerdict::kABetter:
      return "A is better";
    case CompareVerdict::kBBetter:
      return "B is better";
    case CompareVerdict::kNoDifference:
      return "no difference is seen";
    case CompareVerdict::kInconclusive:
      break;
  }
  return "inconclusive: " + comparison.inconclusive_because;
}

std::string RenderMetric(const MetricComparison& metric) {
  const auto& paired = metric.paired;
  std::string out = absl::StrCat(
      "  ", metric.metric, "\n    A ", MeasureText(paired.mean_a), "  95 % ",
      IntervalText(paired.interval_a), "    B ", MeasureText(paired.mean_b), "  95 % ",
      IntervalText(paired.interval_b), "\n    A - B ", MeasureText(paired.diff), "  paired 95 % ",
      IntervalText(metric.has_table ? metric.table_difference.tango : paired.interval), "\n    ",
      metric.decided_by, ": p ", MeasureText(metric.p), ", adjusted ",
      MeasureText(metric.adjusted));
  if (paired.p.ok() && metric.decided_by != "paired t")
    absl::StrAppend(&out, "; paired t: p ", MeasureText(paired.p));
  if (paired.correlation.ok())
    absl::StrAppend(&out, "; correlation ", MeasureText(paired.correlation));
  absl::StrAppend(&out, "\n    overlap of the two intervals says: ", metric.overlap_says, "\n");
  if (!metric.explanation.empty())
    absl::StrAppend(&out, "      which disagrees: ", metric.explanation, "\n");
  if (metric.detectable.ok()) {
    absl::StrAppend(&out, "    a difference of ", MeasureText(metric.detectable),
                    " would be seen with 80 % probability\n");
  }
  return out;
}

std::string ListText(const std::vector<std::string>& ids) {
  constexpr size_t kShown = 5;
  std::string out;
  for (size_t i = 0; i < ids.size() && i < kShown; ++i)
    absl::StrAppend(&out, i == 0 ? "" : ", ", Shortened(ids[i], 40));
  if (ids.size() > kShown) absl::StrAppend(&out, " and ", ids.size() - kShown, " more");
  return out;
}

std::string Render(const Comparison& comparison, const Style& style) {
  std::string out =
      absl::StrCat(style(Ink::kBold, VerdictText(comparison)), "\n  mode ",
                   std::string(ToString(comparison.mode)), ", ", Counted(comparison.cases, "case"),
                   " on both sides, ", Counted(comparison.repeats, "answer"),
                   " each; question: would new cases of this kind be answered better?\n");
  if (comparison.small_sample)
    absl::StrAppend(&out, "  exploratory: fewer than ", analysis::kSmallSample, " cases\n");
  for (const auto& [name, ids] : {std::pair{"A", &comparison.only_a}, {"B", &comparison.only_b}}) {
    if (!ids->empty()) absl::StrAppend(&out, "  only in ", name, ": ", ListText(*ids), "\n");
  }
  if (comparison.missing_a + comparison.missing_b > 0) {
    absl::StrAppend(&out, "  without a grade, and left out: ", comparison.missing_a, " of A, ",
                    comparison.missing_b, " of B\n");
  }
  if (comparison.metrics.size() > 1)
    absl::StrAppend(&out, "  family of ", comparison.metrics.size(), " metrics (Holm)\n");
  for (const MetricComparison& metric : comparison.metrics) out += RenderMetric(metric);
  return out;
}

void Write(const MetricComparison& metric, JsonWriter* json) {
  json->BeginObject();
  json->TextField("metric", metric.metric);
  MeasureField("mean_a", metric.paired.mean_a, json);
  MeasureField("mean_b", metric.paired.mean_b, json);
  IntervalField("interval_a", metric.paired.interval_a, json);
  IntervalField("interval_b", metric.paired.interval_b, json);
  MeasureField("difference", metric.paired.diff, json);
  IntervalField("difference_interval",
                metric.has_table ? metric.table_difference.tango : metric.paired.interval, json);
  MeasureField("paired_t_p", metric.paired.p, json);
  MeasureField("sign_flip_p", metric.flips.p, json);
  json->BoolField("sign_flip_exact", metric.flips.exact);
  json->TextField("decided_by", metric.decided_by);
  MeasureField("p", metric.p, json);
  MeasureField("p_holm", metric.adjusted, json);
  json->BoolField("significant", metric.significant);
  json->TextField("overlap_says", metric.overlap_says);
  json->GivenTextField("explanation", metric.explanation);
  MeasureField("detectable_difference", metric.detectable, json);
  json->EndObject();
}

void PrintJson(const Comparison& comparison) {
  JsonWriter json = JsonWriter::Document("compare");
  json.TextField("verdict", ToString(comparison.verdict));
  json.GivenTextField("inconclusive_because", comparison.inconclusive_because);
  json.TextField("mode", ToString(comparison.mode));
  json.IntField("cases", comparison.cases);
  json.IntField("repeats", comparison.repeats);
  json.BoolField("small_sample", comparison.small_sample);
  json.RealField("confidence", kConfidence);
  json.UintField("seed", analysis::kDefaultSeed);
  json.TextsField("only_a", comparison.only_a);
  json.TextsField("only_b", comparison.only_b);
  json.IntField("missing_a", comparison.missing_a);
  json.IntField("missing_b", comparison.missing_b);
  json.Key("metrics");
  json.BeginArray();
  for (const MetricComparison& metric : comparison.metrics) Write(metric, &json);
  json.EndArray();
  json.EndObject();
  Print(json.Take());
}

// For CI: the comparison fails where B is worse.
JunitSuite SuiteOf(const Comparison& comparison) {
  JunitSuite suite{.name = "reenact compare", .cases = {}};
  for (const MetricComparison& metric : comparison.metrics) {
    JunitCase entry{.name = metric.metric};
    if (comparison.verdict == CompareVerdict::kInconclusive)
      entry.error = comparison.inconclusive_because;
    else if (metric.significant && metric.paired.diff.value() > 0)
      entry.failure = "B is worse: A - B " + MeasureText(metric.paired.diff) + ", p " +
                      MeasureText(metric.adjusted);
    suite.cases.push_back(std::move(entry));
  }
  return suite;
}

int Compare(const CompareOptions& options, const Context& context) {
  const auto a = ReadResults(options.a);
  if (!a.ok()) return Fail(context, a.status());
  const auto b = ReadResults(options.b);
  if (!b.ok()) return Fail(context, b.status());
  if (const absl::Status comparable = Comparable(*a, *b); !comparable.ok()) {
    if (!options.force) return Fail(context, comparable);
    Note(context, absl::StrCat("compared all the same: ", comparable.message()));
  }
  const Comparison comparison = Compare(*a, *b);
  if (context.json)
    PrintJson(comparison);
  else
    Print(Render(comparison, context.style));
  if (!options.junit.empty()) {
    const absl::Status written = WriteFile(options.junit, JunitText({SuiteOf(comparison)}), true);
    if (!written.ok()) return Fail(context, written);
  }
  switch (comparison.verdict) {
    case CompareVerdict::kNoDifference:
      return kExitOk;
    case CompareVerdict::kInconclusive:
      return kExitInconclusive;
    case CompareVerdict::kABetter:
    case CompareVerdict::kBBetter:
      break;
  }
  return kExitFinding;
}

}  // namespace

void AddCompareVerb(CLI::App* app, Context* context) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* verb = AddVerb(
      app, context,
      {.name = "compare",
       .summary = "Is B another than A on the same cases? Paired, with what could have been seen",
       .example =
           "  reenact compare before.jsonl after.jsonl --junit compare.xml\n"
           "  reenact compare promptfoo-a.json promptfoo-b.json --json\n\n"
           "Results of `reenact eval`, of promptfoo (JSON), or a table: CSV, or a JSON object a\n"
           "line, with case, repeat, and score or pass. Fewer than 5 answers a case, other cases,\n"
           "another grader, mixed modes, and one endpoint in two fingerprint epochs are refused.\n"
           "Exit code 1: they differ; 2: refused; 3: too much is missing.",
       .takes_store = false},
      [options, context] { return Compare(*options, *context); });
  verb->add_option("A", options->a, "results of the one")->required();
  verb->add_option("B", options->b, "results of the other")->required();
  verb->add_option("--junit", options->junit, "write JUnit XML as well: fails where B is worse")
      ->type_name("FILE");
  verb->add_flag("--force", options->force, "compare what would be refused, and say so");
}

}  // namespace reenact::tools
