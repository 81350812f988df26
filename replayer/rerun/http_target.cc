#include "replayer/rerun/http_target.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/status/status.h"

#include "replayer/rerun/internal/http_attempt.h"
#include "schema/json_view.h"
#include "schema/redaction.h"

namespace reenact::rerun {
namespace {

using schema::ModelDialect;

constexpr int64_t kFirstWaitMs = 500;
constexpr int64_t kStepMs = 20;
constexpr const char* kAnthropicVersion = "2023-06-01";
constexpr std::array<std::string_view, 4> kPaths = {"/chat/completions", "/completions",
                                                    "/responses", "/messages"};

std::string_view PathOf(ModelDialect dialect) {
  switch (dialect) {
    case ModelDialect::kOpenAiChat:
      return "/chat/completions";
    case ModelDialect::kOpenAiCompletions:
      return "/completions";
    case ModelDialect::kOpenAiResponses:
      return "/responses";
    case ModelDialect::kAnthropicMessages:
      return "/messages";
    default:
      return "";
  }
}

// A base URL in the parts that a dialect's path goes between.
struct BaseUrl {
  std::string before;  // "https://host/v1"
  std::string query;   // "?api-version=2026-01-01", or empty.

  std::string For(std::string_view path) const {
    std::string url = before;
    url += path;
    return url + query;
  }
};

absl::StatusOr<BaseUrl> ReadBaseUrl(const std::string& text) {
  const size_t scheme_end = text.find("://");
  const std::string scheme = text.substr(0, scheme_end);
  if (scheme_end == std::string::npos || (scheme != "http" && scheme != "https")) {
    return absl::InvalidArgumentError("\"" + text + "\" is no http or https URL");
  }
  BaseUrl base;
  const size_t question = text.find('?');
  base.before = text.substr(0, question);
  if (question != std::string::npos) base.query = text.substr(question);
  const size_t path = base.before.find('/', scheme_end + 3);
  const std::string host = base.before.substr(scheme_end + 3, path - scheme_end - 3);
  if (host.empty() || host.find_first_of(" \t\r\n") != std::string::npos) {
    return absl::InvalidArgumentError("\"" + text + "\" names no host");
  }
  if (host.find('@') != std::string::npos) {
    return absl::InvalidArgumentError(
        "the URL of a target holds no credentials: name the variable that does, --key-env NAME");
  }
  while (base.before.ends_with('/')) base.before.pop_back();
  for (const std::string_view known : kPaths) {
    if (base.before.ends_with(known)) {
      base.before.resize(base.before.size() - known.size());
      break;
    }
  }
  if (base.before.size() == scheme_end + 3 + host.size()) base.before += "/v1";
  return base;
}

bool IsRetried(const HttpResult& result) {
  if (result.end == TransferEnd::kUnreachable) return true;
  if (result.end != TransferEnd::kWhole || result.status < 400) return false;
  const std::string should = result.Header("x-should-retry");
  if (should == "false") return false;
  return should == "true" || result.status == 408 || result.status == 409 || result.status == 429 ||
         result.status >= 500;
}

// What the target asks to wait, in milliseconds.
std::optional<int64_t> AskedWaitMs(const HttpResult& result) {
  const auto number = [](const std::string& text) -> std::optional<double> {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(value >= 0) || value > 1e12) return std::nullopt;
    return value;
  };
  if (const auto ms = number(result.Header("retry-after-ms"))) {
    return static_cast<int64_t>(std::ceil(*ms));
  }
  const std::string after = result.Header("retry-after");
  if (after.empty()) return std::nullopt;
  if (const auto seconds = number(after)) return static_cast<int64_t>(std::ceil(*seconds * 1000));
  const time_t date = curl_getdate(after.c_str(), nullptr);
  if (date < 0) return std::nullopt;
  return std::max<int64_t>(0, (date - std::time(nullptr)) * 1000);
}

SampleStatus StatusOf(const HttpResult& result) {
  switch (result.end) {
    case TransferEnd::kUnreachable:
      return SampleStatus::kUnreachable;
    case TransferEnd::kTimedOut:
      return SampleStatus::kTimedOut;
    case TransferEnd::kInterrupted:
      return SampleStatus::kInterrupted;
    case TransferEnd::kBroken:
    case TransferEnd::kTooLarge:
      return SampleStatus::kTruncated;
    case TransferEnd::kWhole:
      break;
  }
  if (result.status == 429) return SampleStatus::kRateLimited;
  if (result.status >= 500) return SampleStatus::kServerError;
  if (result.status >= 400) return SampleStatus::kRefused;
  return result.status == 200 ? SampleStatus::kAnswered : SampleStatus::kNoAnswer;
}

bool LooksLikeHtml(const HttpResult& result) {
  const size_t first = result.body.find_first_not_of(" \t\r\n");
  return result.Header("content-type").find("html") != std::string::npos ||
         (first != std::string::npos && result.body[first] == '<');
}

schema::Moment Now() {
  using std::chrono::duration_cast;
  using std::chrono::nanoseconds;
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  const auto monotonic = std::chrono::steady_clock::now().time_since_epoch();
  return {.wall_ns = duration_cast<nanoseconds>(wall).count(),
          .monotonic_ns = duration_cast<nanoseconds>(monotonic).count()};
}

class HttpTarget : public Target {
 public:
  HttpTarget(HttpTargetOptions options, BaseUrl base, Ledger* ledger)
      : options_(std::move(options)),
        base_(std::move(base)),
        ledger_(ledger),
        redactor_(schema::RedactionPolicy{
            .secrets = options_.key.empty() ? std::vector<std::string>{}
                                            : std::vector<std::string>{options_.key}}) {}

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
