// A client's connection to the answer server: its requests are answered one after the other, each
// in the pieces, at the time and with the end that its recorded answer had. Not thread-safe: all of
// it runs on the server's thread.

#ifndef REENACT_REPLAYER_HTTP_ANSWER_CONNECTION_H_
#define REENACT_REPLAYER_HTTP_ANSWER_CONNECTION_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "replayer/http/answer_order.h"
#include "replayer/http/call_desk.h"

namespace reenact::replayer {

class AnswerConnection : public std::enable_shared_from_this<AnswerConnection> {
 public:
  // `order` outlives it; null: none is kept.
  AnswerConnection(boost::asio::ip::tcp::socket socket, CallDesk* desk, AnswerOrder* order,
                   bool recorded_time);

  // Takes the next request, and those after it; keeps itself alive as long as there are any.
  void Read();
  void Close();

 private:
  using Error = boost::system::error_code;

  void Answer();
  HttpReply ReplyToRequest();
  bool IsOwnHost(std::string_view host) const;
  bool IsForUs(std::string_view target, std::string_view host) const;
  std::string_view WithoutOwnHost(std::string_view target) const;

  template <typename Next>
  void At(int64_t offset_ns, Next next);
  template <typename Next>
  void Write(Next next);

  bool has_body() const;
  void WriteHead();
  void NextPiece();
  void WritePiece(const BodyPiece& piece);
  void AwaitEnd();
  void Finish();
  void End();
  void EndTurn();
  void AwaitLeaving();

  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer timer_;
  CallDesk* const desk_;
  AnswerOrder* const order_;
  const bool recorded_time_;
  boost::beast::flat_buffer input_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
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

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_HTTP_ANSWER_CONNECTION_H_
