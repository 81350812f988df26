// A loopback HTTP proxy that records what goes through it. Clients speak HTTP/1.1 to it, by the
// name of a route ("http://127.0.0.1:PORT/openai/v1/...") or as to any HTTP proxy (http:// URLs
// only); upstreams are spoken to with HTTP/1.1 or 2, over TLS where their URL says so. Heads,
// bytes and their timing pass through as they come, content encodings included; each exchange is
// one event of a run. Nothing is tried again here. See README.md beside this file.
//
// A proxy has one thread of its own. Its functions may be called from any thread.

#ifndef REENACT_RECORDER_PROXY_PROXY_H_
#define REENACT_RECORDER_PROXY_PROXY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "recorder/proxy/request_plan.h"
#include "recorder/proxy/route.h"
#include "reenact/reenact.hpp"

namespace reenact::proxy {

struct ProxyOptions {
  std::string address = "127.0.0.1";  // A loopback address.
  uint16_t port = 0;                  // 0: a free one.
  RouteTable routes;
  std::string ca_file;  // PEM; authorities for upstreams instead of the system's.
  int64_t connect_timeout_ms = 30'000;
  // Both outlive the proxy. With `run` all is recorded there; else see RunBook.
  Recorder* recorder = nullptr;
  Run* run = nullptr;
  // Outlives the proxy too. With it a request is held until it is whole, and becomes what it says.
  RequestPlanner* planner = nullptr;
  Tags run_tags;  // Of runs that it begins.
};

struct ProxyReport {
  uint64_t model_calls = 0;    // Recorded as model calls.
  uint64_t http_calls = 0;     // Recorded as plain HTTP or MCP.
  uint64_t telemetry = 0;      // Passed on, and not recorded: traces, metrics.
  uint64_t proxy_answers = 0;  // Of the calls: no upstream could be reached, or none may be.
  uint64_t client_aborts = 0;  // Of the calls: the client went away first.
  uint64_t in_flight = 0;      // Exchanges that are under way.
  uint64_t runs = 0;           // Begun; 0 where all went into one.
  std::map<std::string, uint64_t> not_seen;  // Hosts of tunnels that were refused, and how often.
};

class Proxy {
 public:
  // Errors: InvalidArgument (no loopback address), Unavailable (the port is taken).
  static absl::StatusOr<std::unique_ptr<Proxy>> Start(ProxyOptions options);
  ~Proxy();  // Stop(0).

  // "http://127.0.0.1:41234"
  std::string url() const;
  ProxyReport report() const;
  // Accepts nothing more, waits so long for exchanges that are under way, and cuts off the rest.
  void Stop(int64_t grace_ms);

 private:
  struct Impl;
  Proxy();
  std::unique_ptr<Impl> impl_;
};

}  // namespace reenact::proxy

#endif  // REENACT_RECORDER_PROXY_PROXY_H_
