#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "replayer/rerun/diagnosis.h"
#include "tools/reenact/causes/diagnosis_text.h"
#include "tools/reenact/causes/report_pages.h"
#include "tools/reenact/causes/target_flags.h"
#include "tools/reenact/io/progress.h"
#include "tools/reenact/open_store.h"
#include "tools/reenact/record/interruption.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

struct DiagnoseFlags {
  TargetFlags target;
  std::string run;
  rerun::DiagnosisOptions options;
  bool no_price = false;
  std::string html;
};

// Of the measurement of what determinism costs.
constexpr int64_t kPriceAnswers = 8;
constexpr int64_t kPriceTokens = 64;

// The model calls of a run as the questions to ask; without a run, our own.
absl::StatusOr<std::vector<rerun::Prompt>> PromptsFor(const DiagnoseFlags& flags,
                                                      const Context& context) {
  if (flags.run.empty()) {
    const std::string& target = flags.target.target;
    const bool local = target == "local";
    if (!local && flags.target.ask_for.empty()) {
      return absl::InvalidArgumentError("which model should be asked? --as MODEL says it");
    }
    const bool anthropic = target.find("anthropic") != std::string::npos;
    return rerun::OwnPrompts(
        anthropic ? schema::ModelDialect::kAnthropicMessages : schema::ModelDialect::kOpenAiChat,
        flags.target.ask_for.empty() ? "local" : flags.target.ask_for);
  }
  auto reader = OpenStore(context);
  if (!reader.ok()) return reader.status();
  auto tape = LoadRun(reader->get(), flags.run);
  if (!tape.ok()) return tape.status();
  std::vector<rerun::Prompt> prompts;
  for (size_t i = 0; i < tape->events.size(); ++i) {
    if (tape->events[i].boundary != schema::Boundary::kModel) continue;
    prompts.push_back({"call #" + std::to_string(i), tape->events[i]});
  }
  if (prompts.empty()) return absl::NotFoundError("the run has no model call");
  return prompts;
}

absl::StatusOr<double> TokensPerSecond(TargetFlags flags, const std::string& profile,
                                       const rerun::Prompt& prompt, const Context& context,
                                       rerun::Ledger* ledger) {
  flags.model.profile = profile;
  const auto target = MakeTarget(flags, nullptr, context, ledger);
  if (!target.ok()) return target.status();
  const rerun::Question question = rerun::QuestionOf(prompt.call, {.max_tokens = kPriceTokens});
  (void)(*target)->Ask(question);  // So that neither profile pays for cold memory.
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<rerun::Sample> samples = rerun::AskRepeatedly(
      target->get(), question, {.count = kPriceAnswers, .at_once = kPriceAnswers});
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  int64_t tokens = 0;
  for (const rerun::Sample* sample : rerun::Answered(samples)) {
    tokens += sample->cost.completion_tokens;
  }
  if (tokens == 0) return absl::UnavailableError("nothing was answered");
  return static_cast<double>(tokens) / seconds;
}

// Only the local engine computes the same both ways, so that only its price can be told.
std::optional<DeterminismPrice> MeasurePrice(const DiagnoseFlags& flags,
                                             const rerun::Prompt& prompt, const Context& context,
                                             rerun::Ledger* ledger) {
  if (flags.target.target != "local" || flags.no_price || Interruption::Happened()) {
    return std::nullopt;
  }
  const auto n1 = TokensPerSecond(flags.target, "n1", prompt, context, ledger);
  const auto stock = TokensPerSecond(flags.target, "stock", prompt, context, ledger);
  if (n1.ok() && stock.ok()) return DeterminismPrice{*n1, *stock};
  Note(context, "the price of determinism was not measured: " +
                    std::string((n1.ok() ? stock.status() : n1.status()).message()));
  return std::nullopt;
}

int ExitCodeOfDiagnosis(const rerun::Diagnosis& diagnosis) {
  if (!diagnosis.enough) return kExitInconclusive;
  return diagnosis.deterministic() ? kExitOk : kExitFinding;
}

int RunDiagnose(const DiagnoseFlags& flags, const Context& context) {
  const absl::StatusOr<std::vector<rerun::Prompt>> prompts = PromptsFor(flags, context);
  if (!prompts.ok()) return Fail(context, prompts.status());
  rerun::Ledger ledger(BudgetOf(flags.target));
  const schema::Event* call = flags.run.empty() ? nullptr : &prompts->front().call;
  const auto target = MakeTarget(flags.target, call, context, &ledger);
  if (!target.ok()) return Fail(context, target.status());

  const Interruption interruption;  // What was measured by then is reported.
  const auto begin = std::chrono::steady_clock::now();
  rerun::DiagnosisOptions options = flags.options;
  options.edits.logprobs = true;
  options.edits.token_ids = flags.target.token_ids || flags.target.target == "local";
  if (!flags.target.ask_for.empty()) options.edits.model = flags.target.ask_for;
  const rerun::Diagnosis diagnosis = [&] {
    Progress progress(context.progress, "asking");
    options.on_progress = [&](int64_t done, int64_t total) { progress.Show(done, total); };
    return rerun::Diagnose(*prompts, target->get(), options);
  }();
  const std::optional<DeterminismPrice> price =
      MeasurePrice(flags, prompts->front(), context, &ledger);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const absl::Status page = WriteHtml(
      flags.html,
      DiagnosisPage((*target)->Name(), diagnosis, RenderDiagnosis(**target, diagnosis, price, {})));
  if (!page.ok()) return Fail(context, page);
  if (context.json) {
    JsonWriter json = JsonWriter::Document("diagnose");
    WriteTarget(**target, &json);
    WriteDiagnosis(diagnosis, price, &json);
    WriteCost(ledger.total(), seconds, &json);
    json.BoolField("budget_spent", ledger.ran_out());
    json.EndObject();
    Print(json.Take());
  } else {
    Print(RenderDiagnosis(**target, diagnosis, price, context.style));
    Print("  cost            " + CostText(ledger.total(), seconds) + "\n");
    if (ledger.ran_out()) Print("  budget          spent before everything was asked\n");
  }
  return ExitCodeOfDiagnosis(diagnosis);
}

}  // namespace

void AddDiagnoseVerb(CLI::App* app, Context* context) {
  auto flags = std::make_shared<DiagnoseFlags>();
  CLI::App* verb = AddVerb(
      app, context,
      {.name = "diagnose",
       .summary = "How far a provider or a server can be trusted to say the same twice",
       .example =
           "  reenact diagnose --target http://127.0.0.1:8000/v1 --as qwen3-0.6b\n"
           "  reenact diagnose --target local --model models/qwen3-0.6b --max-requests 200\n"
           "  reenact diagnose --target api --run last -n 20\n"
           "\n"
           "Exit code 0: no two answers to a question differ; 1: some do; 3: fewer than five "
           "answers."},
      [flags, context] { return RunDiagnose(*flags, *context); });
  AddTargetFlags(verb, &flags->target);
  verb->add_option("--run", flags->run,
                   "ask what this run's model calls asked, in place of two prompts of our own")
      ->type_name("RUN");
  verb->add_option("-n", flags->options.repeats, "so many answers to each question at each load")
      ->check(InRange(1, 100'000))
      ->type_name("N")
      ->capture_default_str();
  verb->add_option("--loads", flags->options.loads,
                   "so many questions at a time, after being asked alone")
      ->check(InRange(1, 1024))
      ->delimiter(',')
      ->type_name("N,N")
      ->capture_default_str();
  verb->add_option("--lengths", flags->options.lengths, "of answers, at most, in tokens")
      ->check(InRange(1, 1 << 24))
      ->delimiter(',')
      ->type_name("N,N")
      ->capture_default_str();
  verb->add_flag("--no-price", flags->no_price,
                 "of the local engine: do not measure what profile n1 costs");
  AddHtmlFlag(verb, &flags->html);
}

}  // namespace reenact::tools
