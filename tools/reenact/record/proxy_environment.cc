#include "tools/reenact/record/proxy_environment.h"

#include <unistd.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "schema/proxy_settings.h"

namespace reenact::tools {
namespace {

// A variable that clients read for their provider's base URL.
struct BaseUrlVariable {
  const char* name;
  const char* route;
  const char* path;  // What a base URL of this provider ends with.
  bool always;       // False: set only where it was set before.
};

// Sources: the clients themselves; which of them reads which is told in docs/guide.md.
constexpr BaseUrlVariable kVariables[] = {
    {"OPENAI_BASE_URL", "openai", "/v1", true},
    {"OPENAI_API_BASE", "openai", "/v1", true},
    {"ANTHROPIC_BASE_URL", "anthropic", "", true},
    {"GOOGLE_GEMINI_BASE_URL", "gemini", "", true},
    {"GROQ_BASE_URL", "groq", "", true},
    // These change what a client does when they are set at all.
    {"AZURE_OPENAI_ENDPOINT", "azure", "", false},
    {"GOOGLE_VERTEX_BASE_URL", "vertex", "", false},
    {"OLLAMA_HOST", "ollama", "", false},
};

const std::string* FindVariable(const schema::Tags& environment, std::string_view name) {
  const auto found = std::find_if(environment.begin(), environment.end(),
                                  [&](const auto& variable) { return variable.first == name; });
  return found == environment.end() || found->second.empty() ? nullptr : &found->second;
}

// "https://host" and "/base" of "https://host/base".
std::pair<std::string, std::string> SplitPath(const std::string& url) {
  const size_t path = url.find('/', url.find("://") + 3);
  if (path == std::string::npos) return {url, ""};
  return {url.substr(0, path), url.substr(path)};
}

// The name under which `origin` is routed: `wanted`, or another where that goes elsewhere already.
std::string RouteFor(std::string wanted, const std::string& origin, bool own,
                     proxy::RouteTable* routes) {
  std::string name = wanted;
  const proxy::Route* route = routes->Find(name);
  for (int i = 2; route != nullptr && route->upstream != origin && !own; ++i) {
    name = wanted + "-" + std::to_string(i);
    route = routes->Find(name);
  }
  if (route == nullptr || route->upstream != origin) routes->Set({name, origin});
  return name;
}

// One that clients would take for an http:// URL of this machine too.
bool NamesAProxy(const schema::Tags& environment) {
  for (const char* name : {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}) {
    if (FindVariable(environment, name) != nullptr) return true;
  }
  return false;
}

// A credential that is shorter would eat ordinary text.
constexpr size_t kShortestSecret = 8;

}  // namespace

schema::Tags OwnEnvironment() {
  schema::Tags environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

std::vector<std::string> SecretsOf(const schema::Tags& environment) {
  std::vector<std::string> secrets;
  for (const auto& [name, value] : environment) {
    if (value.size() < kShortestSecret) continue;
    if (schema::CommandVariable(name, value).second != value) secrets.push_back(value);
    if (value.find("://") == std::string::npos) continue;
    for (std::string& credential : schema::CredentialsIn(value)) {
      secrets.push_back(std::move(credential));
    }
  }
  return secrets;
}

ProxyEnvironment ProxyEnvironmentFor(const schema::Tags& environment,
                                     const std::vector<proxy::Route>& extra, bool http_proxy) {
  ProxyEnvironment out;
  for (const proxy::Route& route : proxy::WellKnownRoutes()) out.routes.Set(route);
  std::vector<std::string> redirected;
  for (const BaseUrlVariable& variable : kVariables) {
    const std::string* const given = FindVariable(environment, variable.name);
    std::string path = variable.path;
    std::string route = variable.route;
    if (given != nullptr) {
      const bool bare = given->find("://") == std::string::npos;
      auto upstream = proxy::ParseUpstream(bare ? "http://" + *given : *given);
      if (!upstream.ok()) {
        out.warnings.push_back(std::string(variable.name) +
                               " is left as it is: " + std::string(upstream.status().message()));
        continue;
      }
      std::string origin;
      std::tie(origin, path) = SplitPath(*upstream);
      // The first variable of a provider moves its route; a second that disagrees gets its own.
      const bool first = std::find(redirected.begin(), redirected.end(), route) == redirected.end();
      redirected.push_back(route);
      route = RouteFor(route, origin, first, &out.routes);
    } else if (!variable.always) {
      continue;
    }
    out.variables.emplace_back(variable.name, std::string(schema::kProxyMark) + "/" + route + path);
  }
  for (const proxy::Route& route : extra) out.routes.Set(route);
  if (http_proxy) {
    out.variables.emplace_back("HTTP_PROXY", schema::kProxyMark);
    out.variables.emplace_back("http_proxy", schema::kProxyMark);
  } else if (NamesAProxy(environment)) {
    const std::string* straight = FindVariable(environment, "no_proxy");
    if (straight == nullptr) straight = FindVariable(environment, "NO_PROXY");
    const std::string list = (straight == nullptr ? "" : *straight + ",") + "127.0.0.1,localhost";
    out.variables.emplace_back("NO_PROXY", list);
    out.variables.emplace_back("no_proxy", list);
  }
  return out;
}

std::vector<schema::CommandRoute> RecordedRoutes(const proxy::RouteTable& routes) {
  std::vector<schema::CommandRoute> recorded;
  for (const proxy::Route& route : routes.routes()) {
    recorded.push_back({route.name, "/" + route.name, route.upstream, route.implied_path});
  }
  return recorded;
}

std::string WithProxyUrl(std::string_view value, std::string_view proxy_url) {
  std::string out(value);
  const size_t mark = out.find(schema::kProxyMark);
  if (mark != std::string::npos) out.replace(mark, schema::kProxyMark.size(), proxy_url);
  return out;
}

}  // namespace reenact::tools
