#include "replayer/http/answer_server.h"

#include <chrono>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "absl/status/status.h"

#include "replayer/http/answer_connection.h"
#include "replayer/http/answer_order.h"
#include "replayer/http/call_desk.h"

namespace reenact::replayer {
namespace {

namespace asio = boost::asio;
using Error = boost::system::error_code;
using Tcp = asio::ip::tcp;

constexpr auto kAcceptPause = std::chrono::milliseconds(50);

}  // namespace

struct AnswerServer::Impl {
  Impl(ReplaySession* session, const AnswerServerOptions& server_options)
      : options(server_options), desk(session, server_options.routes) {
    if (options.pace == AnswerPace::kRecordedOrder) order.emplace(session->tape().run().events);
  }

  absl::Status Listen();
  void Accept();

  const AnswerServerOptions options;
  CallDesk desk;
  std::optional<AnswerOrder> order;  // On the thread only.
  asio::io_context context{1};
  Tcp::acceptor acceptor{context};
  asio::steady_timer pause{context};                                         // Of the acceptor.
  std::set<std::weak_ptr<AnswerConnection>, std::owner_less<>> connections;  // On the thread only.
  uint16_t port = 0;
  std::thread thread;
};

absl::Status AnswerServer::Impl::Listen() {
  const Tcp::endpoint wanted(asio::ip::address_v4::loopback(), options.port);
  Error error;
  acceptor.open(wanted.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(wanted, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return absl::UnavailableError("cannot listen on 127.0.0.1:" + std::to_string(options.port) +
                                  ": " + error.message());
  }
  port = acceptor.local_endpoint().port();
  return absl::OkStatus();
}

void AnswerServer::Impl::Accept() {
  acceptor.async_accept([this](Error error, Tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (!error) {
      Error ignored;
      socket.set_option(Tcp::no_delay(true), ignored);  // Reads arrive as they were cut.
      auto connection =
          std::make_shared<AnswerConnection>(std::move(socket), &desk, order ? &*order : nullptr,
                                             options.pace == AnswerPace::kRecordedTime);
      std::erase_if(connections, [](const auto& other) { return other.expired(); });
      connections.insert(connection);
      connection->Read();
      return Accept();
    }
    // Without descriptors, say: the next one may do better, in a while.
    pause.expires_after(kAcceptPause);
    pause.async_wait([this](Error cancelled) {
      if (!cancelled) Accept();
    });
  });
}

AnswerServer::AnswerServer() = default;

AnswerServer::~AnswerServer() {
  if (!impl_ || !impl_->thread.joinable()) return;
  asio::post(impl_->context, [this] {
    Error ignored;
    impl_->acceptor.close(ignored);
    impl_->pause.cancel();
    for (const std::weak_ptr<AnswerConnection>& weak : impl_->connections) {
      if (const std::shared_ptr<AnswerConnection> connection = weak.lock()) connection->Close();
    }
  });
  impl_->thread.join();
}

absl::StatusOr<std::unique_ptr<AnswerServer>> AnswerServer::Start(
    ReplaySession* session, const AnswerServerOptions& options) {
  std::unique_ptr<AnswerServer> server(new AnswerServer());
  server->impl_ = std::make_unique<Impl>(session, options);
  Impl& impl = *server->impl_;
  if (absl::Status status = impl.Listen(); !status.ok()) return status;
  impl.Accept();
  impl.thread = std::thread([&impl] { impl.context.run(); });
  return server;
}

std::string AnswerServer::url() const {
  return "http://127.0.0.1:" + std::to_string(impl_->port);
}

int64_t AnswerServer::asked() const {
  return impl_->desk.asked();
}

bool AnswerServer::Drain(int64_t timeout_ms) {
  constexpr auto kStep = std::chrono::milliseconds(2);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (impl_->desk.under_way() > 0) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kStep);
  }
  return true;
}

}  // namespace reenact::replayer
