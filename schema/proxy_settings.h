// The proxy settings of an environment, read in one way by whatever asks an upstream: HTTP_PROXY,
// HTTPS_PROXY, ALL_PROXY and NO_PROXY. Pure functions over the variables; no name is looked up.
//
// libcurl reads the same variables by itself, and that would not do: a list of hosts that is set on
// a handle takes the place of the user's NO_PROXY, and nobody hears which way was taken.

#ifndef REENACT_SCHEMA_PROXY_SETTINGS_H_
#define REENACT_SCHEMA_PROXY_SETTINGS_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace reenact::schema {

// The fact of an event whose upstream was reached through a proxy of the environment: its host and
// port. Absent: straight.
inline constexpr char kUpstreamProxyFact[] = "upstream_proxy";

class ProxySettings {
 public:
  // Straight everywhere.
  ProxySettings() = default;
  // `variable` gives the value of a name, nullptr where there is none. The names in lower case win,
  // and an empty value is none. With REQUEST_METHOD set, HTTP_PROXY is a header of a stranger's
  // (CGI), and not read.
  explicit ProxySettings(const std::function<const char*(const char*)>& variable);
  static ProxySettings OfEnvironment();

  // The proxy for an http or https URL, as it was set, with its credentials; empty: straight.
  // This machine is always reached straight, in whatever spelling.
  std::string For(std::string_view url) const;

  // What is secret in the URLs of the proxies: see CredentialsIn.
  std::vector<std::string> Credentials() const;

 private:
  bool GoesStraight(std::string_view host, std::string_view port) const;

  std::string http_;
  std::string https_;
  // NO_PROXY: names with all that is below them, addresses, ranges, "*"; each perhaps with a port.
  std::vector<std::string> straight_;
};

// "host:port" of a proxy's URL, which may lack its scheme, its credentials, and its port.
std::string ProxyAddress(std::string_view proxy);

// "user:password" and the password of a URL that has them.
std::vector<std::string> CredentialsIn(std::string_view url);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_PROXY_SETTINGS_H_
