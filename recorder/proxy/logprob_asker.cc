#include "recorder/proxy/logprob_asker.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "absl/status/status.h"

#include "schema/json_view.h"
#include "schema/sha256.h"

namespace reenact::proxy {
namespace {

using schema::JsonValue;
using schema::ModelDialect;
using schema::RequestEdit;

constexpr int32_t kMostAlternatives = 20;
// Completions, the old endpoint, take no more.
constexpr int32_t kMostOfCompletions = 5;
constexpr std::string_view kInclude = "\"message.output_text.logprobs\"";

bool IsRefusal(int status) {
  return status == 400 || status == 422;
}

// Reasoning models refuse the member, or leave it out.
bool IsKnownToRefuse(const JsonValue& request) {
  constexpr std::array<std::string_view, 5> kModels = {"o1", "o3", "o4", "gpt-5", "gpt-6"};
  std::string model = request["model"].AsString();
  model.erase(0, model.rfind('/') + 1);
  return request["reasoning_effort"].is_present() || request["reasoning"].is_present() ||
         std::any_of(kModels.begin(), kModels.end(),
                     [&](std::string_view known) { return model.starts_with(known); });
}

std::vector<RequestEdit> AskResponses(const JsonValue& request, int32_t top) {
  const JsonValue include = request["include"];
  std::vector<RequestEdit> edits;
  if (include.is_array()) {
    for (size_t i = 0; i < include.size(); ++i) {
      if (include[i].raw() == kInclude) return {};
    }
    std::string more(include.raw().substr(0, include.raw().size() - 1));
    more += (include.size() > 0 ? "," : "") + std::string(kInclude) + "]";
    edits.push_back({.path = "include", .value = std::move(more)});
  } else {
    edits.push_back({.path = "include", .value = "[" + std::string(kInclude) + "]"});
  }
  if (top > 0) edits.push_back({.path = "top_logprobs", .value = std::to_string(top)});
  return edits;
}

template <typename Number>
bool ParseWhole(std::string_view text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

}  // namespace

absl::StatusOr<LogprobPolicy> ParseLogprobPolicy(std::string_view text) {
  LogprobPolicy policy;
  const size_t colon = text.find(':');
  const bool has_top = colon != std::string_view::npos;
  if (!ParseWhole(text.substr(0, colon), &policy.share) || !(policy.share >= 0) ||
      policy.share > 1 || (has_top && !ParseWhole(text.substr(colon + 1), &policy.top)) ||
      policy.top < 0 || policy.top > kMostAlternatives) {
    return absl::InvalidArgumentError("\"" + std::string(text) +
                                      "\": SHARE[:K], like 0.1:5; SHARE from 0 to 1, K from 0 to " +
                                      std::to_string(kMostAlternatives));
  }
  return policy;
}

std::string ToString(const LogprobPolicy& policy) {
  std::array<char, 32> share{};
  const auto end = std::to_chars(share.data(), share.data() + share.size(), policy.share).ptr;
  return std::string(share.data(), end) + ":" + std::to_string(policy.top);
}

std::vector<RequestEdit> EditsToAsk(ModelDialect dialect, std::string_view request, int32_t top) {
  const std::unique_ptr<schema::JsonDocument> document = schema::JsonDocument::Parse(request);
  if (!document || !document->root().is_object()) return {};
  const JsonValue root = document->root();
  if (root["logprobs"].is_present() || root["top_logprobs"].is_present()) return {};
  if (IsKnownToRefuse(root)) return {};
  switch (dialect) {
    case ModelDialect::kOpenAiChat: {
      std::vector<RequestEdit> edits = {{.path = "logprobs", .value = "true"}};
      if (top > 0) edits.push_back({.path = "top_logprobs", .value = std::to_string(top)});
      return edits;
    }
    case ModelDialect::kOpenAiCompletions:
      return {{.path = "logprobs", .value = std::to_string(std::min(top, kMostOfCompletions))}};
    case ModelDialect::kOpenAiResponses:
      return AskResponses(root, top);
    default:
      return {};
  }
}

LogprobAsker::LogprobAsker(LogprobPolicy policy)
    : policy_(policy), salt_(std::to_string(std::random_device()())) {}

bool LogprobAsker::IsChosen(std::string_view body) const {
  const schema::Digest digest = schema::HashBytes(salt_ + std::string(body));
  uint32_t bits = 0;
  for (size_t i = 0; i < sizeof(bits); ++i) bits = bits << 8 | digest[i];
  return bits < std::ldexp(policy_.share, 32);
}

RequestPlan LogprobAsker::Plan(const WholeRequest& request) {
  RequestPlan plan;
  if (!request.is_kept || request.kind->boundary != schema::Boundary::kModel) return plan;
  if (!IsChosen(request.body)) return plan;
  std::vector<RequestEdit> edits = EditsToAsk(request.kind->dialect, request.body, policy_.top);
  if (edits.empty()) return plan;
  const std::unique_ptr<schema::JsonDocument> document = schema::JsonDocument::Parse(request.body);
  const std::string model = request.kind->provider + " " + document->root()["model"].AsString();
  if (refused_.contains(model)) return plan;
  std::string body(request.body);
  for (RequestEdit& edit : edits) {
    std::optional<std::string> edited = schema::ApplyEdit(body, &edit);
    if (!edited) return plan;
    body = *std::move(edited);
  }
  plan.body = std::move(body);
  plan.facts.emplace_back(schema::kRequestEditsFact, schema::EncodeEdits(edits));
  plan.answered = [this, model](int status) {
    if (IsRefusal(status)) refused_.insert(model);
  };
  return plan;
}

}  // namespace reenact::proxy
