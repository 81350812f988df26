#include "tools/engine_server/local_target.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "tools/engine_server/api_answer.h"
#include "tools/engine_server/api_error.h"
#include "tools/engine_server/api_request.h"
#include "tools/engine_server/engine_thread.h"
#include "tools/engine_server/prepare_prompt.h"

namespace reenact::engine_server {
namespace {

using local_engine::Answer;
using local_engine::Engine;
using rerun::Ability;
using rerun::ForcedScores;
using rerun::Question;
using rerun::Sample;
using rerun::SampleStatus;
using schema::ModelDialect;

constexpr size_t kMostJobs = 1024;
constexpr auto kStep = std::chrono::milliseconds(20);
// Of requests that let the answer be drawn and name no seed. A fixed one: an answer that nobody can
// get again is no evidence.
constexpr uint64_t kSeed = 0;
constexpr int32_t kForcedAlternatives = 5;

schema::Moment Now() {
  using std::chrono::duration_cast;
  using std::chrono::nanoseconds;
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  const auto monotonic = std::chrono::steady_clock::now().time_since_epoch();
  return {.wall_ns = duration_cast<nanoseconds>(wall).count(),
          .monotonic_ns = duration_cast<nanoseconds>(monotonic).count()};
}

std::optional<Endpoint> EndpointOf(ModelDialect dialect) {
  if (dialect == ModelDialect::kOpenAiChat) return Endpoint::kChat;
  if (dialect == ModelDialect::kOpenAiCompletions) return Endpoint::kCompletions;
  return std::nullopt;
}

// What the engine says of a token, as a view of an answer has it.
schema::TokenAlternative Describe(const Engine& engine, const local_engine::TokenLogprob& scored) {
  schema::TokenAlternative token;
  token.bytes = engine.BytesOf(scored.token);
  token.token = *token.bytes;
  token.id = scored.token;
  token.logprob = static_cast<double>(scored.logprob);
  return token;
}

class LocalTarget : public rerun::Target {
 public:
  LocalTarget(std::unique_ptr<Engine> engine, LocalTargetOptions options, rerun::Ledger* ledger)
      : options_(std::move(options)),
        ledger_(ledger),
        invariant_(engine->identity().profile == "n1"),
        name_("local " + engine->identity().Fingerprint()),
        engine_(std::move(engine), kMostJobs) {}

  std::string Name() const override { return name_; }

  bool is_invariant() const override { return invariant_; }

  rerun::Abilities abilities() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return abilities_;
  }

  Sample Ask(const Question& question) override;
  ForcedScores Force(const Question& question, std::span<const int64_t> prompt,
                     std::span<const int64_t> answer) override;

 private:
  // Until the answer is there, or the user interrupts: then it is cancelled.
  absl::StatusOr<Answer> Await(Job* job, ApiAnswer* answer, bool* interrupted);
  void Respond(const Question& question, ApiRequest* request, Sample* sample);

  const LocalTargetOptions options_;
  rerun::Ledger* const ledger_;
  const bool invariant_;
  const std::string name_;
  std::atomic<uint32_t> in_flight_{0};
  mutable std::mutex mutex_;  // Guards abilities_.
  rerun::Abilities abilities_;
  EngineThread engine_;
};

// The answer of `engine serve`, in one read.
void Receive(std::string bytes, int32_t status, Sample* sample) {
  schema::Event& event = sample->event;
  event.response.bytes = std::move(bytes);
  schema::ExchangeItem head;
  head.kind = schema::ExchangeItemKind::kHead;
  head.offset_ns = event.elapsed_ns;
  head.status = status;
  head.headers = {{"content-type", "application/json"}};
  schema::ExchangeItem body;
  body.offset_ns = event.elapsed_ns;
  body.size = event.response.bytes.size();
  event.exchange = {std::move(head), std::move(body)};
  event.end_state = schema::EndState::kComplete;
}

void Refuse(const ApiError& error, Sample* sample) {
  sample->status = error.status >= 500 ? SampleStatus::kServerError : SampleStatus::kRefused;
  sample->detail = error.message;
  Receive(ErrorBody(error), error.status, sample);
  sample->view = schema::ViewModelCall(sample->event);
}

absl::StatusOr<Answer> LocalTarget::Await(Job* job, ApiAnswer* answer, bool* interrupted) {
  for (bool more = true; more;) {
    std::vector<TokenEvent> events;
    more = job->Next(kStep, &events);
    for (const TokenEvent& event : events) {
      if (answer != nullptr) answer->Add(event);
    }
    if (more && !*interrupted && options_.interrupted && options_.interrupted()) {
      *interrupted = true;
      engine_.Cancel(job);
    }
  }
  return job->answer();
}

void LocalTarget::Respond(const Question& question, ApiRequest* request, Sample* sample) {
  const Engine& engine = engine_.engine();
  std::optional<ApiError> error =
      ReadRequest(*EndpointOf(question.dialect), question.request, request);
  if (!error) error = PreparePrompt(engine, request);
  if (error) return Refuse(*error, sample);
  request->stream = false;
  if (!request->engine_request.seed) request->engine_request.seed = kSeed;
  const auto started = std::chrono::steady_clock::now();
  absl::StatusOr<std::shared_ptr<Job>> job = engine_.Submit(request->engine_request);
  if (!job.ok()) return Refuse(FromStatus(job.status()), sample);
  ApiAnswer api_answer(*request, engine,
                       {.id = "",  // Of no meaning here; two of equal text would be told apart.
                        .created_s = sample->event.started.wall_ns / 1'000'000'000,
                        .model = request->model,
                        .seed = static_cast<int64_t>(*request->engine_request.seed)});
  bool interrupted = false;
  const absl::StatusOr<Answer> answer = Await(job->get(), &api_answer, &interrupted);
  const auto elapsed = std::chrono::steady_clock::now() - started;
  sample->event.elapsed_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count();
  sample->cost.busy_seconds = static_cast<double>(sample->event.elapsed_ns) * 1e-9;
  if (interrupted) {
    sample->status = SampleStatus::kInterrupted;
    return;
  }
  if (const std::optional<ApiError> failed = ErrorOf(answer)) return Refuse(*failed, sample);
  Receive(api_answer.Whole(*answer), 200, sample);
  rerun::ReadAnswer(sample);
}

Sample LocalTarget::Ask(const Question& question) {
  Sample sample;
  if (!EndpointOf(question.dialect)) {
    sample.status = SampleStatus::kUnsupported;
    sample.detail = "the local engine does not speak " + std::string(ToString(question.dialect));
    return sample;
  }
  if (!ledger_->TakeRequest(/*is_retry=*/false)) {
    sample.status = SampleStatus::kOverBudget;
    return sample;
  }
  sample.cost.requests = 1;
  schema::Event& event = sample.event;
  event.boundary = schema::Boundary::kModel;
  event.name = question.name;
  event.scope = question.scope;
  event.provider = question.provider;
  event.endpoint = question.endpoint;
  event.request.bytes = question.request;
  event.meta = {{"target", name_}};
  event.started = Now();
  event.in_flight = in_flight_.fetch_add(1);
  ApiRequest request;
  Respond(question, &request, &sample);
  --in_flight_;
  ledger_->Add(sample.cost);
  if (sample.answered()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    rerun::LearnAbilities(question, sample.view, &abilities_);
  }
  return sample;
}

ForcedScores LocalTarget::Force(const Question&, std::span<const int64_t> prompt,
                                std::span<const int64_t> answer) {
  if (!ledger_->TakeRequest(/*is_retry=*/false)) return {.status = SampleStatus::kOverBudget};
  local_engine::Request request;
  const int64_t vocabulary = engine_.engine().vocabulary_size();
  for (const std::span<const int64_t> part : {prompt, answer}) {
    if (std::any_of(part.begin(), part.end(),
                    [&](int64_t id) { return id < 0 || id >= vocabulary; })) {
      return {.status = SampleStatus::kRefused, .detail = "a token id is not in the vocabulary"};
    }
  }
  request.prompt.assign(prompt.begin(), prompt.end());
  request.forced_tokens.assign(answer.begin(), answer.end());
  request.max_tokens = static_cast<int32_t>(answer.size());
  request.seed = kSeed;
  request.logprobs = true;
  request.top_logprobs = kForcedAlternatives;
  absl::StatusOr<std::shared_ptr<Job>> job = engine_.Submit(std::move(request));
  if (!job.ok()) {
    return {.status = SampleStatus::kRefused, .detail = std::string(job.status().message())};
  }
  bool interrupted = false;
  const absl::StatusOr<Answer> scored = Await(job->get(), nullptr, &interrupted);
  if (interrupted) return {.status = SampleStatus::kInterrupted};
  if (const std::optional<ApiError> failed = ErrorOf(scored)) {
    return {.status = SampleStatus::kServerError, .detail = failed->message};
  }
  ForcedScores scores{.status = SampleStatus::kAnswered};
  for (const local_engine::TokenScore& score : scored->completions.front().scores) {
    schema::TokenLogprob token{.chosen = Describe(engine_.engine(), score.chosen)};
    for (const auto& other : score.top) token.top.push_back(Describe(engine_.engine(), other));
    scores.tokens.push_back(std::move(token));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  abilities_.forced_tokens = Ability::kShown;
  return scores;
}

}  // namespace

std::unique_ptr<rerun::Target> MakeLocalTarget(std::unique_ptr<Engine> engine,
                                               const LocalTargetOptions& options,
                                               rerun::Ledger* ledger) {
  return std::make_unique<LocalTarget>(std::move(engine), options, ledger);
}

}  // namespace reenact::engine_server
