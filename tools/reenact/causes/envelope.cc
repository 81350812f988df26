#include "replayer/explain/envelope.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "local_engine/engine.h"
#include "schema/sha256.h"
#include "tools/reenact/causes/envelope_text.h"
#include "tools/reenact/causes/known_answers.h"
#include "tools/reenact/causes/scheduled_call.h"
#include "tools/reenact/engine/engine_model.h"
#include "tools/reenact/open_store.h"
#include "tools/reenact/record/interruption.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

using explain::ScheduledAnswer;
using local_engine::StockSchedule;

// Keys and values lie in pages of so many positions; the prefix cache gives whole ones.
constexpr int32_t kPagePositions = 32;

struct EnvelopeFlags {
  std::string run;
  std::optional<int64_t> step;
  ModelFlags model;
  int64_t max_runs = 200;
  std::optional<double> noise_nats;
  std::string resume;
};

absl::StatusOr<size_t> FindCall(const schema::RecordedRun& run,
                                const std::optional<int64_t>& step) {
  if (step) {
    const auto index = static_cast<size_t>(*step);
    if (index < run.events.size() && run.events[index].boundary == schema::Boundary::kModel) {
      return index;
    }
    return absl::InvalidArgumentError("event " + std::to_string(*step) + " is no model call");
  }
  for (size_t i = 0; i < run.events.size(); ++i) {
    if (run.events[i].boundary == schema::Boundary::kModel) return i;
  }
  return absl::NotFoundError("the run has no model call");
}

// Whole pages of the prompt that another request may have left in the cache: none, one, half of
// them, all.
std::vector<int32_t> CachedKeys(size_t prompt_tokens) {
  const auto pages = static_cast<int32_t>((prompt_tokens - 1) / kPagePositions);
  std::vector<int32_t> keys = {0};
  for (const int32_t count : {1, pages / 2, pages}) {
    if (count > 0 && count <= pages && count * kPagePositions > keys.back()) {
      keys.push_back(count * kPagePositions);
    }
  }
  return keys;
}

absl::StatusOr<ScheduledAnswer> AnswerOfN1(const EnvelopeFlags& flags, const Context& context,
                                           const schema::Event& call) {
  ModelFlags model = flags.model;
  model.profile = "n1";
  const auto engine = LoadEngine(model, context);
  if (!engine.ok()) return engine.status();
  const auto prepared = ScheduledCall::Make(engine->get(), call);
  return prepared.ok() ? prepared->Answer({}) : prepared.status();
}

absl::Status Fill(const EnvelopeFlags& flags, const Context& context, const schema::Event& call,
                  EnvelopeReport* report) {
  const auto n1 = AnswerOfN1(flags, context, call);
  if (!n1.ok()) return n1.status();
  ModelFlags stock = flags.model;
  stock.profile = "stock";
  const auto engine = LoadEngine(stock, context);
  if (!engine.ok()) return engine.status();
  report->fingerprint = (*engine)->identity().Fingerprint();
  const auto model = ScheduledCall::Make(engine->get(), call);
  if (!model.ok()) return model.status();
  const local_engine::Request& request = model->request();
  report->draws = request.sampling.temperature > 0 && request.sampling.top_k != 1;

  const RecordedAnswer recorded = ReadRecordedAnswer(call);
  if (recorded.schedule) {
    report->has_schedule = true;
    const auto again = model->Answer(*recorded.schedule);
    report->schedule_reproduces = again.ok() && model->Is(*again, recorded);
  }
  auto known =
      KnownAnswers::Open(flags.resume, report->fingerprint + " " +
                                           schema::ToHex(schema::HashBytes(call.request.bytes)));
  if (!known.ok()) return known.status();
  auto envelope = explain::FindEnvelope(
      explain::SettingsOfLoads(CachedKeys(request.prompt.size())),
      {.prompt_tokens = static_cast<int32_t>(request.prompt.size()),
       .max_tokens = request.max_tokens,
       .max_runs = flags.max_runs,
       .noise_nats = flags.noise_nats,
       .branches = !report->draws,
       .interrupted = Interruption::Happened},
      [&](const StockSchedule& schedule) {
        return known->Answer(schedule, [&] { return model->Answer(schedule); });
      });
  if (!envelope.ok()) return envelope.status();
  report->envelope = *std::move(envelope);
  report->n1_text = n1->text;
  report->n1_is_recorded = model->Is(*n1, recorded);
  for (size_t i = 0; i < report->envelope.answers.size(); ++i) {
    const ScheduledAnswer& answer = report->envelope.answers[i].answer;
    if (model->Is(answer, recorded)) report->recorded = i;
    if (answer.tokens == n1->tokens) report->n1 = i;
  }
  return absl::OkStatus();
}

int RunEnvelope(const EnvelopeFlags& flags, const Context& context) {
  auto reader = OpenStore(context);
  if (!reader.ok()) return Fail(context, reader.status());
  const auto run = LoadRun(reader->get(), flags.run);
  if (!run.ok()) return FailReading(context, **reader, run.status());
  NoteProblems(context, (*reader)->problems());
  const auto call = FindCall(*run, flags.step);
  if (!call.ok()) return Fail(context, call.status());
  const Interruption interruption;  // What was found by then is reported.
  EnvelopeReport report;
  report.run = schema::ToString(run->run.id);
  report.event = *call;
  const absl::Status filled = Fill(flags, context, run->events[*call], &report);
  if (!filled.ok()) return Fail(context, filled);
  if (context.json) {
    JsonWriter json = JsonWriter::Document("envelope");
    WriteEnvelope(report, &json);
    json.EndObject();
    Print(json.Take());
  } else {
    Print(RenderEnvelope(report, context.style));
  }
  if (!report.recorded && !report.schedule_reproduces && !report.n1_is_recorded) {
    return kExitInconclusive;
  }
  const bool others = report.envelope.answers.size() > 1 || !report.recorded;
  return others ? kExitFinding : kExitOk;
}

}  // namespace

void AddEnvelopeVerb(CLI::App* app, Context* context) {
  auto flags = std::make_shared<EnvelopeFlags>();
  CLI::App* verb = AddVerb(
      app, context,
      {.name = "envelope",
       .summary = "Which answers to a recorded call other load reaches, on the local engine",
       .example =
           "  reenact envelope last --model models/refund-1\n"
           "  reenact envelope 01JNXW --step 6 --model models/refund-1 --max-runs 1000\n"
           "\n"
           "The call is computed by profile stock under the settings that 1 to 256 rows bring "
           "about,\n"
           "and where a margin is below the noise that was measured, with the setting changed "
           "there.\n"
           "What is reached is possible; only a recorded schedule proves it. Exit code 0: the\n"
           "recorded answer and no other; 1: another one; 3: the recorded one was not reached."},
      [flags, context] { return RunEnvelope(*flags, *context); });
  verb->add_option("RUN", flags->run, "an id, a unique prefix of one, or last")->required();
  verb->add_option("--step", flags->step,
                   "the call, by its number in reenact show; else the first model call")
      ->check(InRange(0, 1'000'000'000))
      ->type_name("K");
  AddModelFlags(verb, &flags->model);
  verb->add_option("--max-runs", flags->max_runs, "compute the answer no more than so many times")
      ->check(InRange(1, 1'000'000))
      ->type_name("N")
      ->capture_default_str();
  verb->add_option("--resume", flags->resume,
                   "keep what was computed in this file, and compute nothing again that is in it")
      ->type_name("FILE");
  verb->add_option("--noise", flags->noise_nats,
                   "branch below this margin, in nats, instead of the measured noise")
      ->check(CLI::Range(0.0, 100.0))
      ->type_name("NATS");
}

}  // namespace reenact::tools
