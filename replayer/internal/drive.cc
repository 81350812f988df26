#include "replayer/internal/drive.h"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/status/status.h"

#include "replayer/internal/message_text.h"

namespace reenact::replayer {
namespace {

constexpr int kPollMs = 20;
constexpr long kConnectTimeoutMs = 2'000;

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};

struct FreeMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

using Url = std::unique_ptr<CURLU, FreeUrl>;
using Easy = std::unique_ptr<CURL, FreeEasy>;

void InitCurlOnce() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

std::string Part(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return "";
  std::string result = text;
  curl_free(text);
  return result;
}

// Four numbers, the first of which is 127.
bool IsLoopback4(const std::string& host) {
  int dots = 0;
  for (const char c : host) {
    if (c == '.') ++dots;
    if (c != '.' && (c < '0' || c > '9')) return false;
  }
  return dots == 3 && host.starts_with("127.");
}

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "[::1]" || host == "::1" || IsLoopback4(host);
}

bool IsMethod(const std::string& word) {
  return !word.empty() &&
         std::all_of(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

std::string ContentType(const schema::Run& run) {
  for (const auto& [name, value] : run.tags) {
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
      return c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    });
    const bool one_line = value.find_first_of("\r\n") == std::string::npos;
    if (lower == "content-type" && one_line) return value;
  }
  return "application/json";
}

size_t Discard(char*, size_t size, size_t count, void*) {
  return size * count;
}

// Straight to the machine itself: no proxy, no redirect to somewhere else.
void SetUp(CURL* easy, const std::string& url) {
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
  // A service on loopback shows a certificate that was made for another name.
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, Discard);
}

// One attempt. CURLE_ABORTED_BY_CALLBACK when `go_on` said no.
CURLcode Perform(CURL* easy, const std::function<bool()>& go_on) {
  const std::unique_ptr<CURLM, FreeMulti> multi(curl_multi_init());
  if (multi == nullptr || curl_multi_add_handle(multi.get(), easy) != CURLM_OK) {
    return CURLE_FAILED_INIT;
  }
  CURLcode result = CURLE_ABORTED_BY_CALLBACK;
  for (int running = 1; running > 0 && go_on();) {
    if (curl_multi_perform(multi.get(), &running) != CURLM_OK) break;
    if (running > 0) curl_multi_poll(multi.get(), nullptr, 0, kPollMs, nullptr);
  }
  int queued = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi.get(), &queued)) {
    if (message->msg == CURLMSG_DONE) result = message->data.result;
  }
  curl_multi_remove_handle(multi.get(), easy);
  return result;
}

// Waits one step, for a service that does not listen yet.
void Pause() {
  const std::unique_ptr<CURLM, FreeMulti> multi(curl_multi_init());
  if (multi != nullptr) curl_multi_poll(multi.get(), nullptr, 0, kPollMs, nullptr);
}

}  // namespace

absl::StatusOr<DriveRequest> PlanDrive(const std::string& drive_url, const schema::Run& run) {
  InitCurlOnce();
  const Url url(curl_url());
  if (url == nullptr || curl_url_set(url.get(), CURLUPART_URL, drive_url.c_str(), 0) != CURLUE_OK) {
    return absl::InvalidArgumentError("drive URL " + Quote(drive_url) + " is no URL");
  }
  const std::string scheme = Part(url.get(), CURLUPART_SCHEME);
  const std::string host = Part(url.get(), CURLUPART_HOST);
  if (scheme != "http" && scheme != "https") {
    return absl::InvalidArgumentError("drive URL " + Quote(drive_url) +
                                      " is neither http nor https");
  }
  if (!IsLoopback(host)) {
    return absl::InvalidArgumentError("drive URL " + Quote(drive_url) +
                                      " is not on this machine: " + Quote(host) +
                                      " is no loopback address");
  }
  DriveRequest request;
  const size_t space = run.entry.find(' ');
  const std::string method = run.entry.substr(0, space);
  const std::string target = space == std::string::npos ? "" : run.entry.substr(space + 1);
  const bool http_entry = IsMethod(method) && target.starts_with('/');
  request.method = http_entry ? method : "POST";
  if (http_entry && Part(url.get(), CURLUPART_PATH) == "/") {
    const size_t question = target.find('?');
    curl_url_set(url.get(), CURLUPART_PATH, target.substr(0, question).c_str(), 0);
    if (question != std::string::npos) {
      curl_url_set(url.get(), CURLUPART_QUERY, target.substr(question + 1).c_str(), 0);
    }
  }
  request.url = Part(url.get(), CURLUPART_URL);
  request.body = run.input.bytes;
  if (!request.body.empty()) request.content_type = ContentType(run);
  return request;
}

bool IsListening(const DriveRequest& request) {
  const Easy easy(curl_easy_init());
  if (easy == nullptr) return false;
  SetUp(easy.get(), request.url);
  curl_easy_setopt(easy.get(), CURLOPT_CONNECT_ONLY, 1L);
  const CURLcode code = curl_easy_perform(easy.get());
  return code != CURLE_COULDNT_CONNECT && code != CURLE_OPERATION_TIMEDOUT;
}

DriveResult SendDrive(const DriveRequest& request, const std::function<bool()>& go_on) {
  const Easy easy(curl_easy_init());
  if (easy == nullptr) return {.error = "libcurl could not be started"};
  SetUp(easy.get(), request.url);
  curl_easy_setopt(easy.get(), CURLOPT_CUSTOMREQUEST, request.method.c_str());
  curl_slist* headers = curl_slist_append(nullptr, "Expect:");
  if (!request.body.empty()) {
    curl_easy_setopt(easy.get(), CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(easy.get(), CURLOPT_POSTFIELDS, request.body.data());
    headers = curl_slist_append(headers, ("Content-Type: " + request.content_type).c_str());
  } else if (request.method == "HEAD") {
    curl_easy_setopt(easy.get(), CURLOPT_NOBODY, 1L);
  } else if (request.method == "POST" || request.method == "PUT") {
    curl_easy_setopt(easy.get(), CURLOPT_POSTFIELDSIZE, 0L);
    curl_easy_setopt(easy.get(), CURLOPT_POSTFIELDS, "");
  }
  const std::unique_ptr<curl_slist, FreeList> header_list(headers);
  curl_easy_setopt(easy.get(), CURLOPT_HTTPHEADER, header_list.get());

  CURLcode code = Perform(easy.get(), go_on);
  bool listened = code != CURLE_COULDNT_CONNECT;
  while (!listened && go_on()) {
    Pause();
    code = Perform(easy.get(), go_on);
    listened = code != CURLE_COULDNT_CONNECT && code != CURLE_ABORTED_BY_CALLBACK;
  }
  DriveResult result;
  long status = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  result.http_status = status;
  result.answered = code == CURLE_OK;
  if (code != CURLE_OK)
    result.error = listened ? curl_easy_strerror(code) : "nothing listened at " + request.url;
  return result;
}

}  // namespace reenact::replayer
