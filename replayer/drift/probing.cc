#include "replayer/drift/probing.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

#include "replayer/identity/system_state.h"
#include "replayer/rerun/chat_question.h"
#include "replayer/rerun/compared_token.h"
#include "replayer/rerun/repeated_asking.h"
#include "replayer/rerun/token_comparison.h"
#include "schema/canonical_json.h"
#include "schema/json_view.h"
#include "schema/request_settings.h"
#include "schema/sha256.h"

namespace reenact::drift {
namespace {

// Members of a request that decide neither the prompt nor the logits of its first token.
constexpr std::array<std::string_view, 20> kOtherMembers = {"model",
                                                            "max_tokens",
                                                            "max_completion_tokens",
                                                            "max_output_tokens",
                                                            "stream",
                                                            "stream_options",
                                                            "seed",
                                                            "logprobs",
                                                            "top_logprobs",
                                                            "temperature",
                                                            "top_p",
                                                            "top_k",
                                                            "min_p",
                                                            "n",
                                                            "user",
                                                            "metadata",
                                                            "store",
                                                            "return_token_ids",
                                                            "service_tier",
                                                            "stop"};

std::string PromptMark(const std::string& request) {
  const auto document = schema::JsonDocument::Parse(request);
  if (document == nullptr || !document->root().is_object())
    return schema::ToHex(schema::HashBytes(request)).substr(0, 16);
  const schema::JsonValue root = document->root();
  std::map<std::string, std::string> members;
  for (size_t i = 0; i < root.size(); ++i) {
    std::string key = root.KeyAt(i);
    if (std::find(kOtherMembers.begin(), kOtherMembers.end(), key) == kOtherMembers.end())
      members.insert_or_assign(std::move(key), schema::CanonicalJson(root[i]));
  }
  std::string text;
  for (const auto& [key, value] : members) absl::StrAppend(&text, key, "\n", value, "\n");
  return schema::ToHex(schema::HashBytes(text)).substr(0, 16);
}

// Alternatives asked for; `logprobs` is their number in completions.
int64_t TopCountAsked(const std::string& request) {
  const auto document = schema::JsonDocument::Parse(request);
  if (document == nullptr) return 0;
  const schema::JsonValue root = document->root();
  const schema::JsonValue count =
      root["top_logprobs"].is_present() ? root["top_logprobs"] : root["logprobs"];
  return count.AsInt64().value_or(0);
}

void Add(const schema::TokenAlternative& token, analysis::TopTokens* top) {
  const double logprob = token.censored ? analysis::kCensoredFrom : token.logprob;
  top->emplace(token.bytes ? *token.bytes : token.token, logprob);
}

std::string Messages(std::string_view text) {
  return absl::StrCat("[{\"role\":\"user\",\"content\":\"", std::string(text), "\"}]");
}

bool WasStopped(const rerun::Sample& sample) {
  return sample.status == rerun::SampleStatus::kInterrupted ||
         sample.status == rerun::SampleStatus::kOverBudget;
}

int64_t WallNow() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

std::optional<Probe> ProbeOf(const schema::Event& call, const schema::ModelView& view) {
  if (view.choices.empty() || !rerun::LogprobsFit(view.choices.front())) return std::nullopt;
  const std::vector<schema::TokenLogprob>& tokens = view.choices.front().logprobs.tokens;
  if (tokens.empty() || tokens.front().top.empty()) return std::nullopt;
  Probe probe;
  probe.prompt = PromptMark(call.request.bytes);
  probe.fingerprint = identity::FingerprintText(
      {.fingerprint_presence = view.fingerprint_presence, .fingerprint = view.system_fingerprint});
  probe.served_model = view.served_model;
  probe.prompt_tokens = view.usage.prompt_tokens.value_or(0);
  probe.top_count = TopCountAsked(call.request.bytes);
  probe.temperature = schema::SettingsOf(call.request.bytes).temperature.value_or(1);
  probe.scaled = std::any_of(
      view.anomalies.begin(), view.anomalies.end(),
      [](const std::string& anomaly) { return anomaly.starts_with("post_sampling_probs"); });
  for (const schema::TokenAlternative& token : tokens.front().top) Add(token, &probe.top);
  return probe;
}

std::vector<std::string> CanaryPrompts() {
  return {Messages("x"), Messages("Name a colour."), Messages("Continue: 3, 1, 4, 1,")};
}

ProbedWindow ProbeOnce(rerun::Target* target, const ProbePlan& plan) {
  ProbedWindow result;
  result.window.at_wall_ns = WallNow();
  for (const std::string& prompt : plan.prompts) {
    const rerun::Question question = rerun::ChatQuestion(prompt, {.model = plan.model,
                                                                  .max_tokens = 1,
                                                                  .temperature = plan.temperature,
                                                                  .top_logprobs = plan.top_count});
    for (rerun::Sample& sample :
         rerun::AskRepeatedly(target, question, {.count = plan.probes_per_prompt})) {
      std::optional<Probe> probe;
      if (sample.answered()) probe = ProbeOf(sample.event, sample.view);
      if (probe) {
        probe->scaled = probe->scaled || plan.scaled;
        result.window.probes.push_back(*std::move(probe));
      } else {
        ++result.window.failed;
        result.failure_example =
            sample.answered()
                ? "the answer has no logprobs"
                : absl::StrCat(std::string(ToString(sample.status)), " ", sample.detail);
      }
      result.stopped = result.stopped || WasStopped(sample);
      if (!sample.event.exchange.empty()) result.calls.push_back(std::move(sample.event));
    }
    if (result.stopped) break;
  }
  return result;
}

std::vector<Window> WindowsOf(std::vector<RecordedProbe> probes, int64_t length_ns,
                              int64_t* left_out) {
  const auto settings = [](const RecordedProbe& recorded) {
    return std::tuple(recorded.probe.temperature, recorded.probe.top_count, recorded.probe.scaled);
  };
  std::map<std::tuple<double, int64_t, bool>, int64_t> counts;
  for (const RecordedProbe& recorded : probes) ++counts[settings(recorded)];
  *left_out = 0;
  if (counts.empty()) return {};
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  std::map<int64_t, Window> windows;
  for (RecordedProbe& recorded : probes) {
    if (settings(recorded) != most->first) {
      ++*left_out;
      continue;
    }
    const int64_t begin = recorded.at_wall_ns / length_ns * length_ns;
    Window& window = windows[begin];
    window.at_wall_ns = begin;
    window.probes.push_back(std::move(recorded.probe));
  }
  std::vector<Window> ordered;
  for (auto& [begin, window] : windows) ordered.push_back(std::move(window));
  return ordered;
}

}  // namespace reenact::drift
