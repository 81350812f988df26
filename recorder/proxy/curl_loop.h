// libcurl's multi interface on an Asio loop: sockets and timer are Asio's, so that transfers and
// client connections share one thread. All of it is called on that thread.

#ifndef REENACT_RECORDER_PROXY_CURL_LOOP_H_
#define REENACT_RECORDER_PROXY_CURL_LOOP_H_

#include <curl/curl.h>

#include <functional>
#include <memory>
#include <unordered_map>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace reenact::proxy {

class CurlLoop {
 public:
  explicit CurlLoop(boost::asio::io_context* io);
  ~CurlLoop();  // Every handle was removed before.
  CurlLoop(const CurlLoop&) = delete;
  CurlLoop& operator=(const CurlLoop&) = delete;

  // Starts a transfer. `done` is called once, from the loop and never from within Add, after the
  // handle was removed again; not at all after Remove. False: libcurl refused, `done` is dropped.
  bool Add(CURL* easy, std::function<void(CURLcode)> done);
  // Cuts a transfer off. Not from within a callback of libcurl.
  void Remove(CURL* easy);
  // Lets a transfer go on that paused itself in a callback. Not from within a callback of libcurl.
  void Resume(CURL* easy);

 private:
  class Socket;

  static int OnSocket(CURL* easy, curl_socket_t fd, int what, void* self, void* socket);
  static int OnTimer(CURLM* multi, long timeout_ms, void* self);
  void Watch(curl_socket_t fd, int what);
  // The number of transfers that still run.
  int Run(curl_socket_t fd, int events);
  void Act(curl_socket_t fd, int events);
  void ReportDone();

  boost::asio::io_context* const io_;
  boost::asio::steady_timer timer_;
  CURLM* const multi_;
  std::unordered_map<curl_socket_t, std::shared_ptr<Socket>> sockets_;
  std::unordered_map<CURL*, std::function<void(CURLcode)>> transfers_;
};

}  // namespace reenact::proxy

#endif  // REENACT_RECORDER_PROXY_CURL_LOOP_H_
