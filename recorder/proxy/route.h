// Which upstream a request is for. Clients are given "http://127.0.0.1:PORT/NAME" in the place of
// "https://host/base"; what follows NAME is the upstream's own, and nothing of it is changed.

#ifndef REENACT_RECORDER_PROXY_ROUTE_H_
#define REENACT_RECORDER_PROXY_ROUTE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace reenact::proxy {

struct Route {
  std::string name;      // "openai": letters, digits, '-', '_', '.'. "reenact" is the proxy's own.
  std::string upstream;  // "https://api.openai.com", "http://127.0.0.1:8000/base": no final slash.
  // Put before a path that does not begin with it: clients differ in whether the base URL that they
  // are given holds it. "/v1" for Anthropic's own host; mostly empty.
  std::string implied_path = {};

  bool operator==(const Route&) const = default;
};

// The providers that every proxy knows by name.
const std::vector<Route>& WellKnownRoutes();

// "name=https://host/base". Errors: InvalidArgument, with what is wrong.
absl::StatusOr<Route> ParseRoute(std::string_view text);
// The URL alone: http or https, a host, no query, no credentials. Without its final slashes.
absl::StatusOr<std::string> ParseUpstream(std::string_view url);

// Where a request goes.
struct Destination {
  std::string route;   // Empty: a whole URL was given, as to an HTTP proxy.
  std::string url;     // Of the upstream, whole.
  std::string host;    // Its host and port: "api.openai.com".
  std::string target;  // Its path and query.
};

class RouteTable {
 public:
  // Replaces the route of that name, or adds it.
  void Set(Route route);
  const Route* Find(std::string_view name) const;

  const std::vector<Route>& routes() const { return routes_; }

  // The destination of "/openai/v1/models?limit=2". Nothing: no route has this name.
  std::optional<Destination> Resolve(std::string_view target) const;

 private:
  std::vector<Route> routes_;
};

// The destination of "http://host:8080/path", as it is sent to an HTTP proxy. Nothing: no such URL.
std::optional<Destination> ResolveWholeUrl(std::string_view url);

}  // namespace reenact::proxy

#endif  // REENACT_RECORDER_PROXY_ROUTE_H_
