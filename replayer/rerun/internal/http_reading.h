// Where a target's dialects are asked, and what an HTTP answer says before anybody reads its body.

#ifndef REENACT_REPLAYER_RERUN_INTERNAL_HTTP_READING_H_
#define REENACT_REPLAYER_RERUN_INTERNAL_HTTP_READING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "replayer/rerun/internal/http_attempt.h"
#include "replayer/rerun/target.h"
#include "schema/model_view.h"

namespace reenact::rerun {

// "/chat/completions"; empty for a dialect that is not asked over HTTP.
std::string_view PathOf(schema::ModelDialect dialect);

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

// With or without a dialect's path; a bare host gets /v1. Errors: InvalidArgument, for credentials
// in the URL too.
absl::StatusOr<BaseUrl> ReadBaseUrl(const std::string& text);

bool IsRetried(const HttpResult& result);

// What the target asks to wait, in milliseconds.
std::optional<int64_t> AskedWaitMs(const HttpResult& result);

// kAnswered: it may be an answer.
SampleStatus StatusOf(const HttpResult& result);

bool LooksLikeHtml(const HttpResult& result);

}  // namespace reenact::rerun

#endif  // REENACT_REPLAYER_RERUN_INTERNAL_HTTP_READING_H_
