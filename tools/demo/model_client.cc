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

