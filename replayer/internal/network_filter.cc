#include "replayer/internal/network_filter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "absl/status/status.h"

#ifndef IPPROTO_SCTP
#define IPPROTO_SCTP 132
#endif

namespace reenact::replayer {
namespace {

using Kind = Judgement::Kind;

constexpr int kTypeMask = 0xf;  // Below SOCK_NONBLOCK and SOCK_CLOEXEC.
// The kernel itself sends no more messages at once.
constexpr size_t kMaxMessages = 1024;

// --- the caller's memory ---

bool ReadMemoryFile(pid_t pid, uint64_t address, void* out, size_t size) {
  const std::string path = "/proc/" + std::to_string(pid) + "/mem";
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t got = pread(fd, out, size, static_cast<off_t>(address));
  close(fd);
  return got == static_cast<ssize_t>(size);
}

bool ReadMemory(pid_t pid, uint64_t address, void* out, size_t size) {
  iovec local = {out, size};
  iovec remote = {reinterpret_cast<void*>(address), size};
  if (process_vm_readv(pid, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size)) return true;
  return ReadMemoryFile(pid, address, out, size);
}

// --- addresses ---

struct SocketAddress {
  sockaddr_storage storage{};
  size_t size = 0;

  sa_family_t family() const { return storage.ss_family; }
};

std::optional<SocketAddress> ReadAddress(pid_t pid, uint64_t address, uint64_t size) {
  SocketAddress result;
  // The kernel refuses longer ones by itself, whatever they hold.
  result.size = std::min<uint64_t>(size, sizeof(result.storage));
  if (result.size < sizeof(sa_family_t)) return std::nullopt;
  if (!ReadMemory(pid, address, &result.storage, result.size)) return std::nullopt;
  return result;
}

template <typename T>
T ViewAs(const SocketAddress& address) {
  T view{};
  memcpy(&view, &address.storage, sizeof(view));
  return view;
}

// 127/8; and 0.0.0.0, which means this machine.
bool IsLoopback4(uint32_t network_order) {
  const uint32_t address = ntohl(network_order);
  return address >> 24 == 127 || address == INADDR_ANY;
}

bool IsLoopback6(const in6_addr& address) {
  if (IN6_IS_ADDR_LOOPBACK(&address) || IN6_IS_ADDR_UNSPECIFIED(&address)) return true;
  if (!IN6_IS_ADDR_V4MAPPED(&address)) return false;
  uint32_t mapped = 0;
  memcpy(&mapped, address.s6_addr + 12, sizeof(mapped));
  return IsLoopback4(mapped);
}

std::string AddressText(const SocketAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.family() == AF_INET6) {
    const auto view = ViewAs<sockaddr_in6>(address);
    inet_ntop(AF_INET6, &view.sin6_addr, text, sizeof(text));
    return '[' + std::string(text) + "]:" + std::to_string(ntohs(view.sin6_port));
  }
  if (address.family() == AF_INET || address.family() == AF_UNSPEC) {
    const auto view = ViewAs<sockaddr_in>(address);
    inet_ntop(AF_INET, &view.sin_addr, text, sizeof(text));
    return std::string(text) + ':' + std::to_string(ntohs(view.sin_port));
  }
  return "address family " + std::to_string(address.family());
}

uint16_t PortOf(const SocketAddress& address) {
  // In the same place in both families.
  return ntohs(ViewAs<sockaddr_in>(address).sin_port);
}

Kind JudgeAddress(const SocketAddress& address) {
  switch (address.family()) {
    case AF_UNIX:
    case AF_NETLINK:
    case AF_ALG:
      return Kind::kContinue;
    case AF_UNSPEC:  // Sending takes it for AF_INET. Connecting never comes here with it.
    case AF_INET:
      return IsLoopback4(ViewAs<sockaddr_in>(address).sin_addr.s_addr) ? Kind::kLoopback
                                                                       : Kind::kRefuse;
    case AF_INET6:
      return IsLoopback6(ViewAs<sockaddr_in6>(address).sin6_addr) ? Kind::kLoopback : Kind::kRefuse;
    default:
      return Kind::kRefuse;
  }
}

Judgement Refuse(std::string call, std::string address) {
  return {Kind::kRefuse, ENETUNREACH, std::move(call), std::move(address)};
}

Judgement JudgeDestination(std::string call, const std::optional<SocketAddress>& address) {
  if (!address) return Refuse(std::move(call), "an address that cannot be read");
  Judgement judgement;
  judgement.kind = JudgeAddress(*address);
  judgement.call = std::move(call);
  if (judgement.kind != Kind::kRefuse) return judgement;
  return Refuse(std::move(judgement.call), AddressText(*address));
}

// --- system calls ---

// Takes the caller's socket for a moment to ask what type it is; false when that cannot be told.
bool IsDatagramSocket(pid_t pid, int fd) {
#if defined(SYS_pidfd_open) && defined(SYS_pidfd_getfd)
  const int process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (process < 0) return false;
  const int copy = static_cast<int>(syscall(SYS_pidfd_getfd, process, fd, 0));
  close(process);
  if (copy < 0) return false;
  int type = 0;
  socklen_t size = sizeof(type);
  const bool known = getsockopt(copy, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
  close(copy);
  return known && type == SOCK_DGRAM;
#else
  (void)pid, (void)fd;
  return false;
#endif
}

Judgement JudgeConnect(const seccomp_notif& call) {
  const auto pid = static_cast<pid_t>(call.pid);
  const std::optional<SocketAddress> address =
      ReadAddress(pid, call.data.args[1], static_cast<uint32_t>(call.data.args[2]));
  if (address && address->family() == AF_UNSPEC) return {};  // Takes a connection back.
  Judgement judgement = JudgeDestination("connect", address);
  if (judgement.kind != Kind::kRefuse || !address) return judgement;
  const bool internet = address->family() == AF_INET || address->family() == AF_INET6;
  if (internet && PortOf(*address) == 0 &&
      IsDatagramSocket(pid, static_cast<int>(call.data.args[0]))) {
    judgement.kind = Kind::kProbe;
  }
  return judgement;
}

Judgement JudgeSocket(const seccomp_notif& call) {
  const auto family = static_cast<int>(call.data.args[0]);
  const int type = static_cast<int>(call.data.args[1]) & kTypeMask;
  const auto protocol = static_cast<int>(call.data.args[2]);
  const bool internet = family == AF_INET || family == AF_INET6;
  Judgement refused{Kind::kRefuse, EPERM, "", ""};
  if (family == AF_PACKET) {
    refused.call = "socket(AF_PACKET)";
  } else if (internet && (type == SOCK_RAW || type == SOCK_PACKET)) {
    refused.call = "socket(SOCK_RAW)";
  } else if (internet && protocol == IPPROTO_SCTP) {
    refused.call = "socket(IPPROTO_SCTP)";  // Connects by a socket option too.
  } else if (family == AF_XDP) {
    refused.call = "socket(AF_XDP)";
  } else {
    return {};
  }
  return refused;
}

// As the kernel reads them; the fields that matter here come first and second.
struct MessageHeader {
  uint64_t name = 0;
  uint32_t name_size = 0;
  uint32_t padding = 0;
  uint64_t rest[5] = {};
};

struct MultiMessage {
  MessageHeader header;
  uint64_t size = 0;
};

static_assert(sizeof(MessageHeader) == sizeof(msghdr) && sizeof(MultiMessage) == sizeof(mmsghdr));

Judgement JudgeMessage(pid_t pid, std::string call, uint64_t at) {
  MessageHeader header;
  if (!ReadMemory(pid, at, &header, sizeof(header)))
    return {};  // The kernel cannot read it either.
  if (header.name == 0 || header.name_size == 0) return {};
  return JudgeDestination(std::move(call), ReadAddress(pid, header.name, header.name_size));
}

Judgement JudgeMessages(const seccomp_notif& call) {
  Judgement result;
  const size_t count = std::min<uint64_t>(static_cast<uint32_t>(call.data.args[2]), kMaxMessages);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t at = call.data.args[1] + i * sizeof(MultiMessage);
    Judgement judgement = JudgeMessage(static_cast<pid_t>(call.pid), "sendmmsg", at);
    if (judgement.kind == Kind::kRefuse) return judgement;
    if (judgement.kind == Kind::kLoopback) result = std::move(judgement);
  }
  return result;
}

Judgement JudgeCall(const seccomp_notif& call) {
  const auto pid = static_cast<pid_t>(call.pid);
  switch (call.data.nr) {
    case SYS_connect:
      return JudgeConnect(call);
    case SYS_socket:
      return JudgeSocket(call);
    case SYS_sendto:
      return JudgeDestination(
          "sendto", ReadAddress(pid, call.data.args[4], static_cast<uint32_t>(call.data.args[5])));
    case SYS_sendmsg:
      return JudgeMessage(pid, "sendmsg", call.data.args[1]);
    case SYS_sendmmsg:
      return JudgeMessages(call);
    default:
      return {};
  }
}

// --- the filter ---

struct ReleaseContext {
  void operator()(void* context) const { seccomp_release(context); }
};

absl::Status NoFilter(const char* what, int code) {
  return absl::UnavailableError(std::string(what) + ": " + strerror(code < 0 ? -code : code));
}

int AddRules(scmp_filter_ctx context) {
  for (const int call :
       {SCMP_SYS(connect), SCMP_SYS(socket), SCMP_SYS(sendmsg), SCMP_SYS(sendmmsg)}) {
    if (const int code = seccomp_rule_add(context, SCMP_ACT_NOTIFY, call, 0); code != 0) {
      return code;
    }
  }
  const scmp_arg_cmp with_address = SCMP_A4(SCMP_CMP_NE, 0);
  if (const int code =
          seccomp_rule_add_array(context, SCMP_ACT_NOTIFY, SCMP_SYS(sendto), 1, &with_address);
      code != 0) {
    return code;
  }
  return seccomp_rule_add(context, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(io_uring_setup), 0);
}

absl::StatusOr<std::vector<sock_filter>> Export(scmp_filter_ctx context) {
  const int fd = memfd_create("reenact-network-filter", MFD_CLOEXEC);
  if (fd < 0) return NoFilter("memfd_create", errno);
  std::vector<sock_filter> program;
  const int code = seccomp_export_bpf(context, fd);
  const off_t size = lseek(fd, 0, SEEK_END);
  if (code == 0 && size > 0) {
    program.resize(static_cast<size_t>(size) / sizeof(sock_filter));
    if (pread(fd, program.data(), static_cast<size_t>(size), 0) != size) program.clear();
  }
  close(fd);
  if (program.empty()) return NoFilter("the seccomp filter could not be made", code);
  return program;
}

}  // namespace

absl::StatusOr<std::vector<sock_filter>> BuildNetworkFilter() {
  const std::unique_ptr<void, ReleaseContext> context(seccomp_init(SCMP_ACT_ALLOW));
  if (context == nullptr) return absl::UnavailableError("seccomp is not there");
  if (const int code =
          seccomp_attr_set(context.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
      code != 0) {
    return NoFilter("seccomp cannot kill a process", code);
  }
  if (const int code = AddRules(context.get()); code != 0) {
    return NoFilter("seccomp cannot notify of connect", code);
  }
  return Export(context.get());
}

Judgement Judge(int listener, const seccomp_notif& notification) {
  Judgement judgement = JudgeCall(notification);
  // A caller that died while its memory was read may have left its number to another process.
  if (seccomp_notify_id_valid(listener, notification.id) != 0) judgement.kind = Kind::kStale;
  return judgement;
}

}  // namespace reenact::replayer
