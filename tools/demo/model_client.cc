#include "model_client.h"

#include <curl/curl.h>

#include <stdexcept>
#include <string_view>

#include <reenact/reenact_curl.hpp>

namespace demo {
namespace {

struct CurlHandle {
  CURL* easy = curl_easy_init();
  curl_slist* headers = nullptr;

  CurlHandle() = default;
  CurlHandle(const CurlHandle&) = delete;
  CurlHandle& operator=(const CurlHandle&) = delete;

  ~CurlHandle() {
    curl_slist_free_all(headers);
    curl_easy_cleanup(easy);
  }

  void AddHeader(const char* line) { headers = curl_slist_append(headers, line); }
};

}  // namespace

void AskModel(reenact::Seam& seam, const std::string& provider_url, const std::string& request,
              ChatStream* stream) {
  const std::string url = provider_url + "/chat/completions";
  CurlHandle curl;
  if (curl.easy == nullptr) throw std::runtime_error("libcurl cannot be used");
  curl.AddHeader("content-type: application/json");
  curl.AddHeader("authorization: Bearer sk-demo-0000000000000000000000");
  curl_easy_setopt(curl.easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.easy, CURLOPT_HTTPHEADER, curl.headers);
  curl_easy_setopt(curl.easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.size()));
  curl_easy_setopt(curl.easy, CURLOPT_POSTFIELDS, request.data());
  curl_easy_setopt(curl.easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.easy, CURLOPT_PROXY, "");

  reenact::CurlCallbacks callbacks;
  callbacks.write_data = stream;
  callbacks.write = [](char* data, size_t size, size_t count, void* user) -> size_t {
    static_cast<ChatStream*>(user)->Append({data, size * count});
    return size * count;
  };
  reenact::ModelCall call;
  call.provider = "openai";
  call.endpoint = url;
  call.request = request;
  call.headers = reenact::HeadersOf(curl.headers);
  const reenact::CurlAnswer answer = reenact::PerformCurl(seam, call, curl.easy, callbacks);
  if (answer.diverged) throw std::runtime_error(answer.error);
  if (answer.code != CURLE_OK)
    throw std::runtime_error("the model cannot be reached: " + answer.error);
  if (answer.status != 200) {
    throw std::runtime_error("the model answered HTTP " + std::to_string(answer.status));
  }
  if (!stream->ended()) throw std::runtime_error("the model's answer was cut off");
}

}  // namespace demo
