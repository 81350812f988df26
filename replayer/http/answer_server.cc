#include "replayer/http/answer_server.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>

#include "absl/status/status.h"

#include "replayer/http/answer_order.h"
#include "replayer/http/call_desk.h"
#include "schema/content_decoder.h"

namespace reenact::replayer {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Error = boost::system::error_code;
using Tcp = asio::ip::tcp;

constexpr uint64_t kMostRequestBytes = uint64_t{256} << 20;
constexpr uint32_t kMostHeaderBytes = 1 << 20;
// For a client that left when it was recorded, and now does not: no answer may hang.
constexpr auto kLongestOpen = std::chrono::seconds(10);
constexpr auto kAcceptPause = std::chrono::milliseconds(50);

std::string_view View(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

// One connection; its requests are answered one after the other. All its functions run on the
// server's thread.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // `order` outlives it; null: none is kept.
  Connection(Tcp::socket socket, CallDesk* desk, AnswerOrder* order, bool recorded_time)
      : socket_(std::move(socket)),
        timer_(socket_.get_executor()),
        desk_(desk),
        order_(order),
        recorded_time_(recorded_time) {}

  void Read() {
    parser_.emplace();
    parser_->body_limit(kMostRequestBytes);
    parser_->header_limit(kMostHeaderBytes);
    http::async_read(socket_, input_, *parser_, [self = shared_from_this()](Error error, size_t) {
      if (!error) self->Answer();
    });
  }

  void Close() {
    Error ignored;
    timer_.cancel();
    socket_.close(ignored);
    EndTurn();
  }

 private:
  void Answer() {
    const auto& request = parser_->get();
    begin_ = std::chrono::steady_clock::now();
    keep_alive_ = request.keep_alive();
    chunks_ = request.version() >= 11;
    no_body_ = request.method() == http::verb::head;
    if (!IsForUs(View(request.target()), View(request[http::field::host]))) {
      reply_ = {OwnAnswer(421, R"({"error":{"message":"reenact: this host is not served"}})")};
    } else {
      bool decoded = false;  // As it was recorded: either way.
      reply_ =
          desk_->Ask({std::string(View(request.method_string())),
                      std::string(WithoutOwnHost(View(request.target()))),
                      schema::DecodedBody(request.body(),
                                          View(request[http::field::content_encoding]), &decoded)});
    }
    if (order_ != nullptr && reply_.event) turn_ = order_->Begin(*reply_.event);
    piece_ = 0;
    sent_ = 0;
    if (reply_.answer.status == 0) return AwaitEnd();  // The connection failed before a head.
    At(reply_.answer.head_offset_ns, [this] { WriteHead(); });
  }

  bool IsOwnHost(std::string_view host) const {
    Error error;
    const std::string port = std::to_string(socket_.local_endpoint(error).port());
    for (const char* name : {"127.0.0.1", "localhost", "[::1]"}) {
      if (host == std::string(name) + ':' + port) return true;
    }
    return false;
  }

  // Whole URLs come from clients that take us for a proxy; their Host is the upstream's.
  bool IsForUs(std::string_view target, std::string_view host) const {
    return !target.starts_with('/') || host.empty() || IsOwnHost(host);
  }

  // The path of a whole URL that leads here: a client that has this server as its HTTP proxy and as
  // its base URL, too.
  std::string_view WithoutOwnHost(std::string_view target) const {
    constexpr std::string_view kScheme = "http://";
    if (!target.starts_with(kScheme)) return target;
    const size_t path = target.find('/', kScheme.size());
    if (path == std::string_view::npos) return target;
    const std::string_view host = target.substr(kScheme.size(), path - kScheme.size());
    return IsOwnHost(host) ? target.substr(path) : target;
  }

  // Runs `next` when it is time for what was sent at this offset, at the latest when it was.
  template <typename Next>
  void At(int64_t offset_ns, Next next) {
    if (!recorded_time_ && (!turn_ || order_->IsTime(*turn_, offset_ns))) return next();
    timer_.expires_at(begin_ + std::chrono::nanoseconds(offset_ns));
    timer_.async_wait([self = shared_from_this(), next, offset_ns](Error error) {
      if (error) return;
      if (self->recorded_time_) return next();
      if (self->turn_) self->order_->Hurry(*self->turn_, offset_ns);
    });
    if (recorded_time_) return;
    order_->Await(*turn_, [self = shared_from_this(), next] {
      self->timer_.cancel();
      next();
    });
  }

  void EndTurn() {
    if (turn_) order_->End(*std::exchange(turn_, std::nullopt));
  }

  bool has_body() const {
    const int status = reply_.answer.status;
    return !no_body_ && status >= 200 && status != 204 && status != 304;
  }

  void WriteHead() {
    const HttpAnswer& answer = reply_.answer;
    // A promise is kept where the whole body is there, and broken as it was where it is not.
    std::optional<uint64_t> length = answer.content_length;
    if (length && answer.end == BodyEnd::kWhole) length = answer.size();
    chunked_ = has_body() && !length && chunks_;
    if (has_body() && !length && !chunks_) keep_alive_ = false;
    output_ = "HTTP/1.1 " + std::to_string(answer.status) + ' ' +
              std::string(View(http::obsolete_reason(
                  http::int_to_status(static_cast<unsigned>(answer.status))))) +
              "\r\n";
    for (const auto& [name, value] : answer.headers) output_ += name + ": " + value + "\r\n";
    if (length && has_body()) output_ += "content-length: " + std::to_string(*length) + "\r\n";
    if (chunked_) output_ += "transfer-encoding: chunked\r\n";
    output_ += keep_alive_ ? "\r\n" : "connection: close\r\n\r\n";
    Write([this] { NextPiece(); });
  }

  // Writes `output_`, then goes on; ends where the client has gone.
  template <typename Next>
  void Write(Next next) {
    asio::async_write(socket_, asio::buffer(output_),
                      [self = shared_from_this(), next](Error error, size_t) {
                        if (!error) return next();
                        self->desk_->Done(self->reply_.token, self->sent_, false);
                        self->Close();
                      });
  }

  void NextPiece() {
    const std::vector<BodyPiece>& pieces = reply_.answer.pieces;
    if (!has_body() || piece_ == pieces.size()) return AwaitEnd();
    const BodyPiece& piece = pieces[piece_++];
    if (piece.bytes.empty()) return NextPiece();
    At(piece.offset_ns, [this, &piece] { WritePiece(piece); });
  }

  // One read of the recorded transport is one write, and one chunk where there are chunks.
  void WritePiece(const BodyPiece& piece) {
    output_.clear();
    if (chunked_) {
      std::array<char, 32> size{};
      std::snprintf(size.data(), size.size(), "%zx\r\n", piece.bytes.size());
      output_ = size.data();
    }
    output_ += piece.bytes;
    if (chunked_) output_ += "\r\n";
    const size_t size = piece.bytes.size();
    Write([this, size] {
      sent_ += size;
      NextPiece();
    });
  }

  // An answer of a known length has ended with its last byte; what else ends one comes in its time.
  void AwaitEnd() {
    const HttpAnswer& answer = reply_.answer;
    const bool is_over = !has_body() || answer.content_length.has_value();
    if (answer.end == BodyEnd::kWhole && is_over) return Finish();
    At(reply_.answer.end_offset_ns, [this] { Finish(); });
  }

  void Finish() {
    switch (reply_.answer.end) {
      case BodyEnd::kWhole:
        output_ = chunked_ ? "0\r\n\r\n" : "";
        chunked_ = false;
        return Write([this] { End(); });
      case BodyEnd::kCut:
        keep_alive_ = false;
        return End();
      case BodyEnd::kReset: {
        Error ignored;
        socket_.set_option(asio::socket_base::linger(true, 0), ignored);
        keep_alive_ = false;
        return End();
      }
      case BodyEnd::kOpen:
        return AwaitLeaving();
    }
  }

  void End() {
    desk_->Done(reply_.token, sent_, true);
    EndTurn();
    if (keep_alive_) return Read();
    Error ignored;
    if (reply_.answer.end != BodyEnd::kReset) socket_.shutdown(Tcp::socket::shutdown_send, ignored);
    Close();
  }

  void AwaitLeaving() {
    EndTurn();
    timer_.expires_after(kLongestOpen);
    timer_.async_wait([self = shared_from_this()](Error error) {
      if (!error) self->Close();
    });
    socket_.async_read_some(asio::buffer(left_), [self = shared_from_this()](Error, size_t) {
      self->desk_->Done(self->reply_.token, self->sent_, false);
      self->Close();
    });
  }

  Tcp::socket socket_;
  asio::steady_timer timer_;
  CallDesk* const desk_;
  AnswerOrder* const order_;
  const bool recorded_time_;
  boost::beast::flat_buffer input_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::chrono::steady_clock::time_point begin_;
  bool keep_alive_ = false;
  bool chunks_ = false;   // The client knows them.
  bool chunked_ = false;  // This answer comes in them.
  bool no_body_ = false;
  HttpReply reply_;
  std::optional<AnswerOrder::Turn> turn_;  // While a recorded answer is under way.
  size_t piece_ = 0;
  uint64_t sent_ = 0;
  std::string output_;
  std::array<char, 1> left_{};
};

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
  asio::steady_timer pause{context};                                   // Of the acceptor.
  std::set<std::weak_ptr<Connection>, std::owner_less<>> connections;  // On the thread only.
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
          std::make_shared<Connection>(std::move(socket), &desk, order ? &*order : nullptr,
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
    for (const std::weak_ptr<Connection>& weak : impl_->connections) {
      if (const std::shared_ptr<Connection> connection = weak.lock()) connection->Close();
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
