// The variables that make a program's clients speak to the proxy, and the routes that go with them.

#ifndef REENACT_TOOLS_REENACT_RECORD_PROXY_ENVIRONMENT_H_
#define REENACT_TOOLS_REENACT_RECORD_PROXY_ENVIRONMENT_H_

#include <string>
#include <string_view>
#include <vector>

#include "recorder/proxy/route.h"
#include "schema/recorded_command.h"

namespace reenact::tools {

// Of this process.
schema::Tags OwnEnvironment();
// Values of variables that are credentials by their name, and the credentials in URLs: of a
// database, of a proxy. They are to be found in no record.
std::vector<std::string> SecretsOf(const schema::Tags& environment);

struct ProxyEnvironment {
  // With schema::kProxyMark for the address of the proxy: {"OPENAI_BASE_URL", "{proxy}/openai/v1"}.
  schema::Tags variables;
  proxy::RouteTable routes;
  // Variables that were left as they are, and why.
  std::vector<std::string> warnings;
};

// `environment`: what the program would get. A base URL that is set there stays the upstream: the
// route of that name goes to it. `extra` routes come on top, and win. With `http_proxy` clients
// that honour HTTP_PROXY send their http:// requests through the proxy as well; without it, and
// with a proxy that the environment names, they are told to reach this machine straight.
ProxyEnvironment ProxyEnvironmentFor(const schema::Tags& environment,
                                     const std::vector<proxy::Route>& extra, bool http_proxy);

// The routes as they are recorded.
std::vector<schema::CommandRoute> RecordedRoutes(const proxy::RouteTable& routes);

// The value with the proxy's address in the place of the mark.
std::string WithProxyUrl(std::string_view value, std::string_view proxy_url);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_RECORD_PROXY_ENVIRONMENT_H_
