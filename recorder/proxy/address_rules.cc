#include "recorder/proxy/address_rules.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "recorder/proxy/http_head.h"

namespace reenact::proxy {
namespace {

using V4 = std::array<uint8_t, 4>;

bool StartsWith(const std::array<uint8_t, 16>& bytes, std::initializer_list<uint8_t> prefix) {
  return std::equal(prefix.begin(), prefix.end(), bytes.begin());
}

bool IsForbiddenV4(const V4& a) {
  if (a == V4{}) return false;                   // This machine; see IsLoopback.
  if (a[0] == 0 || a[0] >= 224) return true;     // "This network"; multicast and what is above.
  if (a[0] == 169 && a[1] == 254) return true;   // Link-local: metadata of most clouds.
  if (a == V4{100, 100, 100, 200}) return true;  // Metadata of Alibaba's.
  if (a == V4{168, 63, 129, 16}) return true;    // Azure's wire server.
  return a == V4{192, 0, 0, 192};                // Metadata of Oracle's.
}

bool IsForbiddenV6(const std::array<uint8_t, 16>& a) {
  if (a[0] == 0xff) return true;                           // Multicast.
  if (a[0] == 0xfe && (a[1] & 0xc0) == 0x80) return true;  // Link-local.
  return StartsWith(a, {0xfd, 0x00, 0x0e, 0xc2});          // Metadata of Amazon's.
}

// The host of "host:port" or "[v6]:port", with and without a port; empty where it is neither.
std::string_view HostOf(std::string_view authority) {
  const bool bracketed = authority.starts_with('[');
  const size_t end = std::min(authority.find(bracketed ? ']' : ':'), authority.size());
  if (bracketed && end == authority.size()) return {};
  const std::string_view port = authority.substr(bracketed ? end + 1 : end);
  const bool is_port =
      port.empty() || (port[0] == ':' && port.find_first_not_of("0123456789", 1) == port.npos);
  if (!is_port) return {};
  return bracketed ? authority.substr(1, end - 1) : authority.substr(0, end);
}

}  // namespace

SocketAddress::SocketAddress(const sockaddr* address, socklen_t size) {
  if (address->sa_family == AF_INET && size >= sizeof(sockaddr_in)) {
    sockaddr_in v4;
    std::memcpy(&v4, address, sizeof(v4));
    family_ = Family::kV4;
    port_ = ntohs(v4.sin_port);
    std::memcpy(bytes_.data(), &v4.sin_addr, 4);
  } else if (address->sa_family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    sockaddr_in6 v6;
    std::memcpy(&v6, address, sizeof(v6));
    family_ = Family::kV6;
    port_ = ntohs(v6.sin6_port);
    std::memcpy(bytes_.data(), &v6.sin6_addr, 16);
    const bool mapped = StartsWith(bytes_, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff});
    const bool nat64 = StartsWith(bytes_, {0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0});
    if (mapped || nat64) {
      family_ = Family::kV4;
      std::copy(bytes_.begin() + 12, bytes_.end(), bytes_.begin());
      std::fill(bytes_.begin() + 4, bytes_.end(), uint8_t{0});
    }
  }
}

bool SocketAddress::IsForbidden() const {
  switch (family_) {
    case Family::kV4:
      return IsForbiddenV4({bytes_[0], bytes_[1], bytes_[2], bytes_[3]});
    case Family::kV6:
      return IsForbiddenV6(bytes_);
    case Family::kNone:
      break;
  }
  return true;
}

bool SocketAddress::IsLoopback() const {
  constexpr std::array<uint8_t, 16> kUnspecified{};
  constexpr std::array<uint8_t, 16> kV6Loopback{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  if (bytes_ == kUnspecified) return family_ != Family::kNone;
  if (family_ == Family::kV4) return bytes_[0] == 127;
  return family_ == Family::kV6 && bytes_ == kV6Loopback;
}

std::string SocketAddress::text() const {
  char text[INET6_ADDRSTRLEN] = {};
  if (family_ == Family::kNone) return "no IP address";
  inet_ntop(family_ == Family::kV4 ? AF_INET : AF_INET6, bytes_.data(), text, sizeof(text));
  return text;
}

bool IsLoopbackAuthority(std::string_view authority) {
  const std::string host(HostOf(authority));
  if (EqualsIgnoringCase(host, "localhost")) return true;
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    return ntohl(v4.s_addr) >> 24 == 127 || v4.s_addr == INADDR_ANY;
  }
  in6_addr v6{};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

bool IsForbiddenUrl(std::string_view url) {
  const size_t scheme_end = url.find("://");
  if (scheme_end == std::string_view::npos) return false;
  url.remove_prefix(scheme_end + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  const std::string_view named = HostOf(url.substr(url.rfind('@') + 1));
  const std::string host(named.substr(0, named.find('%')));  // Without the zone of IPv6.
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  if (inet_aton(host.c_str(), &v4.sin_addr) == 1) {
    return SocketAddress(reinterpret_cast<const sockaddr*>(&v4), sizeof(v4)).IsForbidden();
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  return inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1 &&
         SocketAddress(reinterpret_cast<const sockaddr*>(&v6), sizeof(v6)).IsForbidden();
}

}  // namespace reenact::proxy
