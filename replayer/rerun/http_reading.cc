#include "replayer/rerun/internal/http_reading.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <ctime>

#include "absl/status/status.h"

namespace reenact::rerun {
namespace {

constexpr std::array<std::string_view, 4> kPaths = {"/chat/completions", "/completions",
                                                    "/responses", "/messages"};

}  // namespace

std::string_view PathOf(schema::ModelDialect dialect) {
  switch (dialect) {
    case schema::ModelDialect::kOpenAiChat:
      return "/chat/completions";
    case schema::ModelDialect::kOpenAiCompletions:
      return "/completions";
    case schema::ModelDialect::kOpenAiResponses:
      return "/responses";
    case schema::ModelDialect::kAnthropicMessages:
      return "/messages";
    default:
      return "";
  }
}

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

}  // namespace reenact::rerun
