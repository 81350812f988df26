// Where the proxy may not connect to, and by which names it may be spoken to. It holds credentials
// of whoever uses it in its hands: a page in a browser, or a redirected name, must not reach
// through it to a cloud's metadata service, to itself, or to a neighbour.

#ifndef REENACT_RECORDER_PROXY_ADDRESS_RULES_H_
#define REENACT_RECORDER_PROXY_ADDRESS_RULES_H_

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace reenact::proxy {

// An address after name resolution. IPv4 inside IPv6 (mapped, NAT64) counts as what is inside.
class SocketAddress {
 public:
  SocketAddress(const sockaddr* address, socklen_t size);

  // Link-local, multicast, and the addresses at which clouds serve metadata and credentials. Also
  // what is no IP address.
  bool IsForbidden() const;
  // Also 0.0.0.0 and ::, which connect to this machine.
  bool IsLoopback() const;

  // Loopback in any spelling, with this port.
  bool IsLoopbackPort(uint16_t port) const { return port_ == port && IsLoopback(); }

  std::string text() const;

 private:
  enum class Family { kNone, kV4, kV6 };

  Family family_ = Family::kNone;
  std::array<uint8_t, 16> bytes_{};  // The first four for IPv4.
  uint16_t port_ = 0;
};

// "localhost", "127.0.0.1", "[::1]", each with or without a port: what a Host header may say to a
// server that is only for this machine.
bool IsLoopbackAuthority(std::string_view authority);
// True for URLs whose host is an address, in any spelling, that IsForbidden.
bool IsForbiddenUrl(std::string_view url);

}  // namespace reenact::proxy

#endif  // REENACT_RECORDER_PROXY_ADDRESS_RULES_H_
