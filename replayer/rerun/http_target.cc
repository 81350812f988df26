#include "replayer/rerun/http_target.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/status/status.h"

#include "replayer/rerun/internal/http_attempt.h"
#include "replayer/rerun/internal/http_reading.h"
#include "schema/json_view.h"
#include "schema/proxy_settings.h"
#include "schema/redaction.h"

namespace reenact::rerun {
namespace {

using schema::ModelDialect;

constexpr int64_t kFirstWaitMs = 500;
constexpr int64_t kStepMs = 20;
constexpr const char* kAnthropicVersion = "2023-06-01";

schema::Moment Now() {
  using std::chrono::duration_cast;
  using std::chrono::nanoseconds;
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  const auto monotonic = std::chrono::steady_clock::now().time_since_epoch();
  return {.wall_ns = duration_cast<nanoseconds>(wall).count(),
          .monotonic_ns = duration_cast<nanoseconds>(monotonic).count()};
}

// Its key, and what the environment's proxies are paid with: answers may echo both.
std::vector<std::string> TargetSecrets(const HttpTargetOptions& options) {
  std::vector<std::string> secrets = schema::ProxySettings::OfEnvironment().Credentials();
  if (!options.key.empty()) secrets.push_back(options.key);
  return secrets;
}

class HttpTarget : public Target {
 public:
  HttpTarget(HttpTargetOptions options, BaseUrl base, Ledger* ledger)
      : options_(std::move(options)),
        base_(std::move(base)),
        ledger_(ledger),
        redactor_(schema::RedactionPolicy{.secrets = TargetSecrets(options_)}) {}

  std::string Name() const override {
    return options_.label + " " + redactor_.RedactUrl(base_.before + base_.query);
  }

  Sample Ask(const Question& question) override {
    Sample sample = Send(question);
    ledger_->Add(sample.cost);
    if (sample.answered()) {
      const std::lock_guard<std::mutex> lock(mutex_);
      LearnAbilities(question, sample.view, &abilities_);
    }
    return sample;
  }

  ForcedScores Force(const Question& question, std::span<const int64_t> prompt,
                     std::span<const int64_t> answer) override;

  Abilities abilities() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return abilities_;
  }

 private:
  Sample Send(const Question& question);
  HttpResult SendOnce(const Question& question, const std::string& url);
  // Waits before attempt `next`; false: no further attempt is to be made.
  bool Wait(const HttpResult& result, int next, Sample* sample);
  bool Sleep(int64_t wait_ms) const;
  void Fill(const Question& question, const std::string& url, HttpResult result, Sample* sample);
  schema::Headers HeadersFor(const Question& question) const;

  const HttpTargetOptions options_;
  const BaseUrl base_;
  Ledger* const ledger_;
  const schema::Redactor redactor_;
  HttpClient client_;
  std::atomic<uint32_t> in_flight_{0};
  mutable std::mutex mutex_;  // Guards abilities_.
  Abilities abilities_;
};

schema::Headers HttpTarget::HeadersFor(const Question& question) const {
  schema::Headers headers = {{"content-type", "application/json"}};
  const bool anthropic = question.dialect == ModelDialect::kAnthropicMessages;
  bool has_version = false;
  for (const auto& header : question.headers) {
    has_version = has_version || header.first == "anthropic-version";
    headers.push_back(header);
  }
  if (anthropic && !has_version) headers.emplace_back("anthropic-version", kAnthropicVersion);
  if (options_.key.empty()) return headers;
  if (anthropic) {
    headers.emplace_back("x-api-key", options_.key);
  } else {
    headers.emplace_back("authorization", "Bearer " + options_.key);
  }
  return headers;
}

HttpResult HttpTarget::SendOnce(const Question& question, const std::string& url) {
  const schema::Headers headers = HeadersFor(question);
  return client_.Post({.url = url,
                       .headers = headers,
                       .body = &question.request,
                       .timeout_ms = options_.timeout_ms,
                       .connect_timeout_ms = options_.connect_timeout_ms,
                       .largest_answer_bytes = options_.largest_answer_bytes,
                       .interrupted = &options_.interrupted});
}

Sample HttpTarget::Send(const Question& question) {
  Sample sample;
  const std::string_view path = PathOf(question.dialect);
  if (path.empty()) {
    sample.status = SampleStatus::kUnsupported;
    sample.detail = "calls of " + std::string(ToString(question.dialect)) + " are not asked again";
    return sample;
  }
  const std::string url = base_.For(path);
  for (int attempt = 1;; ++attempt) {
    if (!ledger_->TakeRequest(/*is_retry=*/attempt > 1)) {
      if (attempt == 1) sample.status = SampleStatus::kOverBudget;
      return sample;  // Of a retry that was not made, what the attempt before it came to stands.
    }
    ++sample.cost.requests;
    if (attempt > 1) ++sample.cost.retries;
    sample.event.started = Now();
    sample.event.in_flight = in_flight_.fetch_add(1);
    HttpResult result = SendOnce(question, url);
    --in_flight_;
    sample.cost.busy_seconds += static_cast<double>(result.elapsed_ns) * 1e-9;
    const bool again = IsRetried(result) && attempt < options_.max_attempts;
    const HttpResult kept_for_wait = again ? result : HttpResult();
    Fill(question, url, std::move(result), &sample);
    if (!again || !Wait(kept_for_wait, attempt, &sample)) return sample;
  }
}

bool HttpTarget::Wait(const HttpResult& result, int attempt, Sample* sample) {
  const int64_t asked = AskedWaitMs(result).value_or(kFirstWaitMs << (attempt - 1));
  if (asked > options_.longest_wait_ms) {
    sample->detail += ", and asks to wait " + std::to_string(asked / 1000) + " s";
    return false;
  }
  sample->cost.waited_seconds += static_cast<double>(asked) * 1e-3;
  if (Sleep(asked)) return true;
  sample->status = SampleStatus::kInterrupted;
  return false;
}

bool HttpTarget::Sleep(int64_t wait_ms) const {
  if (options_.wait) return options_.wait(wait_ms);
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  while (std::chrono::steady_clock::now() < until) {
    if (options_.interrupted && options_.interrupted()) return false;
    const auto left = until - std::chrono::steady_clock::now();
    std::this_thread::sleep_for(
        std::min<std::chrono::nanoseconds>(left, std::chrono::milliseconds(kStepMs)));
  }
  return true;
}

void HttpTarget::Fill(const Question& question, const std::string& url, HttpResult result,
                      Sample* sample) {
  sample->status = StatusOf(result);
  sample->detail = result.error.empty() ? "HTTP " + std::to_string(result.status) : result.error;
  const bool is_html = result.end == TransferEnd::kWhole && LooksLikeHtml(result);
  schema::Event& event = sample->event;
  event.boundary = schema::Boundary::kModel;
  event.name = question.name;
  event.scope = question.scope;
  event.provider = question.provider;
  event.endpoint = redactor_.RedactUrl(url);
  event.request_headers = question.headers;
  event.request.bytes = question.request;
  schema::Redacted answer = redactor_.RedactBody(result.body);
  schema::MapCuts(answer.replacements, &result.exchange);
  event.response.redacted = !answer.replacements.empty();
  event.response.bytes = std::move(answer.bytes);
  event.exchange = std::move(result.exchange);
  event.meta.clear();
  if (!result.proxy.empty()) event.meta.emplace_back(schema::kUpstreamProxyFact, result.proxy);
  event.elapsed_ns = result.elapsed_ns;
  event.end_state =
      result.end == TransferEnd::kWhole ? schema::EndState::kComplete : schema::EndState::kReset;
  event.end_detail = result.error;
  if (is_html) {
    sample->detail += ", HTML";
    if (sample->status == SampleStatus::kAnswered) sample->status = SampleStatus::kNoAnswer;
    return;
  }
  if (sample->status == SampleStatus::kAnswered) return ReadAnswer(sample);
  sample->view = schema::ViewModelCall(event);
  if (!sample->view.error_kind.empty()) sample->detail += ": " + sample->view.error_kind;
}

std::string ModelOf(const std::string& request) {
  const auto document = schema::JsonDocument::Parse(request);
  return document == nullptr ? "" : std::string(document->root()["model"].raw());
}

ForcedScores HttpTarget::Force(const Question& question, std::span<const int64_t> prompt,
                               std::span<const int64_t> answer) {
  // The way that vLLM, SGLang and our own server share: a completion of the whole, echoed.
  std::string ids;
  for (const std::span<const int64_t> part : {prompt, answer}) {
    for (const int64_t id : part) ids += (ids.empty() ? "" : ",") + std::to_string(id);
  }
  Question completion;
  completion.dialect = ModelDialect::kOpenAiCompletions;
  completion.provider = question.provider;
  completion.name = "text_completion";
  completion.request = R"({"model":)" + ModelOf(question.request) + R"(,"prompt":[)" + ids +
                       R"(],"max_tokens":0,"echo":true,"logprobs":5})";
  Sample sample = Ask(completion);
  ForcedScores scores{.status = sample.status, .detail = sample.detail};
  const size_t wanted = prompt.size() + answer.size();
  if (sample.answered()) {
    std::vector<schema::TokenLogprob>& tokens = sample.view.choices.front().logprobs.tokens;
    if (tokens.size() == wanted) {
      scores.tokens.assign(tokens.begin() + static_cast<std::ptrdiff_t>(prompt.size()),
                           tokens.end());
    } else {
      scores.status = SampleStatus::kUnsupported;
      scores.detail = "it echoed " + std::to_string(tokens.size()) + " of " +
                      std::to_string(wanted) + " tokens";
    }
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (scores.status == SampleStatus::kAnswered) abilities_.forced_tokens = Ability::kShown;
  const bool refused =
      scores.status == SampleStatus::kRefused || scores.status == SampleStatus::kUnsupported;
  if (refused && abilities_.forced_tokens == Ability::kUnknown) {
    abilities_.forced_tokens = Ability::kAbsent;
  }
  return scores;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Target>> MakeHttpTarget(const HttpTargetOptions& options,
                                                       Ledger* ledger) {
  absl::StatusOr<BaseUrl> base = ReadBaseUrl(options.base_url);
  if (!base.ok()) return base.status();
  return std::unique_ptr<Target>(std::make_unique<HttpTarget>(options, *std::move(base), ledger));
}

}  // namespace reenact::rerun
