#include "replayer/rerun/internal/http_attempt.h"

#include <curl/curl.h>

#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

#include "schema/redaction.h"

namespace reenact::rerun {
namespace {

using Clock = std::chrono::steady_clock;

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

bool SameName(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const auto lower = [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
    };
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

// What libcurl's callbacks write to.
struct Reception {
  const HttpPost* post = nullptr;
  HttpResult* result = nullptr;
  Clock::time_point began = Clock::now();
  bool too_large = false;

  int64_t OffsetNs() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - began).count();
  }
};

// Each block of headers begins with a status line; an interim answer's is followed by another.
size_t OnHeader(char* data, size_t size, size_t count, void* user) {
  HttpResult* const result = static_cast<Reception*>(user)->result;
  const std::string_view line(data, size * count);
  if (line.starts_with("HTTP/")) {
    result->headers.clear();
    return line.size();
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || !result->body.empty()) return line.size();
  result->headers.emplace_back(line.substr(0, colon), Trimmed(line.substr(colon + 1)));
  return line.size();
}

size_t OnBody(char* data, size_t size, size_t count, void* user) {
  auto* const reception = static_cast<Reception*>(user);
  HttpResult* const result = reception->result;
  const size_t bytes = size * count;
  if (result->body.size() + bytes > reception->post->largest_answer_bytes) {
    reception->too_large = true;
    return 0;
  }
  result->body.append(data, bytes);
  schema::ExchangeItem item;
  item.kind = schema::ExchangeItemKind::kBytes;
  item.offset_ns = reception->OffsetNs();
  item.size = bytes;
  result->exchange.push_back(std::move(item));
  return bytes;
}

int OnProgress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const std::function<bool()>* interrupted = static_cast<Reception*>(user)->post->interrupted;
  return interrupted != nullptr && *interrupted && (*interrupted)() ? 1 : 0;
}

void SetUp(CURL* easy, const HttpPost& post, curl_slist* headers, Reception* reception,
           char* error) {
  curl_easy_setopt(easy, CURLOPT_URL, post.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_HTTP09_ALLOWED, 0L);
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(post.body->size()));
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, post.body->data());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(post.timeout_ms));
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(post.connect_timeout_ms));
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, OnHeader);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, reception);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, OnBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, reception);
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, OnProgress);
  curl_easy_setopt(easy, CURLOPT_XFERINFODATA, reception);
}

TransferEnd EndOf(CURLcode code, const Reception& reception) {
  if (reception.too_large) return TransferEnd::kTooLarge;
  switch (code) {
    case CURLE_OK:
      return TransferEnd::kWhole;
    case CURLE_ABORTED_BY_CALLBACK:
      return TransferEnd::kInterrupted;
    case CURLE_OPERATION_TIMEDOUT:
      return TransferEnd::kTimedOut;
    default:
      return reception.result->body.empty() ? TransferEnd::kUnreachable : TransferEnd::kBroken;
  }
}

}  // namespace

std::string HttpResult::Header(std::string_view name) const {
  std::string value;
  for (const auto& header : headers) {
    if (SameName(header.first, name)) value = header.second;
  }
  return value;
}

HttpClient::HttpClient() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

HttpClient::~HttpClient() {
  for (void* easy : idle_) curl_easy_cleanup(easy);
}

HttpResult HttpClient::Post(const HttpPost& post) {
  CURL* easy = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!idle_.empty()) {
      easy = idle_.back();
      idle_.pop_back();
    }
  }
  if (easy == nullptr) easy = curl_easy_init();
  HttpResult result;
  if (easy == nullptr) {
    result.error = "libcurl could not be started";
    return result;
  }
  curl_slist* list = curl_slist_append(nullptr, "Expect:");
  for (const auto& [name, value] : post.headers) {
    list = curl_slist_append(list, (name + ": " + value).c_str());
  }
  const std::unique_ptr<curl_slist, FreeList> headers(list);
  Reception reception{.post = &post, .result = &result};
  char error[CURL_ERROR_SIZE] = {};
  curl_easy_reset(easy);  // Its connections stay.
  SetUp(easy, post, headers.get(), &reception, error);
  const std::string proxy = proxies_.For(post.url);
  result.proxy = schema::ProxyAddress(proxy);
  // Set though they are empty: libcurl would read the environment in its own way.
  curl_easy_setopt(easy, CURLOPT_PROXY, proxy.c_str());
  curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
  const CURLcode code = curl_easy_perform(easy);
  result.elapsed_ns = reception.OffsetNs();
  result.end = EndOf(code, reception);
  if (code != CURLE_OK) result.error = error[0] != '\0' ? error : curl_easy_strerror(code);
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  result.status = static_cast<int32_t>(status);
  schema::ExchangeItem head;
  head.kind = schema::ExchangeItemKind::kHead;
  head.status = result.status;
  head.headers = schema::AllowedHeaders(result.headers);
  if (!result.exchange.empty()) head.offset_ns = result.exchange.front().offset_ns;
  if (result.status != 0) result.exchange.insert(result.exchange.begin(), std::move(head));
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back(easy);
  return result;
}

}  // namespace reenact::rerun
