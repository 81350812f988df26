#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "replayer/eval/eval_report.h"
#include "replayer/eval/results.h"
#include "tools/reenact/io/junit.h"
#include "tools/reenact/io/measure_text.h"
#include "tools/reenact/io/write_file.h"
#include "tools/reenact/monitor/eval_output.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

using eval::CaseReport;
using eval::EvalReport;
using eval::EvalResults;

struct ReportFlags {
  std::string results;
  EvalOutput output;
};

std::string PlusMinus(const analysis::Measure& mean, const analysis::Measure& deviation) {
  return MeasureText(mean) + (deviation.ok() ? " ± " + MeasureText(deviation) : "");
}

std::string PassesText(const EvalReport& report) {
  std::string out;
  for (size_t i = 0; i < report.pass_at.size(); ++i) {
    const int64_t k = report.pass_at[i].first;
    absl::StrAppend(&out, out.empty() ? "" : "   ", "pass@", k, " ",
                    MeasureText(report.pass_at[i].second), "  pass^", k, " ",
                    MeasureText(report.pass_hat[i].second));
  }
  return out;
}

std::string ModeText(const EvalReport& report) {
  if (report.mode == eval::Mode::kBitwise)
    return "mode A: the target gives equal bytes, one answer a case is enough";
  std::string out = report.repeats == 0
                        ? "mode B: cases have different numbers of answers"
                        : absl::StrCat("mode B: ", report.repeats, " answers for each case");
  if (report.all_equal)
    absl::StrAppend(&out, ", all of them equal: they count as one (effective n 1)");
  return out;
}

std::string CaseText(const CaseReport& of) {
  std::string out = absl::StrCat("    ", PadRight(Shortened(of.id, 36), 36), "  ", of.passes, "/",
                                 of.runs, "  Wilson ", IntervalText(of.flakiness.pass_rate));
  if (of.flakiness.flip_rate.ok() && of.flakiness.flip_rate.value() > 0)
    absl::StrAppend(&out, "  flips ", MeasureText(of.flakiness.flip_rate));
  if (of.least_margin.ok())
    absl::StrAppend(&out, "  least margin ", MeasureText(of.least_margin), " nats");
  return out + "\n";
}

std::string CasesText(const char* title, const std::vector<const CaseReport*>& cases) {
  if (cases.empty()) return "";
  constexpr size_t kShown = 20;
  std::string out = absl::StrCat("  ", title, "\n");
  for (size_t i = 0; i < cases.size() && i < kShown; ++i) out += CaseText(*cases[i]);
  if (cases.size() > kShown)
    absl::StrAppend(&out, "    and ", cases.size() - kShown, " more; --json has them all\n");
  return out;
}

std::string Render(const EvalResults& results, const EvalReport& report, const Style& style) {
  const std::string name = results.header.name.empty() ? "eval" : results.header.name;
  std::string out =
      style(Ink::kBold, absl::StrCat(Printable(name), ": ",
                                     PlusMinus(report.variance.mean, report.run_deviation))) +
      "\n";
  if (!report.inconclusive_because.empty())
    absl::StrAppend(&out, style(Ink::kYellow, "  inconclusive: " + report.inconclusive_because),
                    "\n");
  absl::StrAppend(&out, "  ", ModeText(report), "\n  ",
                  Counted(static_cast<int64_t>(report.cases.size()), "case"), ", ",
                  Counted(report.graded, "graded answer"));
  for (const auto& [status, count] : report.missing)
    absl::StrAppend(&out, ", ", count, " ", Printable(status));
  absl::StrAppend(&out, "\n  mean of this suite, asked again: 95 % ",
                  IntervalText(report.this_suite), "\n  mean of new cases of this kind:  95 % ",
                  IntervalText(report.new_questions), "\n  pass rate ",
                  MeasureText(report.pass_rate_value), "  Wilson 95 % ",
                  IntervalText(report.pass_rate));
  if (!report.missing.empty())
    absl::StrAppend(&out, ", ", MeasureText(report.pessimistic_pass_rate),
                    " if what is missing failed");
  absl::StrAppend(&out, "\n  ", PassesText(report), "\n");
  if (report.judge_deviation.ok())
    absl::StrAppend(&out, "  the judge's own noise: ", MeasureText(report.judge_deviation),
                    " (deviation of one reading)\n");
  out += CasesText("flaky", report.Flaky());
  out += CasesText("near-ties", report.NearTies());
  return out;
}

void Write(const CaseReport& of, JsonWriter* json) {
  json->BeginObject();
  json->TextField("case", of.id);
  json->IntField("runs", of.runs);
  json->IntField("passes", of.passes);
  json->IntField("missing", of.missing);
  json->IntField("unique_answers", of.unique_answers);
  MeasureField("mean", of.mean, json);
  IntervalField("wilson", of.flakiness.pass_rate, json);
  MeasureField("flip_rate", of.flakiness.flip_rate, json);
  MeasureField("hidden_upper", of.flakiness.hidden_upper, json);
  json->BoolField("flaky", of.flakiness.stability == analysis::CaseStability::kFlaky);
  json->BoolField("near_tie", of.near_tie);
  MeasureField("least_margin_nats", of.least_margin, json);
  MeasureField("judge_deviation", of.judge_deviation, json);
  json->EndObject();
}

void PrintJson(const EvalResults& results, const EvalReport& report, const EvalOutput& output,
               const Context& context) {
  JsonWriter json = JsonWriter::Document(context.verb);
  json.TextField("name", results.header.name);
  json.TextField("mode", ToString(report.mode));
  json.TextField("target", results.header.target);
  json.GivenTextField("source", results.header.source);
  json.GivenTextField("inconclusive_because", report.inconclusive_because);
  json.IntField("repeats", report.repeats);
  json.RealField("effective_repeats", report.effective_repeats);
  json.IntField("graded", report.graded);
  json.Key("missing");
  json.BeginObject();
  for (const auto& [status, count] : report.missing) json.IntField(status, count);
  json.EndObject();
  MeasureField("mean", report.variance.mean, &json);
  MeasureField("sd_of_run_means", report.run_deviation, &json);
  IntervalField("this_suite", report.this_suite, &json);
  IntervalField("new_questions", report.new_questions, &json);
  MeasureField("icc", report.variance.icc, &json);
  MeasureField("instability", report.variance.instability, &json);
  MeasureField("pass_rate", report.pass_rate_value, &json);
  IntervalField("pass_rate_wilson", report.pass_rate, &json);
  json.RealField("pessimistic_pass_rate", report.pessimistic_pass_rate);
  json.Key("passes");
  json.BeginArray();
  for (size_t i = 0; i < report.pass_at.size(); ++i) {
    json.BeginObject();
    json.IntField("k", report.pass_at[i].first);
    MeasureField("pass_at_k", report.pass_at[i].second, &json);
    MeasureField("pass_hat_k", report.pass_hat[i].second, &json);
    json.EndObject();
  }
  json.EndArray();
  MeasureField("judge_deviation", report.judge_deviation, &json);
  json.Key("cases");
  json.BeginArray();
  for (const CaseReport& of : report.cases) Write(of, &json);
  json.EndArray();
  if (output.more_fields) output.more_fields(&json);
  json.EndObject();
  Print(json.Take());
}

JunitSuite SuiteOf(const EvalResults& results, const EvalReport& report) {
  JunitSuite suite{.name = results.header.name.empty() ? "eval" : results.header.name, .cases = {}};
  for (const CaseReport& of : report.cases) {
    JunitCase entry{.name = of.id};
    const std::string passed = absl::StrCat(of.passes, " of ", of.runs, " answers pass");
    if (of.runs == 0)
      entry.error = "no answer was graded";
    else if (of.passes < of.runs)
      entry.failure = of.passes == 0 ? passed : "flaky: " + passed;
    suite.cases.push_back(std::move(entry));
  }
  return suite;
}

int Report(const ReportFlags& flags, const Context& context) {
  const auto text = ReadFile(flags.results);
  if (!text.ok()) return Fail(context, text.status());
  const auto results = eval::ParseResults(*text);
  if (!results.ok()) {
    return Fail(context,
                absl::Status(results.status().code(),
                             absl::StrCat(flags.results, ": ", results.status().message())));
  }
  return PrintEval(*results, flags.output, context);
}

}  // namespace

void AddEvalOutputFlags(CLI::App* verb, EvalOutput* output) {
  verb->add_option("--fail-under", output->fail_under, "exit code 1 for a pass rate below this")
      ->type_name("RATE");
  verb->add_option("--junit", output->junit,
                   "write JUnit XML as well: a case fails unless all pass")
      ->type_name("FILE");
}

int PrintEval(const EvalResults& results, const EvalOutput& output, const Context& context) {
  const EvalReport report = eval::ReportOn(results);
  if (context.json)
    PrintJson(results, report, output, context);
  else
    Print(Render(results, report, context.style) + output.more_text);
  if (!output.junit.empty()) {
    const absl::Status written =
        WriteFile(output.junit, JunitText({SuiteOf(results, report)}), true);
    if (!written.ok()) return Fail(context, written);
  }
  if (!report.inconclusive_because.empty()) return kExitInconclusive;
  return report.pass_rate_value.value() < output.fail_under ? kExitFinding : kExitOk;
}

void AddEvalVerb(CLI::App* app, Context* context) {
  CLI::App* verb =
      app->add_subcommand("eval", "Cases asked several times, graded and judged: run, report");
  verb->require_subcommand(1);
  AddEvalRunVerb(verb, context);
  auto flags = std::make_shared<ReportFlags>();
  CLI::App* report = AddVerb(
      verb, context,
      {.name = "report",
       .summary = "Means, intervals, pass@k and pass^k, flaky cases and near-ties of results",
       .example =
           "  reenact eval report results.jsonl --fail-under 0.9 --junit eval.xml\n"
           "  reenact eval report promptfoo.json --json\n\n"
           "Results of promptfoo (JSON), or a table: CSV, or a JSON object a line, with case,\n"
           "repeat, and score or pass. Fewer than 5 answers a case are inconclusive (exit code 3).",
       .takes_store = false},
      [flags, context] { return Report(*flags, *context); });
  report->add_option("RESULTS", flags->results, "a file")->required();
  AddEvalOutputFlags(report, &flags->output);
}

}  // namespace reenact::tools
