// The proxy's side that clients see: whatever one sends, it gets answers of HTTP, the connection
// ends, and nothing of it stays. A planner answers in the place of every upstream, so that no input
// can make a connection.

#include <sys/socket.h>

#include <cstdlib>

#include "recorder/proxy/proxy.h"
#include "recorder/proxy/request_plan.h"
#include "reenact/reenact.hpp"
#include "tests/fuzz/fuzz_target.h"
#include "tests/recorder/proxy/loopback.h"

namespace reenact::fuzz::proxy_client {
namespace {

class Everything final : public proxy::RequestPlanner {
 public:
  proxy::RequestPlan Plan(const proxy::WholeRequest& request) override {
    if (request.target.empty()) Broken("a request without a target");
    if (request.target.find_first_of("\r\n ") != std::string_view::npos) Broken("two targets");
    Reached();
    proxy::RequestPlan plan;
    plan.answer.emplace();
    plan.answer->status = 200;
    plan.answer->headers = {{"content-type", "application/json"}};
    plan.answer->pieces = {std::string(request.body), "{}"};
    return plan;
  }
};

// Never stopped: a target may end at any moment.
uint16_t PortOfProxy(const proxy::Proxy** started) {
  static proxy::Proxy* const running = [] {
    proxy::ProxyOptions options;
    for (const proxy::Route& route : proxy::WellKnownRoutes()) options.routes.Set(route);
    options.recorder = new Recorder();
    options.planner = new Everything();
    auto made = proxy::Proxy::Start(std::move(options));
    if (!made.ok()) Broken("no proxy: " + std::string(made.status().message()));
    return made->release();
  }();
  *started = running;
  const std::string url = running->url();
  return static_cast<uint16_t>(std::atoi(url.substr(url.rfind(':') + 1).c_str()));
}

}  // namespace

void FuzzOne(std::string_view bytes) {
  const proxy::Proxy* running = nullptr;
  const auto client = testing::Socket::Connect(PortOfProxy(&running));
  client->Send(bytes);
  shutdown(client->fd(), SHUT_WR);
  const std::string answers = client->ReadAll();
  if (!answers.empty() && !answers.starts_with("HTTP/1.1 ")) Broken("no answer of HTTP");
  if (running->report().in_flight != 0) Broken("an exchange is left");
}

std::vector<std::string> Seeds() {
  const std::string host = "Host: 127.0.0.1\r\n";
  const std::string chat = R"({"model":"m","messages":[]})";
  const std::string post = "POST /openai/v1/chat/completions HTTP/1.1\r\n" + host +
                           "Content-Type: application/json\r\nx-reenact-run: r1\r\n"
                           "x-stainless-retry-count: 1\r\n";
  return {post + "Content-Length: " + std::to_string(chat.size()) + "\r\n\r\n" + chat,
          post +
              "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n2;x=y\r\n"
              "1}\r\n0\r\nx-sum: 1\r\n\r\n",
          "GET /anthropic/v1/models HTTP/1.1\r\n" + host + "\r\nGET /reenact/health HTTP/1.1\r\n" +
              host + "\r\nHEAD /nowhere HTTP/1.0\r\n\r\n",
          "GET http://tools.example/lookup?id=7 HTTP/1.1\r\nHost: tools.example\r\n"
          "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n\r\n",
          "CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n",
          "GET /openai/v1/realtime HTTP/1.1\r\n" + host +
              "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
          post + "Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00"};
}

std::vector<std::string> Tokens() {
  return {"GET ",
          "POST ",
          " HTTP/1.1\r\n",
          " HTTP/1.0\r\n",
          "\r\n",
          "\r\n\r\n",
          "Host: ",
          "Content-Length: 0",
          "Transfer-Encoding: chunked\r\n",
          "Connection: close\r\n",
          "/openai/",
          "http://127.0.0.1:9/",
          "0\r\n\r\n",
          "Expect: 100-continue\r\n",
          "Content-Encoding: br\r\n",
          "traceparent: ",
          "x-reenact-run: ",
          "Sec-Fetch-Site: cross-site\r\n"};
}

const bool added = AddTarget({"proxy_client", FuzzOne, Seeds, Tokens});

}  // namespace reenact::fuzz::proxy_client
