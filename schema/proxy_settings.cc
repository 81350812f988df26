#include "schema/proxy_settings.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <optional>

#include "schema/internal/text_classes.h"
#include "schema/internal/url_parts.h"

namespace reenact::schema {
namespace {

using internal::AuthorityOf;

// A password that is shorter would, as a secret, eat ordinary text.
constexpr size_t kShortestPassword = 8;

struct HostAndPort {
  std::string_view host;  // Without the brackets of IPv6.
  std::string_view port;  // Empty where there is none.
};

HostAndPort SplitAuthority(std::string_view authority) {
  if (authority.starts_with('[')) {
    const size_t end = std::min(authority.find(']'), authority.size());
    const std::string_view rest = authority.substr(std::min(end + 1, authority.size()));
    return {authority.substr(1, end - 1), rest.starts_with(':') ? rest.substr(1) : rest};
  }
  const size_t colon = authority.find(':');
  // More than one: an IPv6 address of NO_PROXY, without brackets.
  if (colon == std::string_view::npos || authority.find(':', colon + 1) != std::string_view::npos) {
    return {authority, {}};
  }
  return {authority.substr(0, colon), authority.substr(colon + 1)};
}

// An IP address as IPv6 has it; IPv4 in every spelling that a resolver takes: "127.1",
// "0x7f000001".
using Address = std::array<uint8_t, 16>;

Address Mapped(const in_addr& v4) {
  Address address{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  std::memcpy(address.data() + 12, &v4, 4);
  return address;
}

std::optional<Address> AddressIn(const std::string& host) {
  in_addr v4{};
  // What inet_aton takes may go on after a space.
  if (host.find(' ') == std::string::npos && inet_aton(host.c_str(), &v4) == 1) return Mapped(v4);
  Address v6{};
  if (inet_pton(AF_INET6, host.c_str(), v6.data()) == 1) return v6;
  return std::nullopt;
}

bool IsThisMachine(const std::string& host) {
  if (host == "localhost" || host.ends_with(".localhost")) return true;  // RFC 6761, 6.3
  const std::optional<Address> address = AddressIn(host);
  if (!address) return false;
  // The unspecified address connects to this machine.
  if (*address == Address{} || *address == Mapped({INADDR_ANY})) return true;
  constexpr Address kLoopback6{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  const bool is_v4 = std::equal(address->begin(), address->begin() + 12, Mapped({}).begin());
  return *address == kLoopback6 || (is_v4 && (*address)[12] == 127);
}

bool SameBits(const Address& a, const Address& b, unsigned bits) {
  const unsigned bytes = bits / 8;
  if (!std::equal(a.begin(), a.begin() + bytes, b.begin())) return false;
  return bits % 8 == 0 || (a[bytes] ^ b[bytes]) >> (8 - bits % 8) == 0;
}

// "10.0.0.0/8", "fd00::/8".
bool IsInRange(const Address& address, const std::string& range) {
  const size_t slash = range.find('/');
  const std::optional<Address> base = AddressIn(range.substr(0, slash));
  unsigned bits = 0;
  const char* const end = range.data() + range.size();
  const auto read = std::from_chars(range.data() + slash + 1, end, bits);
  if (!base || read.ec != std::errc() || read.ptr != end) return false;
  const bool is_v4 = range.find(':') == std::string::npos;
  if (bits > (is_v4 ? 32u : 128u)) return false;
  return SameBits(address, *base, is_v4 ? bits + 96 : bits);
}

// A name stands for itself and for what is below it, whether or not it begins with a dot.
bool IsAtOrBelow(std::string_view host, std::string_view name) {
  if (name.starts_with('*')) name.remove_prefix(1);
  if (name.starts_with('.')) name.remove_prefix(1);
  if (name.empty() || !host.ends_with(name)) return false;
  return host.size() == name.size() || host[host.size() - name.size() - 1] == '.';
}

std::string HostForm(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  return internal::LowerCase(host);
}

std::vector<std::string> SplitList(std::string_view list) {
  std::vector<std::string> items;
  while (!list.empty()) {
    const size_t end = std::min(list.find_first_of(", \t"), list.size());
    if (end != 0) items.push_back(internal::LowerCase(list.substr(0, end)));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return items;
}

std::string PercentDecoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const std::string_view digits = text.substr(std::min(i + 1, text.size()), 2);
    const bool is_escape = text[i] == '%' && digits.size() == 2 && internal::IsAllHex(digits);
    if (is_escape) {
      std::from_chars(digits.data(), digits.data() + 2, value, 16);
      i += 2;
    }
    decoded.push_back(is_escape ? static_cast<char>(value) : text[i]);
  }
  return decoded;
}

std::string WithScheme(std::string_view url) {
  const bool has_scheme = url.find("://") != std::string_view::npos;
  return has_scheme ? std::string(url) : "http://" + std::string(url);
}

}  // namespace

ProxySettings::ProxySettings(const std::function<const char*(const char*)>& variable) {
  const auto first_of = [&variable](std::initializer_list<const char*> names) -> std::string {
    for (const char* name : names) {
      const char* const value = variable(name);
      if (value != nullptr && *value != '\0') return value;
    }
    return "";
  };
  const bool is_cgi = variable("REQUEST_METHOD") != nullptr;
  const std::string all = first_of({"all_proxy", "ALL_PROXY"});
  http_ = first_of({"http_proxy", is_cgi ? "http_proxy" : "HTTP_PROXY"});
  https_ = first_of({"https_proxy", "HTTPS_PROXY"});
  if (http_.empty()) http_ = all;
  if (https_.empty()) https_ = all;
  straight_ = SplitList(first_of({"no_proxy", "NO_PROXY"}));
}

ProxySettings ProxySettings::OfEnvironment() {
  return ProxySettings([](const char* name) -> const char* { return std::getenv(name); });
}

std::string ProxySettings::For(std::string_view url) const {
  const std::string scheme = internal::LowerCase(url.substr(0, url.find("://")));
  const std::string& proxy = scheme == "https" ? https_ : http_;
  if (proxy.empty() || (scheme != "https" && scheme != "http")) return "";
  HostAndPort target = SplitAuthority(AuthorityOf(url));
  if (target.port.empty()) target.port = scheme == "https" ? "443" : "80";
  return GoesStraight(target.host, target.port) ? "" : proxy;
}

bool ProxySettings::GoesStraight(std::string_view given_host, std::string_view port) const {
  const std::string host = HostForm(given_host);
  if (IsThisMachine(host)) return true;
  const std::optional<Address> address = AddressIn(host);
  return std::any_of(straight_.begin(), straight_.end(), [&](const std::string& item) {
    if (item == "*") return true;
    if (item.find('/') != std::string::npos) return address && IsInRange(*address, item);
    const HostAndPort own = SplitAuthority(item);
    if (!own.port.empty() && own.port != port) return false;
    const std::string name = HostForm(own.host);
    return address ? AddressIn(name) == address : IsAtOrBelow(host, name);
  });
}

std::vector<std::string> ProxySettings::Credentials() const {
  std::vector<std::string> all = CredentialsIn(http_);
  for (std::string& credential : CredentialsIn(https_)) all.push_back(std::move(credential));
  return all;
}

std::string ProxyAddress(std::string_view proxy) {
  const std::string url = WithScheme(proxy);
  return std::string(AuthorityOf(url));
}

std::vector<std::string> CredentialsIn(std::string_view given) {
  const std::string url = WithScheme(given);
  const size_t begin = url.find("://") + 3;
  const std::string_view authority =
      std::string_view(url).substr(begin, url.find_first_of("/?#", begin) - begin);
  const size_t end = authority.rfind('@');
  const size_t colon = authority.find(':');
  if (end == std::string_view::npos || colon >= end) return {};
  std::vector<std::string> credentials = {PercentDecoded(authority.substr(0, end))};
  std::string password = PercentDecoded(authority.substr(colon + 1, end - colon - 1));
  if (password.size() >= kShortestPassword) credentials.push_back(std::move(password));
  return credentials;
}

}  // namespace reenact::schema
