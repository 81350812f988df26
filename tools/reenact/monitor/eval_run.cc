#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "replayer/eval/eval_runner.h"
#include "replayer/identity/fingerprint_timeline.h"
#include "store/reader/sighting.h"
#include "tools/reenact/causes/target_flags.h"
#include "tools/reenact/io/progress.h"
#include "tools/reenact/io/write_file.h"
#include "tools/reenact/monitor/command_grader.h"
#include "tools/reenact/monitor/eval_output.h"
#include "tools/reenact/monitor/results_file.h"
#include "tools/reenact/record/interruption.h"
#include "tools/reenact/record/own_run.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

struct EvalRunFlags {
  TargetFlags target;
  std::string cases;
  std::string out;
  std::string name;
  std::string mode = "B";
  std::optional<int64_t> repeats;  // Of each mode its own.
  int64_t at_once = 4;
  int64_t answer_tokens = 512;
  std::optional<double> temperature;
  std::optional<int64_t> seed;
  bool no_logprobs = false;
  double threshold = 1;
  int64_t command_seconds = 60;
  std::string judge;          // Its target; empty: the one that is judged.
  std::string judge_as;       // Its model.
  std::string judge_key_env;  // The variable that holds its key.
  int64_t judge_repeats = 3;
  bool no_record = false;
  EvalOutput output;

  bool bitwise() const { return mode == "A"; }
};

// Who answers and who judges; one ledger pays for both.
struct Asked {
  std::unique_ptr<rerun::Target> target;
  std::unique_ptr<rerun::Target> own_judge;  // Null: the target judges as well.

  rerun::Target* judge() const { return own_judge ? own_judge.get() : target.get(); }
};

std::string ModelAsked(const TargetFlags& flags) {
  return flags.ask_for.empty() && flags.target == "local" ? "local" : flags.ask_for;
}

std::string JudgeModel(const EvalRunFlags& flags) {
  return flags.judge_as.empty() ? ModelAsked(flags.target) : flags.judge_as;
}

absl::StatusOr<Asked> MakeAsked(const EvalRunFlags& flags, const Context& context,
                                rerun::Ledger* ledger) {
  if (ModelAsked(flags.target).empty())
    return absl::InvalidArgumentError("which model should be asked? --as MODEL says it");
  Asked asked;
  auto target = MakeTarget(flags.target, nullptr, context, ledger);
  if (!target.ok()) return target.status();
  asked.target = *std::move(target);
  if (flags.judge.empty()) return asked;
  TargetFlags judge_flags = flags.target;
  judge_flags.target = flags.judge;
  judge_flags.key_env = flags.judge_key_env;
  auto judge = MakeTarget(judge_flags, nullptr, context, ledger);
  if (!judge.ok()) return judge.status();
  asked.own_judge = *std::move(judge);
  return asked;
}

absl::StatusOr<eval::ResultHeader> Describe(const EvalRunFlags& flags, const std::string& text,
                                            const std::vector<eval::Case>& cases,
                                            const Asked& asked) {
  const bool invariant = asked.target->is_invariant();
  const int64_t repeats = flags.repeats.value_or(flags.bitwise() ? 1 : eval::kLeastRepeats);
  if (flags.bitwise() && !invariant) {
    return absl::FailedPreconditionError(
        "mode A needs a target whose answers are a function of the request by construction (local, "
        "profile n1); this one has to be sampled: --mode B");
  }
  if (!flags.bitwise() && repeats < eval::kLeastRepeats) {
    return absl::FailedPreconditionError(
        absl::StrCat("mode B needs at least ", eval::kLeastRepeats, " answers for each case (-n ",
                     eval::kLeastRepeats, "): what passes 9 times of 10 looks sound in fewer"));
  }
  const std::string judge = absl::StrCat("by ", JudgeModel(flags), " at ", asked.judge()->Name());
  return eval::ResultHeader{
      .name = flags.name.empty() ? std::filesystem::path(flags.cases).stem().string() : flags.name,
      .mode = flags.bitwise() ? eval::Mode::kBitwise : eval::Mode::kDistribution,
      .target = asked.target->Name(),
      .model = ModelAsked(flags.target),
      .cases = MarkOf(text),
      .grader = eval::GradersOf(cases, judge),
      .repeats = repeats,
      .threshold = flags.threshold,
      .invariant = invariant};
}

eval::AskPlan PlanOf(const EvalRunFlags& flags, const eval::ResultHeader& header,
                     const Asked& asked) {
  eval::AskPlan plan;
  plan.target = asked.target.get();
  plan.settings = {.model = header.model,
                   .max_tokens = flags.answer_tokens,
                   .temperature = flags.temperature,
                   .seed = flags.seed,
                   .top_logprobs = flags.no_logprobs ? 0 : 2};
  // Without a seed it would draw the same answer each time.
  if (header.invariant && !plan.settings.seed) plan.settings.seed = 0;
  plan.repeats = header.repeats;
  plan.at_once = flags.at_once;
  plan.threshold = flags.threshold;
  plan.judge = asked.judge();
  plan.judge_settings = {.model = JudgeModel(flags), .max_tokens = flags.answer_tokens};
  if (plan.judge->is_invariant()) plan.judge_settings.seed = 0;
  plan.judge_repeats = flags.judge_repeats;
  plan.run_command = [limit_ms = flags.command_seconds * 1000](const eval::Case& of,
                                                               const std::string& answer) {
    return GradeByCommand(of, answer, limit_ms);
  };
  plan.interrupted = Interruption::Happened;
  return plan;
}

OwnRun RecordOf(const eval::ResultHeader& header, const std::string& cases_text,
                std::vector<schema::Event> calls) {
  OwnRun own;
  own.service = absl::StrCat(std::string(identity::kEvalService), header.name);
  own.entry = "reenact eval run";
  own.tags = {{store::kPurposeTag, "eval"},
              {store::kPurposeNameTag, header.name},
              {"reenact.mode", std::string(ToString(header.mode))}};
  // One answer is a judgement where the target cannot give another.
  if (header.mode == eval::Mode::kBitwise)
    own.tags.emplace_back(store::kEvalBitwiseTag, "bytes");
  else
    own.tags.emplace_back(store::kEvalRepeatsTag, std::to_string(header.repeats));
  own.components = {OwnComponent("eval_data", header.name, cases_text),
                    OwnComponent("grader", header.name, header.grader)};
  if (header.grader.find(ToString(eval::GraderKind::kJudge)) != std::string::npos) {
    own.components.push_back(OwnComponent(
        "judge_prompt", header.name,
        eval::JudgeMessages({.id = "", .messages = "{messages}", .expected = "{criterion}"},
                            "{answer}")));
  }
  own.calls = std::move(calls);
  return own;
}

int EvalRun(const EvalRunFlags& flags, const Context& context) {
  const auto begin = std::chrono::steady_clock::now();
  const auto text = ReadFile(flags.cases);
  if (!text.ok()) return Fail(context, text.status());
  const auto cases = eval::ParseCases(*text);
  if (!cases.ok()) {
    return Fail(context, absl::Status(cases.status().code(),
                                      absl::StrCat(flags.cases, ": ", cases.status().message())));
  }
  const Interruption interruption;
  rerun::Ledger ledger(BudgetOf(flags.target));
  const auto asked = MakeAsked(flags, context, &ledger);
  if (!asked.ok()) return Fail(context, asked.status());
  const auto header = Describe(flags, *text, *cases, *asked);
  if (!header.ok()) return Fail(context, header.status());
  auto file = ResultsFile::Open(flags.out, *header);
  if (!file.ok()) return Fail(context, file.status());

  std::vector<schema::Event> calls;
  {
    Progress progress(context.progress, "asking");
    AskCases(*cases, file->samples(), PlanOf(flags, *header, *asked),
             [&](eval::AskedSample sample, int64_t done, int64_t total) {
               file->Keep(sample.result);
               for (schema::Event& call : sample.calls) calls.push_back(std::move(call));
               progress.Show(done, total);
             });
  }
  const auto results = file->Finish();
  if (!results.ok()) return Fail(context, results.status());
  std::string kept;
  if (!flags.no_record && !calls.empty()) {
    const auto id = KeepOwnRun(RecordOf(*header, *text, std::move(calls)), context);
    if (!id.ok()) return Fail(context, id.status());
    kept = *id;
  }

  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EvalOutput output = flags.output;
  output.more_text = absl::StrCat("  cost ", CostText(ledger.total(), seconds), "\n");
  if (!kept.empty()) absl::StrAppend(&output.more_text, "  recorded as ", kept, "\n");
  output.more_fields = [&](JsonWriter* json) {
    json->TextField("results", flags.out);
    WriteCost(ledger.total(), seconds, json);
    json->BoolField("budget_spent", ledger.ran_out());
    json->GivenTextField("run", kept);
  };
  const int exit_code = PrintEval(*results, output, context);
  const auto wanted = static_cast<int64_t>(cases->size()) * header->repeats;
  const auto there = static_cast<int64_t>(results->samples.size());
  if (there == wanted) return exit_code;
  Note(context,
       absl::StrCat(ledger.ran_out() ? "the budget is spent" : "interrupted", ": ", wanted - there,
                    " of ", wanted, " answers are missing; the same command goes on from here"));
  return kExitInconclusive;
}

void AddAnswerFlags(CLI::App* verb, EvalRunFlags* flags) {
  verb->add_option("--mode", flags->mode,
                   "A: one answer proves, of a target that gives equal bytes; B: a distribution")
      ->check(CLI::IsMember({"A", "B"}))
      ->capture_default_str();
  verb->add_option("-n", flags->repeats, "answers for each case; in mode B 5 at least")
      ->check(InRange(1, 1000))
      ->type_name("N");
  verb->add_option("--at-once", flags->at_once, "questions under way at a time")
      ->check(InRange(1, 256))
      ->type_name("N")
      ->capture_default_str();
  verb->add_option("--answer-tokens", flags->answer_tokens, "most tokens of one answer")
      ->check(InRange(1, 1 << 20))
      ->type_name("N")
      ->capture_default_str();
  verb->add_option("--temperature", flags->temperature, "else the target's own")->type_name("T");
  verb->add_option("--seed", flags->seed, "of the first repeat of a case; the next has the next")
      ->type_name("N");
  verb->add_flag("--no-logprobs", flags->no_logprobs,
                 "for targets that refuse them: near-ties are then unknown");
}

void AddGraderFlags(CLI::App* verb, EvalRunFlags* flags) {
  verb->add_option("--threshold", flags->threshold, "a score from here on passes")
      ->type_name("SCORE")
      ->capture_default_str();
  verb->add_option("--command-timeout", flags->command_seconds, "seconds for a grading command")
      ->check(InRange(1, 86400))
      ->type_name("N")
      ->capture_default_str();
  verb->add_option("--judge", flags->judge, "who judges: local or a URL; else the target itself")
      ->type_name("local|URL");
  verb->add_option("--judge-as", flags->judge_as, "the judge's model; else that of --as")
      ->type_name("MODEL");
  verb->add_option("--judge-key-env", flags->judge_key_env, "the variable that holds its key")
      ->type_name("NAME");
  verb->add_option("--judge-repeats", flags->judge_repeats, "so often a judge reads an answer")
      ->check(InRange(1, 100))
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace

void AddEvalRunVerb(CLI::App* eval, Context* context) {
  auto flags = std::make_shared<EvalRunFlags>();
  CLI::App* verb = AddVerb(
      eval, context,
      {.name = "run",
       .summary = "Asks a target each case several times and grades the answers",
       .example =
           "  reenact eval run cases.jsonl --target http://127.0.0.1:8000/v1 --as m --out m.jsonl\n"
           "  reenact eval run cases.jsonl --target local --model DIR --mode A --out m.jsonl\n\n"
           "A case is a JSON object a line: id, prompt (and system) or messages, and one of\n"
           "exact, regex, json_schema, command (the answer is its input; exit status 0 passes,\n"
           "1 fails) and judge (a criterion). Asked in the dialect of OpenAI's chats. Begun\n"
           "again with the same --out, it goes on where it stopped. The calls, the cases, the\n"
           "graders and the judge's prompt are kept in the store.\n"
           "Of JSON Schema: type, enum, const, properties, required, additionalProperties, items,\n"
           "minimum, maximum, min and max of length and items, pattern, anyOf, allOf, oneOf, not;\n"
           "a case with another keyword that restricts is refused."},
      [flags, context] { return EvalRun(*flags, *context); });
  verb->add_option("CASES", flags->cases, "a JSON object a line")->required();
  AddTargetFlags(verb, &flags->target);
  verb->add_option("-o,--out", flags->out, "the results, for eval report and compare")
      ->required()
      ->type_name("FILE");
  verb->add_option("--name", flags->name, "what to call it; else as the file of cases")
      ->type_name("NAME");
  AddAnswerFlags(verb, flags.get());
  AddGraderFlags(verb, flags.get());
  verb->add_flag("--no-record", flags->no_record, "keep the calls out of the store");
  AddEvalOutputFlags(verb, &flags->output);
}

}  // namespace reenact::tools
