// Which hosts a program asks for and connects to while it is recorded: what went past the recording
// proxy is then named, not guessed at. Only told, never changed. Each process tells each once.
//
// Not seen: what reaches the kernel past libc (static programs, Go), datagrams without connect, and
// names that a resolver of the program's own looks up.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "clock_shim/preload/path_text.h"
#include "clock_shim/preload/real_calls.h"
#include "clock_shim/preload/start.h"
#include "clock_shim/preload/thread_tape.h"

namespace {

using namespace reenact::clock_shim;

// Found before they are needed: after fork in a program of many threads the loader's lock may be
// held by a thread that is no more.
constinit Next next_connect("connect");
constinit Next next_getaddrinfo("getaddrinfo");

// Hashes of lines that this process has told. When it is full, lines are told again.
constexpr size_t kToldCount = 256;
uint32_t told[kToldCount];

bool IsNew(const char* line) {
  uint32_t hash = 2166136261u;
  for (const char* at = line; *at != '\0'; ++at) {
    hash = (hash ^ static_cast<uint8_t>(*at)) * 16777619u;
  }
  if (hash == 0) hash = 1;
  for (size_t i = 0; i < kToldCount; ++i) {
    uint32_t* const slot = &told[(hash + i) % kToldCount];
    uint32_t empty = 0;
    if (__atomic_compare_exchange_n(slot, &empty, hash, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
      return true;
    }
    if (empty == hash) return false;
  }
  return true;
}

void Tell(const PathText& line) {
  if (line.ok() && IsNew(line.text())) NoteConnection(line.text());
}

void TellPeer(const sockaddr* address, socklen_t size) {
  if (mode() != Mode::kRecord || address == nullptr) return;
  char text[INET6_ADDRSTRLEN];
  if (address->sa_family == AF_INET && size >= sizeof(sockaddr_in)) {
    const auto* const v4 = reinterpret_cast<const sockaddr_in*>(address);
    if (inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text)) == nullptr) return;
    // Port 0 sends nothing: resolvers ask so for their own address.
    if (v4->sin_port == 0) return;
    Tell(PathText(kToPrefix).Add(text).Add(":").AddNumber(ntohs(v4->sin_port)));
  } else if (address->sa_family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    const auto* const v6 = reinterpret_cast<const sockaddr_in6*>(address);
    if (inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text)) == nullptr) return;
    if (v6->sin6_port == 0) return;
    Tell(PathText(kToPrefix).Add("[").Add(text).Add("]:").AddNumber(ntohs(v6->sin6_port)));
  }
}

void TellName(const char* name) {
  if (mode() != Mode::kRecord || name == nullptr) return;
  for (const char* at = name; *at != '\0'; ++at) {
    if (*at <= ' ' || *at == 127) return;  // No name, and it would break the line.
  }
  Tell(PathText(kNamePrefix).Add(name));
}

}  // namespace

namespace reenact::clock_shim {

void PrepareConnections() {
  next_connect.Find();
  next_getaddrinfo.Find();
}

}  // namespace reenact::clock_shim

REENACT_STANDS_FOR int connect(int fd, const sockaddr* address, socklen_t size) {
  const int before = errno;
  TellPeer(address, size);
  errno = before;
  return next_connect.As<decltype(::connect)>()(fd, address, size);
}

REENACT_STANDS_FOR int getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                                   addrinfo** found) {
  const int before = errno;
  TellName(name);
  errno = before;
  return next_getaddrinfo.As<decltype(::getaddrinfo)>()(name, service, hints, found);
}
