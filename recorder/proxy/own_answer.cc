#include "recorder/proxy/own_answer.h"

#include <utility>

#include <boost/beast/http/status.hpp>
#include <nlohmann/json.hpp>

#include "recorder/proxy/transfer.h"

namespace reenact::proxy {
namespace {

std::string Dump(const nlohmann::ordered_json& json) {
  // What a client sent may be no UTF-8.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string CodeFor(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return "upstream_name_unknown";
    case CURLE_OPERATION_TIMEDOUT:
      return "upstream_timeout";
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return "upstream_tls";
    case CURLE_COULDNT_CONNECT:
      return "upstream_unreachable";
    default:
      return "upstream_failed";
  }
}

}  // namespace

std::string OwnAnswer::Serialize(std::string_view method, bool keep_alive) const {
  const auto reason = boost::beast::http::obsolete_reason(
      boost::beast::http::int_to_status(static_cast<unsigned>(status)));
  std::string out = "HTTP/1.1 " + std::to_string(status) + " " + std::string(reason) + "\r\n";
  for (const auto& [name, value] : headers) out += name + ": " + value + "\r\n";
  if (!keep_alive) out += "Connection: close\r\n";
  out += "\r\n";
  if (method != "HEAD") out += body;
  return out;
}

OwnAnswer MakeOwnJson(std::string body) {
  OwnAnswer answer;
  answer.status = 200;
  answer.body = std::move(body);
  answer.headers = {{"Content-Type", "application/json"},
                    {"Content-Length", std::to_string(answer.body.size())}};
  return answer;
}

OwnAnswer MakeOwnError(int status, std::string code, std::string_view message) {
  nlohmann::ordered_json error;
  error["message"] = "reenact proxy: " + std::string(message);
  error["type"] = "proxy_error";
  error["param"] = nullptr;
  error["code"] = code;
  OwnAnswer answer = MakeOwnJson(Dump({{"error", std::move(error)}}));
  answer.status = status;
  answer.headers.emplace_back("x-reenact-proxy", code);
  if (status < 500) answer.headers.emplace_back("x-should-retry", "false");
  answer.code = std::move(code);
  return answer;
}

OwnAnswer AnswerForFailure(std::string_view host, const TransferEnd& end) {
  const std::string to(host);
  if (!end.refused_address.empty()) {
    return MakeOwnError(403, "upstream_refused",
                        to + " is " + end.refused_address +
                            ", where nothing is passed on to: link-local, metadata, or this proxy");
  }
  const int status = end.code == CURLE_OPERATION_TIMEDOUT ? 504 : 502;
  return MakeOwnError(status, CodeFor(end.code), "no answer from " + to + ": " + end.message);
}

}  // namespace reenact::proxy
