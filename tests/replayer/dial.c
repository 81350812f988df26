/* Tries one way out of the machine with bare system calls, linked statically, so that no library
 * can be in between. Exits with 0 when the call succeeded, else with its errno. Addresses are of
 * the documentation range 203.0.113.0/24 (RFC 5737): nobody is there.
 *
 *   dial WAY [PORT]
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sockaddr_in address4(const char* text, int port) {
  struct sockaddr_in address;
  memset(&address, 0, sizeof(address));
  address.sin_family = AF_INET;
  address.sin_port = htons((unsigned short)port);
  inet_pton(AF_INET, text, &address.sin_addr);
  return address;
}

static int outcome(long result) {
  return result >= 0 ? 0 : errno;
}

static int dial4(int type, const char* host, int port) {
  struct sockaddr_in to = address4(host, port);
  int fd = (int)syscall(SYS_socket, AF_INET, type, 0);
  if (fd < 0) return errno;
  return outcome(syscall(SYS_connect, fd, &to, sizeof(to)));
}

static int dial6(const char* host, int port) {
  struct sockaddr_in6 to;
  int fd = (int)syscall(SYS_socket, AF_INET6, SOCK_STREAM, 0);
  if (fd < 0) return errno;
  memset(&to, 0, sizeof(to));
  to.sin6_family = AF_INET6;
  to.sin6_port = htons((unsigned short)port);
  inet_pton(AF_INET6, host, &to.sin6_addr);
  return outcome(syscall(SYS_connect, fd, &to, sizeof(to)));
}

static int send_one(const char* way, struct sockaddr_in* to) {
  int fd = (int)syscall(SYS_socket, AF_INET, SOCK_DGRAM, 0);
  struct iovec bytes = {"x", 1};
  struct mmsghdr messages[2];
  struct sockaddr_in local = address4("127.0.0.1", ntohs(to->sin_port));
  memset(messages, 0, sizeof(messages));
  messages[0].msg_hdr.msg_iov = messages[1].msg_hdr.msg_iov = &bytes;
  messages[0].msg_hdr.msg_iovlen = messages[1].msg_hdr.msg_iovlen = 1;
  messages[0].msg_hdr.msg_name = &local;
  messages[1].msg_hdr.msg_name = to;
  messages[0].msg_hdr.msg_namelen = messages[1].msg_hdr.msg_namelen = sizeof(*to);
  if (strcmp(way, "sendto") == 0) {
    return outcome(syscall(SYS_sendto, fd, "x", 1, 0, to, sizeof(*to)));
  }
  if (strcmp(way, "sendmsg") == 0) {
    return outcome(syscall(SYS_sendmsg, fd, &messages[1].msg_hdr, 0));
  }
  return outcome(syscall(SYS_sendmmsg, fd, messages, 2, 0));
}

/* Everything that must go on as if nothing were there. */
static int unharmed(void) {
  int pair[2];
  struct sockaddr_un name;
  struct sockaddr unspecified;
  struct msghdr message;
  struct iovec bytes = {"x", 1};
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  memset(&message, 0, sizeof(message));
  memset(&name, 0, sizeof(name));
  memset(&unspecified, 0, sizeof(unspecified));
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return errno;
  if (sendmsg(pair[0], &message, 0) != 1) return errno;
  if (sendto(pair[0], "x", 1, 0, NULL, 0) != 1) return errno;
  name.sun_family = AF_UNIX;
  if (bind(listener, (struct sockaddr*)&name, sizeof(sa_family_t)) != 0) return errno;
  socklen_t size = sizeof(name);
  if (listen(listener, 1) != 0) return errno;
  if (getsockname(listener, (struct sockaddr*)&name, &size) != 0) return errno;
  if (connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr*)&name, size) != 0) return errno;
  unspecified.sa_family = AF_UNSPEC;
  if (connect(fd, &unspecified, sizeof(unspecified)) != 0) return errno;
  if (socket(AF_NETLINK, SOCK_RAW, 0) < 0) return errno;
  return 0;
}

static int in_child(int port) {
  int status = 0;
  pid_t child = fork();
  if (child == 0) {
    setsid();
    _exit(dial4(SOCK_STREAM, "203.0.113.7", port));
  }
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

/* A signal every now and then must not make one attempt two. */
static int among_signals(int port) {
  pid_t self = getpid();
  int outcome_of_dial;
  pid_t child = fork();
  signal(SIGURG, SIG_DFL);
  if (child == 0) {
    for (int i = 0; i < 200; ++i) kill(self, SIGURG);
    _exit(0);
  }
  outcome_of_dial = dial4(SOCK_STREAM, "203.0.113.7", port);
  waitpid(child, NULL, 0);
  return outcome_of_dial;
}

#if defined(__x86_64__)
/* socket(2) through the 32-bit gate, where a filter for 64-bit calls does not look. */
static int compat(void) {
  long result;
  __asm__ volatile("int $0x80"
                   : "=a"(result)
                   : "a"(359), "b"(AF_INET), "c"(SOCK_STREAM), "d"(0)
                   : "memory");
  return result >= 0 ? 0 : (int)-result;
}

/* The same through the x32 numbers. */
static int x32(void) {
  return outcome(syscall(0x40000000 | SYS_socket, AF_INET, SOCK_STREAM, 0));
}
#else
static int compat(void) {
  return ENOSYS;
}

static int x32(void) {
  return ENOSYS;
}
#endif

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "";
  int port = argc > 2 ? atoi(argv[2]) : 443;
  struct sockaddr_in to = address4("203.0.113.7", port);
  struct sockaddr_in unspecified = to;
  unspecified.sin_family = AF_UNSPEC;
  if (strcmp(way, "tcp") == 0) return dial4(SOCK_STREAM, "203.0.113.7", port);
  if (strcmp(way, "udp") == 0) return dial4(SOCK_DGRAM, "203.0.113.7", port);
  if (strcmp(way, "tcp6") == 0) return dial6("2001:db8::1", port);
  if (strcmp(way, "mapped") == 0) return dial6("::ffff:203.0.113.7", port);
  if (strcmp(way, "local") == 0) return dial4(SOCK_STREAM, "127.0.0.1", port);
  if (strcmp(way, "local-mapped") == 0) return dial6("::ffff:127.0.0.1", port);
  if (strcmp(way, "any") == 0) return dial4(SOCK_STREAM, "0.0.0.0", port);
  if (strncmp(way, "send", 4) == 0) return send_one(way, &to);
  if (strcmp(way, "unspecified-sendto") == 0) return send_one("sendto", &unspecified);
  if (strcmp(way, "raw") == 0) return outcome(syscall(SYS_socket, AF_INET, SOCK_RAW, 1));
  if (strcmp(way, "packet") == 0) return outcome(syscall(SYS_socket, AF_PACKET, SOCK_DGRAM, 0));
  if (strcmp(way, "sctp") == 0) return outcome(syscall(SYS_socket, AF_INET, SOCK_STREAM, 132));
  if (strcmp(way, "iouring") == 0) return outcome(syscall(SYS_io_uring_setup, 8, NULL));
  if (strcmp(way, "unreadable") == 0) {
    int fd = (int)syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
    return outcome(syscall(SYS_connect, fd, (void*)8, 16));
  }
  if (strcmp(way, "unharmed") == 0) return unharmed();
  if (strcmp(way, "child") == 0) return in_child(port);
  if (strcmp(way, "signals") == 0) return among_signals(port);
  if (strcmp(way, "compat") == 0) return compat();
  if (strcmp(way, "x32") == 0) return x32();
  if (strcmp(way, "hang") == 0) {
    for (;;) pause();
  }
  if (strcmp(way, "dies-calling") == 0) {
    if (fork() == 0) {
      for (;;) dial4(SOCK_STREAM, "203.0.113.7", port);
    }
    for (;;) pause();
  }
  return 255;
}
