#include "recorder/proxy/admission.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "recorder/proxy/address_rules.h"
#include "recorder/proxy/http_head.h"

namespace reenact::proxy {
namespace {

constexpr std::string_view kHealthPath = "/reenact/health";

bool IsWholeUrl(std::string_view target) {
  return target.starts_with("http://") || target.starts_with("https://");
}

OwnAnswer Health(const ProxyReport& report) {
  return MakeOwnJson("{\"status\":\"ok\",\"in_flight\":" + std::to_string(report.in_flight) + "}");
}

// What is not for an upstream. Nothing: it is.
std::optional<OwnAnswer> OwnAnswerTo(const ClientRequest& request, ProxyReport* report) {
  const Headers& headers = request.headers;
  if (request.method == "CONNECT") {
    const std::string host = request.target.substr(0, request.target.rfind(':'));
    ++report->not_seen[host];
    return MakeOwnError(
        405, "no_tunnels",
        "a tunnel to " + host + " cannot be recorded; give the client a base URL of a route");
  }
  if (!IsWholeUrl(request.target) && !IsLoopbackAuthority(FindHeader(headers, "host"))) {
    return MakeOwnError(421, "foreign_host", "the Host header names another machine");
  }
  if (EqualsIgnoringCase(FindHeader(headers, "sec-fetch-site"), "cross-site")) {
    return MakeOwnError(403, "cross_site", "a web page may not use this proxy");
  }
  const std::string_view upgrade = FindHeader(headers, "upgrade");
  if (HasToken(headers, "connection", "upgrade") && !upgrade.empty()) {
    ++report->not_seen[std::string(upgrade) + " connection"];
    return MakeOwnError(501, "no_upgrades", "WebSockets and the like cannot be recorded");
  }
  if (request.target == kHealthPath) return Health(*report);
  return std::nullopt;
}

std::optional<Destination> DestinationOf(const ClientRequest& request, const ProxyCore& core) {
  const RouteTable& routes = core.options.routes;
  if (!IsWholeUrl(request.target)) return routes.Resolve(request.target);
  std::optional<Destination> whole = ResolveWholeUrl(request.target);
  if (!whole || !request.target.starts_with("http://")) return std::nullopt;
  // Clients that have this proxy as their HTTP proxy and a route of it as their base URL.
  const std::string own = ":" + std::to_string(core.upstream.own_port);
  if (whole->host.ends_with(own) && IsLoopbackAuthority(whole->host)) {
    return routes.Resolve(whole->target);
  }
  return whole;
}

}  // namespace

Admission Admit(const ClientRequest& request, ProxyCore* core) {
  if (std::optional<OwnAnswer> answer = OwnAnswerTo(request, &core->report)) {
    return *std::move(answer);
  }
  if (std::optional<Destination> destination = DestinationOf(request, *core)) {
    return *std::move(destination);
  }
  std::string known;
  for (const Route& route : core->options.routes.routes()) known += " /" + route.name;
  return MakeOwnError(404, "no_route",
                      "no route for " + request.method + " to this path; routes:" + known);
}

}  // namespace reenact::proxy
