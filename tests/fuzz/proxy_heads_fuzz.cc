// Heads of answers as upstreams send them, and what a client's request line and headers say about
// where it wants to go: what is passed on is what came, less what concerns one connection, and a
// destination is named by the host that libcurl will connect to.

#include <arpa/inet.h>
#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include "recorder/proxy/address_rules.h"
#include "recorder/proxy/http_head.h"
#include "recorder/proxy/route.h"
#include "schema/trace_context.h"
#include "tests/fuzz/fuzz_target.h"

namespace reenact::fuzz::proxy_heads {
namespace {

using proxy::AnswerHead;
using proxy::AnswerHeadReader;
using proxy::Headers;

std::string HostOfCurl(const std::string& url) {
  const std::unique_ptr<CURLU, void (*)(CURLU*)> parsed(curl_url(), &curl_url_cleanup);
  char* text = nullptr;
  if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), CURLU_PATH_AS_IS) != CURLUE_OK ||
      curl_url_get(parsed.get(), CURLUPART_HOST, &text, 0) != CURLUE_OK) {
    return {};
  }
  std::string host(text);
  curl_free(text);
  return host;
}

void CheckDestination(const proxy::Destination& destination) {
  const std::string host = HostOfCurl(destination.url);
  if (host.empty()) Broken("a destination without a host: " + destination.url);
  in_addr number{};
  if (inet_pton(AF_INET, host.c_str(), &number) == 1) return Reached();
  if (!proxy::EqualsIgnoringCase(std::string_view(destination.host).substr(0, host.size()), host)) {
    Broken("named " + destination.host + ", connected to " + host + ": " + destination.url);
  }
  if (!destination.target.starts_with('/')) Broken("a target that is no path");
  Reached();
}

void CheckWhere(const std::string& line) {
  if (const auto destination = proxy::ResolveWholeUrl(line)) CheckDestination(*destination);
  proxy::RouteTable routes;
  for (const proxy::Route& known : proxy::WellKnownRoutes()) routes.Set(known);
  if (const auto route = proxy::ParseRoute(line); route.ok()) {
    routes.Set(*route);
    const auto destination = routes.Resolve('/' + route->name + "/v1/models?limit=2");
    if (!destination || destination->route != route->name) Broken("a route that leads nowhere");
    CheckDestination(*destination);
  }
  if (const auto destination = routes.Resolve(line)) {
    if (routes.Find(destination->route) == nullptr) Broken("a destination of no route");
    CheckDestination(*destination);
  }
  const std::string trace = schema::ParseTraceId(line);
  if (!trace.empty() && (trace.size() != 32 || schema::ParseTraceId(trace) != trace)) {
    Broken("a trace id that is none: " + trace);
  }
  if (proxy::IsLoopbackAuthority(line) && line.find_first_of("/?#@ \t") != std::string::npos) {
    Broken("an authority of more than a host");
  }
}

void CheckHead(const AnswerHead& head) {
  const Headers kept = proxy::EndToEndHeaders(head.headers);
  if (proxy::EndToEndHeaders(kept) != kept) Broken("what is passed on would not be");
  for (const auto& header : kept) {
    if (std::find(head.headers.begin(), head.headers.end(), header) == head.headers.end()) {
      Broken("a header that did not come");
    }
    if (proxy::HasToken(head.headers, "connection", header.first)) Broken("of one connection");
    if (header.second.find('\n') != std::string::npos) Broken("two lines in one");
  }
  const bool said = std::any_of(head.headers.begin(), head.headers.end(), [](const auto& header) {
    return proxy::EqualsIgnoringCase(header.first, "content-length") && !header.second.empty();
  });
  if (head.content_length && !said) Broken("a length that nobody said");
}

}  // namespace

void FuzzOne(std::string_view bytes) {
  AnswerHeadReader reader;
  while (!bytes.empty()) {
    const size_t size = std::min(bytes.find('\n'), bytes.size() - 1) + 1;
    const std::string_view line = bytes.substr(0, size);
    bytes.remove_prefix(size);
    const bool had_head = reader.has_head();
    const AnswerHeadReader::Event event = reader.Read(line);
    if (event == AnswerHeadReader::Event::kTrailer && !had_head) Broken("a trailer before a head");
    if (event == AnswerHeadReader::Event::kHead && had_head) Broken("a second head");
    if (event == AnswerHeadReader::Event::kHead || event == AnswerHeadReader::Event::kInterim) {
      CheckHead(reader.head());
    }
    CheckWhere(std::string(line.substr(0, line.find_first_of("\r\n"))));
  }
}

std::vector<std::string> Seeds() {
  return {
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
      "Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nTransfer-Encoding: chunked\r\n\r\nx-sum: 1\r\n",
      "HTTP/2 429\r\nretry-after: 2\r\ncontent-length: 17\r\nfolded: a\r\n b\r\n\r\n",
      "http://127.0.0.1:8080/v1/models?limit=2\nhttp://api.example.com\nhttps://[::1]:443/a\n"
      "/openai/v1/chat/completions\n/anthropic/messages?beta=true\n/ollama\n",
      "up=https://host.example:8443/base/\nlocal=http://127.0.0.1:9\n",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n4bf92f3577b34da6a3ce929d0e0e4736\n",
      "localhost:80\n127.0.0.1\n[::1]:9\n"};
}

std::vector<std::string> Tokens() {
  return {"http://",
          "https://",
          "HTTP/1.1 ",
          "://",
          "@",
          "\\",
          "#",
          "?",
          "%2f",
          "[",
          "]",
          ":",
          "//",
          "\r\n",
          "connection: ",
          "content-length: ",
          "transfer-encoding: ",
          "openai",
          "x=http:",
          "-01",
          "\t"};
}

const bool added = AddTarget({"proxy_heads", FuzzOne, Seeds, Tokens});

}  // namespace reenact::fuzz::proxy_heads
