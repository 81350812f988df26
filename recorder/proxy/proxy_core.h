// What the connections of one proxy share. All of it belongs to the proxy's thread.

#ifndef REENACT_RECORDER_PROXY_PROXY_CORE_H_
#define REENACT_RECORDER_PROXY_PROXY_CORE_H_

#include <cstdint>
#include <set>

#include <boost/asio/io_context.hpp>

#include "recorder/proxy/curl_loop.h"
#include "recorder/proxy/proxy.h"
#include "recorder/proxy/recorded_run.h"
#include "recorder/proxy/request_body.h"
#include "recorder/proxy/transfer.h"

namespace reenact::proxy {

class Connection;

struct ProxyCore {
  explicit ProxyCore(ProxyOptions given)
      : options(std::move(given)),
        curl(&io),
        runs(options.recorder, options.run, options.run_tags) {}

  const ProxyOptions options;
  boost::asio::io_context io{1};
  CurlLoop curl;
  RunBook runs;
  BodyBudget body_budget;
  UpstreamOptions upstream;
  ProxyReport report;
  bool stopping = false;
  std::set<Connection*> connections;
};

}  // namespace reenact::proxy

#endif  // REENACT_RECORDER_PROXY_PROXY_CORE_H_
