#include "recorder/proxy/proxy.h"

#include <chrono>
#include <exception>
#include <future>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "absl/status/status.h"

#include "recorder/proxy/address_rules.h"
#include "recorder/proxy/connection.h"
#include "recorder/proxy/proxy_core.h"

namespace reenact::proxy {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

// A run that a header named is over when nobody spoke of it for so long.
constexpr std::chrono::minutes kRunIdle(5);
constexpr std::chrono::seconds kSweepInterval(10);
constexpr std::chrono::milliseconds kAcceptPause(50);
// How often a stopping proxy looks whether all is done.
constexpr std::chrono::milliseconds kStopPoll(5);

}  // namespace

struct Proxy::Impl {
  explicit Impl(ProxyOptions options)
      : core(std::move(options)),
        acceptor(core.io),
        sweep(core.io),
        pause(core.io),
        stop_timer(core.io) {}

  absl::Status Listen();
  void Accept();
  void Sweep();
  void Run();
  void StopOn(std::chrono::steady_clock::time_point deadline);

  // Runs `function` on the proxy's thread, and waits for it.
  template <class Function>
  void OnThread(Function function) {
    std::promise<void> done;
    asio::post(core.io, [&] {
      function();
      done.set_value();
    });
    done.get_future().wait();
  }

  ProxyCore core;
  tcp::acceptor acceptor;
  asio::steady_timer sweep;
  asio::steady_timer pause;  // Of the acceptor.
  asio::steady_timer stop_timer;
  uint64_t accepted = 0;
  std::string url;
  std::thread thread;
};

absl::Status Proxy::Impl::Listen() {
  boost::system::error_code error;
  const asio::ip::address address = asio::ip::make_address(core.options.address, error);
  if (error || !address.is_loopback()) {
    return absl::InvalidArgumentError("\"" + core.options.address +
                                      "\" is no loopback address: the proxy is for this machine");
  }
  const tcp::endpoint wanted(address, core.options.port);
  acceptor.open(wanted.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(wanted, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return absl::UnavailableError("cannot listen on " + core.options.address + ":" +
                                  std::to_string(core.options.port) + ": " + error.message());
  }
  const tcp::endpoint bound = acceptor.local_endpoint();
  core.upstream.own_port = bound.port();
  core.upstream.ca_file = core.options.ca_file;
  core.upstream.connect_timeout_ms = core.options.connect_timeout_ms;
  core.upstream.proxies = schema::ProxySettings::OfEnvironment();
  const std::string host = address.is_v6() ? "[" + address.to_string() + "]" : address.to_string();
  url = "http://" + host + ":" + std::to_string(bound.port());
  return absl::OkStatus();
}

void Proxy::Impl::Accept() {
  acceptor.async_accept([this](boost::system::error_code error, tcp::socket socket) {
    if (core.stopping || error == asio::error::operation_aborted) return;
    if (!error) {
      std::make_shared<Connection>(&core, std::move(socket), ++accepted)->Start();
      return Accept();
    }
    // Without descriptors, say: who waits is not forgotten, and not asked for without a pause.
    pause.expires_after(kAcceptPause);
    pause.async_wait([this](boost::system::error_code cancelled) {
      if (!cancelled && !core.stopping) Accept();
    });
  });
}

void Proxy::Impl::Sweep() {
  sweep.expires_after(kSweepInterval);
  sweep.async_wait([this](boost::system::error_code error) {
    if (error) return;
    core.runs.ForgetIdle(SteadyNow(), kRunIdle);
    Sweep();
  });
}

void Proxy::Impl::Run() {
  for (;;) {
    try {
      core.io.run();
      return;
    } catch (const std::exception&) {
      // No memory for one request: its connection is given up, the others go on.
    }
  }
}

void Proxy::Impl::StopOn(std::chrono::steady_clock::time_point deadline) {
  if (!core.connections.empty() && SteadyNow() < deadline) {
    stop_timer.expires_after(kStopPoll);
    stop_timer.async_wait([this, deadline](boost::system::error_code) { StopOn(deadline); });
    return;
  }
  const std::set<Connection*> connections = core.connections;
  for (Connection* connection : connections) connection->Close();
  core.runs.ForgetAll();
  // What was posted by the closing ends first.
  asio::post(core.io, [this] { core.io.stop(); });
}

Proxy::Proxy() = default;

absl::StatusOr<std::unique_ptr<Proxy>> Proxy::Start(ProxyOptions options) {
  std::unique_ptr<Proxy> proxy(new Proxy());
  proxy->impl_ = std::make_unique<Impl>(std::move(options));
  Impl& impl = *proxy->impl_;
  if (absl::Status status = impl.Listen(); !status.ok()) return status;
  impl.Accept();
  impl.Sweep();
  impl.thread = std::thread([&impl] { impl.Run(); });
  return proxy;
}

Proxy::~Proxy() {
  Stop(0);
}

std::string Proxy::url() const {
  return impl_->url;
}

ProxyReport Proxy::report() const {
  if (!impl_->thread.joinable()) return impl_->core.report;
  ProxyReport report;
  impl_->OnThread([&] {
    report = impl_->core.report;
    report.runs = impl_->core.runs.runs_begun();
  });
  return report;
}

void Proxy::Stop(int64_t grace_ms) {
  Impl& impl = *impl_;
  if (!impl.thread.joinable()) return;
  asio::post(impl.core.io, [&impl, grace_ms] {
    impl.core.stopping = true;
    boost::system::error_code ignored;
    impl.acceptor.close(ignored);
    impl.sweep.cancel();
    impl.pause.cancel();
    const std::set<Connection*> connections = impl.core.connections;
    for (Connection* connection : connections) connection->StopSoon();
    impl.StopOn(SteadyNow() + std::chrono::milliseconds(grace_ms));
  });
  impl.thread.join();
  impl.core.report.runs = impl.core.runs.runs_begun();
}

}  // namespace reenact::proxy
