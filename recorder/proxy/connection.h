// A client's connection: requests are read from it one after the other, answers written to it.

#ifndef REENACT_RECORDER_PROXY_CONNECTION_H_
#define REENACT_RECORDER_PROXY_CONNECTION_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>

#include "recorder/proxy/exchange.h"
#include "recorder/proxy/own_answer.h"
#include "recorder/proxy/proxy_core.h"

namespace reenact::proxy {

class Connection final : public ClientStream, public std::enable_shared_from_this<Connection> {
 public:
  Connection(ProxyCore* core, boost::asio::ip::tcp::socket socket, uint64_t number);
  ~Connection() override;

  void Start();
  // Ends it at once where nothing is under way; else it takes no further request.
  void StopSoon();
  // Ends it, cutting off what is under way.
  void Close();

  void Write(std::string_view bytes) override;
  bool has_room() const override;
  void WantRequestBytes() override;
  void AnswerDone(bool keep_alive) override;
  void AnswerReset() override;

 private:
  using Error = boost::system::error_code;

  void ReadHead();
  void OnHead();
  ClientRequest TakeRequest() const;
  void AnswerOwn(const ClientRequest& request, const OwnAnswer& answer);
  void BeginExchange(ClientRequest request, Destination destination);

  void TakeBufferedBody();
  void GiveRoomForBody();
  void ReadBody();
  // False: the exchange is over.
  bool TakeBody();
  void OnBody(Error error);
  void FinishRequest();
  void WatchClient();
  void OnClientStirs(Error error);
  void ClientGone();

  size_t SendNow(std::string_view bytes);
  void StartWriting();
  void OnWritten(Error error);
  void EndExchange();

  ProxyCore* const core_;
  boost::asio::ip::tcp::socket socket_;
  const uint64_t number_;
  boost::beast::flat_buffer input_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::buffer_body>> parser_;
  std::unique_ptr<std::array<char, 64 << 10>> body_piece_;  // While a body is read.
  bool reading_body_ = false;
  bool watching_ = false;

  std::string waiting_;  // To be written next.
  std::string writing_;  // Being written.
  bool write_under_way_ = false;

  std::unique_ptr<Exchange> exchange_;
  // While an exchange is under way, which may for a time wait for nothing but its upstream.
  std::shared_ptr<Connection> self_;
  bool answer_done_ = false;
  bool keep_alive_ = false;
  bool reset_ = false;  // The connection ends with a reset.
  bool closed_ = false;
};

}  // namespace reenact::proxy

#endif  // REENACT_RECORDER_PROXY_CONNECTION_H_
