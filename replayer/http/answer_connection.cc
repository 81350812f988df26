#include "replayer/http/answer_connection.h"

#include <cstdio>
#include <utility>
#include <vector>

#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>

#include "schema/content_decoder.h"

namespace reenact::replayer {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;

constexpr uint64_t kMostRequestBytes = uint64_t{256} << 20;
constexpr uint32_t kMostHeaderBytes = 1 << 20;
// For a client that left when it was recorded, and now does not: no answer may hang.
constexpr auto kLongestOpen = std::chrono::seconds(10);

std::string_view View(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

AnswerConnection::AnswerConnection(Tcp::socket socket, CallDesk* desk, AnswerOrder* order,
                                   bool recorded_time)
    : socket_(std::move(socket)),
      timer_(socket_.get_executor()),
      desk_(desk),
      order_(order),
      recorded_time_(recorded_time) {}

void AnswerConnection::Read() {
  parser_.emplace();
  parser_->body_limit(kMostRequestBytes);
  parser_->header_limit(kMostHeaderBytes);
  http::async_read(socket_, input_, *parser_, [self = shared_from_this()](Error error, size_t) {
    if (!error) self->Answer();
  });
}

void AnswerConnection::Close() {
  Error ignored;
  timer_.cancel();
  socket_.close(ignored);
  EndTurn();
}

void AnswerConnection::Answer() {
  const auto& request = parser_->get();
  begin_ = std::chrono::steady_clock::now();
  keep_alive_ = request.keep_alive();
  chunks_ = request.version() >= 11;
  no_body_ = request.method() == http::verb::head;
  reply_ = ReplyToRequest();
  if (order_ != nullptr && reply_.event) turn_ = order_->Begin(*reply_.event);
  piece_ = 0;
  sent_ = 0;
  if (reply_.answer.status == 0) return AwaitEnd();  // The connection failed before a head.
  At(reply_.answer.head_offset_ns, [this] { WriteHead(); });
}

HttpReply AnswerConnection::ReplyToRequest() {
  const auto& request = parser_->get();
  if (!IsForUs(View(request.target()), View(request[http::field::host]))) {
    return {OwnAnswer(421, R"({"error":{"message":"reenact: this host is not served"}})")};
  }
  bool decoded = false;  // As it was recorded: either way.
  return desk_->Ask({std::string(View(request.method_string())),
                     std::string(WithoutOwnHost(View(request.target()))),
                     schema::DecodedBody(request.body(),
                                         View(request[http::field::content_encoding]), &decoded)});
}

bool AnswerConnection::IsOwnHost(std::string_view host) const {
  Error error;
  const std::string port = std::to_string(socket_.local_endpoint(error).port());
  for (const char* name : {"127.0.0.1", "localhost", "[::1]"}) {
    if (host == std::string(name) + ':' + port) return true;
  }
  return false;
}

// Whole URLs come from clients that take us for a proxy; their Host is the upstream's.
bool AnswerConnection::IsForUs(std::string_view target, std::string_view host) const {
  return !target.starts_with('/') || host.empty() || IsOwnHost(host);
}

// The path of a whole URL that leads here: a client that has this server as its HTTP proxy and as
// its base URL, too.
std::string_view AnswerConnection::WithoutOwnHost(std::string_view target) const {
  constexpr std::string_view kScheme = "http://";
  if (!target.starts_with(kScheme)) return target;
  const size_t path = target.find('/', kScheme.size());
  if (path == std::string_view::npos) return target;
  const std::string_view host = target.substr(kScheme.size(), path - kScheme.size());
  return IsOwnHost(host) ? target.substr(path) : target;
}

// Runs `next` when it is time for what was sent at this offset, at the latest when it was.
template <typename Next>
void AnswerConnection::At(int64_t offset_ns, Next next) {
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

void AnswerConnection::EndTurn() {
  if (turn_) order_->End(*std::exchange(turn_, std::nullopt));
}

bool AnswerConnection::has_body() const {
  const int status = reply_.answer.status;
  return !no_body_ && status >= 200 && status != 204 && status != 304;
}

void AnswerConnection::WriteHead() {
  const HttpAnswer& answer = reply_.answer;
  // A promise is kept where the whole body is there, and broken as it was where it is not.
  std::optional<uint64_t> length = answer.content_length;
  if (length && answer.end == BodyEnd::kWhole) length = answer.size();
  chunked_ = has_body() && !length && chunks_;
  if (has_body() && !length && !chunks_) keep_alive_ = false;
  output_ = "HTTP/1.1 " + std::to_string(answer.status) + ' ' +
            std::string(View(
                http::obsolete_reason(http::int_to_status(static_cast<unsigned>(answer.status))))) +
            "\r\n";
  for (const auto& [name, value] : answer.headers) output_ += name + ": " + value + "\r\n";
  if (length && has_body()) output_ += "content-length: " + std::to_string(*length) + "\r\n";
  if (chunked_) output_ += "transfer-encoding: chunked\r\n";
  output_ += keep_alive_ ? "\r\n" : "connection: close\r\n\r\n";
  Write([this] { NextPiece(); });
}

// Writes `output_`, then goes on; ends where the client has gone.
template <typename Next>
void AnswerConnection::Write(Next next) {
  asio::async_write(socket_, asio::buffer(output_),
                    [self = shared_from_this(), next](Error error, size_t) {
                      if (!error) return next();
                      self->desk_->Done(self->reply_.token, self->sent_, false);
                      self->Close();
                    });
}

void AnswerConnection::NextPiece() {
  const std::vector<BodyPiece>& pieces = reply_.answer.pieces;
  if (!has_body() || piece_ == pieces.size()) return AwaitEnd();
  const BodyPiece& piece = pieces[piece_++];
  if (piece.bytes.empty()) return NextPiece();
  At(piece.offset_ns, [this, &piece] { WritePiece(piece); });
}

// One read of the recorded transport is one write, and one chunk where there are chunks.
void AnswerConnection::WritePiece(const BodyPiece& piece) {
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
void AnswerConnection::AwaitEnd() {
  const HttpAnswer& answer = reply_.answer;
  const bool is_over = !has_body() || answer.content_length.has_value();
  if (answer.end == BodyEnd::kWhole && is_over) return Finish();
  At(reply_.answer.end_offset_ns, [this] { Finish(); });
}

void AnswerConnection::Finish() {
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

void AnswerConnection::End() {
  desk_->Done(reply_.token, sent_, true);
  EndTurn();
  if (keep_alive_) return Read();
  Error ignored;
  if (reply_.answer.end != BodyEnd::kReset) socket_.shutdown(Tcp::socket::shutdown_send, ignored);
  Close();
}

void AnswerConnection::AwaitLeaving() {
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

}  // namespace reenact::replayer
