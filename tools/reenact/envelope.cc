#include "replayer/explain/envelope.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "local_engine/engine.h"
#include "replayer/rerun/question.h"
#include "schema/json_view.h"
#include "schema/model_view.h"
#include "tools/engine_server/api_request.h"
#include "tools/engine_server/prepare_prompt.h"
#include "tools/engine_server/tool_call_text.h"
#include "tools/reenact/engine_model.h"
#include "tools/reenact/envelope_text.h"
#include "tools/reenact/interruption.h"
#include "tools/reenact/open_store.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

using explain::ScheduledAnswer;
using local_engine::Engine;
using local_engine::StockSchedule;

// Keys and values lie in pages of so many positions; the prefix cache gives whole ones.
constexpr int32_t kPagePositions = 32;
constexpr int32_t kAlternatives = 2;

struct EnvelopeFlags {
  std::string run;
  std::optional<int64_t> step;
  ModelFlags model;
  int64_t max_runs = 200;
  std::optional<double> noise_nats;
};

// What the record has of the answer, in the best terms that it offers.
struct RecordedAnswer {
  std::vector<int64_t> token_ids;
  std::string content;
  std::vector<schema::ToolCall> tool_calls;
  std::optional<StockSchedule> schedule;
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

// `serve --profile stock` gives it as a member of its choice, in a stream of the last one.
std::optional<StockSchedule> RecordedSchedule(std::string_view body) {
  constexpr std::string_view kMember = "\"schedule\":";
  const size_t at = body.find(kMember);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = body.substr(at + kMember.size());
  const size_t end = rest.find("]]");
  if (end == std::string_view::npos) return std::nullopt;
  auto schedule = local_engine::StockScheduleFromJson(rest.substr(0, end + 2));
  if (!schedule.ok() || schedule->empty()) return std::nullopt;
  return *std::move(schedule);
}

RecordedAnswer ReadRecorded(const schema::Event& call) {
  RecordedAnswer recorded;
  const schema::ModelView view = schema::ViewModelCall(call);
  if (view.choices.empty()) return recorded;
  const schema::Choice& choice = view.choices.front();
  recorded.token_ids = choice.token_ids;
  recorded.content = choice.content.value_or("");
  recorded.tool_calls = choice.tool_calls;
  recorded.schedule = RecordedSchedule(call.response.bytes);
  return recorded;
}

// The call, made ready for the engine.
class EnvelopeModel {
 public:
  static absl::StatusOr<EnvelopeModel> Make(Engine* engine, const schema::Event& call) {
    EnvelopeModel model(engine);
    const rerun::Question question = rerun::QuestionOf(call, {});
    const bool chat = question.dialect == schema::ModelDialect::kOpenAiChat;
    if (!chat && question.dialect != schema::ModelDialect::kOpenAiCompletions) {
      return absl::InvalidArgumentError("the local engine does not speak " +
                                        std::string(ToString(question.dialect)));
    }
    engine_server::ApiRequest request;
    auto error = engine_server::ReadRequest(
        chat ? engine_server::Endpoint::kChat : engine_server::Endpoint::kCompletions,
        question.request, &request);
    if (!error) error = engine_server::PreparePrompt(*engine, &request);
    if (error) return absl::InvalidArgumentError(error->message);
    model.tool_names_ = std::move(request.tool_names);
    model.request_ = std::move(request.engine_request);
    model.request_.sample_count = 1;
    model.request_.logprobs = true;
    model.request_.top_logprobs = std::max(model.request_.top_logprobs, kAlternatives);
    if (!model.request_.seed) model.request_.seed = 0;
    return model;
  }

  const local_engine::Request& request() const { return request_; }

  absl::StatusOr<ScheduledAnswer> Answer(const StockSchedule& schedule) const {
    local_engine::Request request = request_;
    request.schedule = schedule;
    const auto id = engine_->Submit(std::move(request));
    if (!id.ok()) return id.status();
    auto answer = engine_->RunToEnd(*id);
    if (!answer.ok()) return answer.status();
    local_engine::Completion& completion = answer->completions.front();
    if (!completion.status.ok()) return completion.status;
    ScheduledAnswer scheduled;
    for (const local_engine::TokenScore& score : completion.scores) {
      scheduled.margins.push_back(MarginOf(score));
    }
    scheduled.tokens = std::move(completion.tokens);
    scheduled.text = TextOf(scheduled.tokens);
    return scheduled;
  }

  bool Is(const ScheduledAnswer& answer, const RecordedAnswer& recorded) const {
    if (recorded.token_ids.empty()) return IsText(answer.text, recorded);
    std::vector<int64_t> ids(answer.tokens.begin(), answer.tokens.end());
    if (ids.size() == recorded.token_ids.size() + 1 && IsEnd(answer.tokens.back())) ids.pop_back();
    return ids == recorded.token_ids;
  }

 private:
  explicit EnvelopeModel(Engine* engine) : engine_(engine) {}

  // As a server would have given it.
  bool IsText(const std::string& text, const RecordedAnswer& recorded) const {
    engine_server::ToolCallText reader(tool_names_);
    engine_server::ToolCallText::Piece answer = reader.Push(text, "");
    engine_server::ToolCallText::Piece rest = reader.Finish();
    answer.content += rest.content;
    answer.calls.insert(answer.calls.end(), rest.calls.begin(), rest.calls.end());
    return answer.content == recorded.content &&
           std::equal(answer.calls.begin(), answer.calls.end(), recorded.tool_calls.begin(),
                      recorded.tool_calls.end(), [](const auto& now, const auto& then) {
                        return now.name == then.name && now.arguments == then.arguments;
                      });
  }

  bool IsEnd(int32_t token) const {
    const std::vector<int32_t>& ends = engine_->end_tokens();
    return std::find(ends.begin(), ends.end(), token) != ends.end();
  }

  std::string TextOf(const std::vector<int32_t>& tokens) const {
    std::string text;
    for (const int32_t token : tokens) {
      if (!IsEnd(token)) text += engine_->BytesOf(token);
    }
    return text;
  }

  // Of a drawn token it may be negative.
  static double MarginOf(const local_engine::TokenScore& score) {
    for (const local_engine::TokenLogprob& other : score.top) {
      if (other.token == score.chosen.token) continue;
      return static_cast<double>(score.chosen.logprob) - static_cast<double>(other.logprob);
    }
    return INFINITY;
  }

  Engine* engine_;
  std::vector<std::string> tool_names_;
  local_engine::Request request_;
};

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
  const auto prepared = EnvelopeModel::Make(engine->get(), call);
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
  const auto model = EnvelopeModel::Make(engine->get(), call);
  if (!model.ok()) return model.status();
  const local_engine::Request& request = model->request();
  report->draws = request.sampling.temperature > 0 && request.sampling.top_k != 1;

  const RecordedAnswer recorded = ReadRecorded(call);
  if (recorded.schedule) {
    report->has_schedule = true;
    const auto again = model->Answer(*recorded.schedule);
    report->schedule_reproduces = again.ok() && model->Is(*again, recorded);
  }
  auto envelope =
      explain::FindEnvelope(explain::SettingsOfLoads(CachedKeys(request.prompt.size())),
                            {.prompt_tokens = static_cast<int32_t>(request.prompt.size()),
                             .max_tokens = request.max_tokens,
                             .max_runs = flags.max_runs,
                             .noise_nats = flags.noise_nats,
                             .branches = !report->draws,
                             .interrupted = Interruption::Happened},
                            [&](const StockSchedule& schedule) { return model->Answer(schedule); });
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
  verb->add_option("--noise", flags->noise_nats,
                   "branch below this margin, in nats, instead of the measured noise")
      ->check(CLI::Range(0.0, 100.0))
      ->type_name("NATS");
}

}  // namespace reenact::tools
