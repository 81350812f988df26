#include "recorder/proxy/connection.h"

#include <sys/socket.h>

#include <cerrno>
#include <limits>
#include <utility>
#include <variant>

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>

#include "recorder/proxy/admission.h"

namespace reenact::proxy {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

constexpr uint32_t kHeadLimit = 128 << 10;
constexpr size_t kInputLimit = 256 << 10;
// Bytes of an answer that wait for the client before the upstream is made to wait.
constexpr size_t kAnswerAhead = 256 << 10;
// Beast reads as much as its buffer has room for.
constexpr size_t kHeadRoom = 8 << 10;
constexpr size_t kBodyRoom = 64 << 10;
// A buffer that once was large does not stay so on a connection that is kept.
constexpr size_t kKeptBuffer = 64 << 10;

std::string Text(boost::beast::string_view text) {
  return std::string(text.data(), text.size());
}

}  // namespace

Connection::Connection(ProxyCore* core, asio::ip::tcp::socket socket, uint64_t number)
    : core_(core), socket_(std::move(socket)), number_(number), input_(kInputLimit) {
  core_->connections.insert(this);
}

Connection::~Connection() {
  core_->connections.erase(this);
  core_->runs.ForgetConnection(number_);
}

void Connection::Start() {
  Error ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  ReadHead();
}

void Connection::StopSoon() {
  if (!exchange_) Close();
}

void Connection::Close() {
  if (closed_) return;
  closed_ = true;
  const std::shared_ptr<Connection> self = std::move(self_);
  if (exchange_ && !answer_done_) exchange_->CutOff();
  exchange_.reset();
  Error ignored;
  if (reset_) {
    socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  } else {
    socket_.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  }
  socket_.close(ignored);
}

// --- requests ---

void Connection::ReadHead() {
  parser_.emplace();
  if (input_.size() == 0 && input_.capacity() > kHeadRoom) input_.shrink_to_fit();
  input_.reserve(kHeadRoom);
  parser_->header_limit(kHeadLimit);
  // No limit; Boost 1.74 takes none for a limit of nothing.
  parser_->body_limit(std::numeric_limits<uint64_t>::max());
  http::async_read_header(
      socket_, input_, *parser_, [self = shared_from_this()](Error error, size_t) {
        if (self->closed_) return;
        if (!error) return self->OnHead();
        const bool is_http =
            error != http::error::end_of_stream &&
            error.category() == make_error_code(http::error::end_of_stream).category();
        if (!is_http) return self->Close();
        self->AnswerOwn({}, MakeOwnError(400, "not_http", error.message()));
      });
}

ClientRequest Connection::TakeRequest() const {
  const auto& message = parser_->get();
  ClientRequest request;
  request.method = Text(message.method_string());
  request.target = Text(message.target());
  request.is_version_1_1 = message.version() >= 11;
  for (const auto& field : message) {
    request.headers.emplace_back(Text(field.name_string()), Text(field.value()));
  }
  if (parser_->content_length()) request.content_length = *parser_->content_length();
  request.chunked = parser_->chunked();
  request.keep_alive = parser_->keep_alive();
  return request;
}

void Connection::OnHead() {
  ClientRequest request = TakeRequest();
  Admission admission = Admit(request, core_);
  if (const OwnAnswer* answer = std::get_if<OwnAnswer>(&admission)) {
    return AnswerOwn(request, *answer);
  }
  BeginExchange(std::move(request), std::get<Destination>(std::move(admission)));
}

// A body that comes with the request is not waited for.
void Connection::AnswerOwn(const ClientRequest& request, const OwnAnswer& answer) {
  const bool keep_alive = request.keep_alive && !request.has_body() && !request.method.empty() &&
                          request.method != "CONNECT";
  Write(answer.Serialize(request.method, keep_alive));
  AnswerDone(keep_alive);
}

void Connection::BeginExchange(ClientRequest request, Destination destination) {
  std::shared_ptr<RecordedRun> run = core_->runs.RunOf(request.headers, number_, SteadyNow());
  // With a planner the exchange itself asks for the body at once: it needs all of it.
  const bool waits = request.awaits_continue() && core_->options.planner == nullptr;
  exchange_ = std::make_unique<Exchange>(core_, this, std::move(request), std::move(destination),
                                         std::move(run));
  self_ = shared_from_this();
  if (!waits) TakeBufferedBody();
  if (!exchange_) return;
  exchange_->Start();
  if (parser_->is_done()) {
    FinishRequest();
  } else if (!waits) {
    ReadBody();
  }
}

// --- bodies of requests ---

void Connection::WantRequestBytes() {
  // Called from within libcurl: goes on when that has returned.
  if (!reading_body_ && exchange_ && !parser_->is_done()) ReadBody();
}

// A body mostly begins, and a short one ends, in what was read with the head: it goes on with it.
void Connection::TakeBufferedBody() {
  while (input_.size() != 0 && !parser_->is_done() && exchange_->request_room()) {
    GiveRoomForBody();
    Error error;
    const size_t used = parser_->put(input_.data(), error);
    input_.consume(used);
    if (error && error != http::error::need_buffer && error != http::error::need_more) {
      return ClientGone();
    }
    if (!TakeBody() || used == 0) return;
  }
}

void Connection::GiveRoomForBody() {
  if (!body_piece_) body_piece_ = std::make_unique<std::array<char, 64 << 10>>();
  auto& body = parser_->get().body();
  body.data = body_piece_->data();
  body.size = body_piece_->size();
  body.more = true;
}

void Connection::ReadBody() {
  if (reading_body_ || !exchange_->request_room()) return;
  reading_body_ = true;
  input_.reserve(kBodyRoom);
  GiveRoomForBody();
  http::async_read_some(socket_, input_, *parser_,
                        [self = shared_from_this()](Error error, size_t) {
                          self->reading_body_ = false;
                          if (!self->closed_ && self->exchange_) self->OnBody(error);
                        });
}

bool Connection::TakeBody() {
  const size_t size = body_piece_->size() - parser_->get().body().size;
  if (size != 0) exchange_->AppendRequest({body_piece_->data(), size});
  return exchange_ != nullptr;
}

void Connection::OnBody(Error error) {
  if (error && error != http::error::need_buffer) return ClientGone();
  if (!TakeBody()) return;
  if (!parser_->is_done()) return ReadBody();
  FinishRequest();
}

void Connection::FinishRequest() {
  body_piece_.reset();
  exchange_->FinishRequest();
  WatchClient();
}

// --- the client going away ---

// Nothing is read from the client while it waits for its answer: only that it is still there.
void Connection::WatchClient() {
  if (watching_ || closed_) return;
  watching_ = true;
  socket_.async_wait(asio::ip::tcp::socket::wait_read,
                     [self = shared_from_this()](Error error) { self->OnClientStirs(error); });
}

void Connection::OnClientStirs(Error error) {
  watching_ = false;
  if (closed_ || !exchange_ || answer_done_ || !exchange_->request_finished()) return;
  char byte = 0;
  const ssize_t got = recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return WatchClient();
  // Bytes are the next request, sent ahead: it will be read in its turn.
  if (!error && got > 0) return;
  ClientGone();
}

void Connection::ClientGone() {
  if (closed_) return;
  if (exchange_ && !answer_done_) {
    exchange_->OnClientGone(/*took_all=*/waiting_.empty() && !write_under_way_);
  }
  answer_done_ = true;  // There is nothing to cut off any more.
  Close();
}

// --- answers ---

bool Connection::has_room() const {
  return waiting_.size() + (write_under_way_ ? writing_.size() : 0) < kAnswerAhead;
}

void Connection::Write(std::string_view bytes) {
  if (closed_) return;
  // Mostly the client takes all of it, and nothing has to wait for a turn of the loop.
  if (!write_under_way_) bytes.remove_prefix(SendNow(bytes));
  if (bytes.empty()) return;
  waiting_.append(bytes);
  if (!write_under_way_) StartWriting();
}

// Returns how much the client took. That it has gone is told by the next write.
size_t Connection::SendNow(std::string_view bytes) {
  const ssize_t sent =
      send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent < 0 ? 0 : static_cast<size_t>(sent);
}

void Connection::StartWriting() {
  write_under_way_ = true;
  writing_.swap(waiting_);
  waiting_.clear();
  asio::async_write(socket_, asio::buffer(writing_),
                    [self = shared_from_this()](Error error, size_t) { self->OnWritten(error); });
}

void Connection::OnWritten(Error error) {
  write_under_way_ = false;
  if (closed_) return;
  if (error) return ClientGone();
  if (writing_.capacity() > kKeptBuffer) writing_ = {};
  writing_.clear();
  if (!waiting_.empty()) {
    StartWriting();
  } else if (answer_done_) {
    return EndExchange();
  }
  if (exchange_ && !answer_done_ && has_room()) exchange_->OnClientRoom();
}

void Connection::AnswerDone(bool keep_alive) {
  answer_done_ = true;
  keep_alive_ = keep_alive && !core_->stopping;
  if (write_under_way_) return;
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    if (!self->closed_ && self->answer_done_ && !self->write_under_way_) self->EndExchange();
  });
}

void Connection::AnswerReset() {
  reset_ = true;
  AnswerDone(false);
}

void Connection::EndExchange() {
  exchange_.reset();
  // The stop may have come since the answer said whether the connection is kept.
  if (!keep_alive_ || core_->stopping) return Close();
  self_.reset();
  answer_done_ = false;
  ReadHead();
}

}  // namespace reenact::proxy
