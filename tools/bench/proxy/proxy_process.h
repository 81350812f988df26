// The `reenact proxy` that proxy_bench measures, in a process of its own.

#ifndef REENACT_TOOLS_BENCH_PROXY_PROXY_PROCESS_H_
#define REENACT_TOOLS_BENCH_PROXY_PROXY_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace reenact::bench {

class ProxyProcess {
 public:
  // With a route "up" to 127.0.0.1:`upstream`.
  ProxyProcess(std::string reenact, std::string store, uint16_t upstream);
  ~ProxyProcess();  // Ends it, and waits.
  ProxyProcess(const ProxyProcess&) = delete;
  ProxyProcess& operator=(const ProxyProcess&) = delete;

  // 0: it did not start.
  uint16_t port() const { return port_; }

  // kB; 0 where it cannot be told.
  long PeakMemory() const;

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  uint16_t port_ = 0;
};

}  // namespace reenact::bench

#endif  // REENACT_TOOLS_BENCH_PROXY_PROXY_PROCESS_H_
