#include "recorder/proxy/curl_loop.h"

#include <chrono>
#include <utility>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>

namespace reenact::proxy {

using boost::asio::posix::stream_descriptor;

// A socket of libcurl's, watched by the loop; closing it is left to libcurl.
class CurlLoop::Socket : public std::enable_shared_from_this<CurlLoop::Socket> {
 public:
  Socket(CurlLoop* loop, curl_socket_t fd) : loop_(loop), fd_(fd), descriptor_(*loop->io_, fd) {}

  ~Socket() { Release(); }

  void Want(int what) {
    wanted_ = what;
    Arm();
  }

  void Release() {
    loop_ = nullptr;
    if (descriptor_.is_open()) descriptor_.release();
  }

 private:
  bool wants(int direction) const { return loop_ != nullptr && (wanted_ & direction) != 0; }

  void Arm() {
    if (wants(CURL_POLL_IN) && !reading_) {
      reading_ = true;
      WaitFor(stream_descriptor::wait_read, CURL_POLL_IN, CURL_CSELECT_IN, &reading_);
    }
    if (wants(CURL_POLL_OUT) && !writing_) {
      writing_ = true;
      WaitFor(stream_descriptor::wait_write, CURL_POLL_OUT, CURL_CSELECT_OUT, &writing_);
    }
  }

  void WaitFor(stream_descriptor::wait_type type, int direction, int event, bool* waiting) {
    descriptor_.async_wait(
        type, [self = shared_from_this(), direction, event, waiting](boost::system::error_code e) {
          *waiting = false;
          if (e == boost::asio::error::operation_aborted || !self->wants(direction)) return;
          self->loop_->Act(self->fd_, e ? CURL_CSELECT_ERR : event);
          // libcurl says what it wants only when that changes.
          self->Arm();
        });
  }

  CurlLoop* loop_;  // Null: libcurl has let go of the socket.
  const curl_socket_t fd_;
  stream_descriptor descriptor_;
  int wanted_ = 0;
  bool reading_ = false;
  bool writing_ = false;
};

CurlLoop::CurlLoop(boost::asio::io_context* io) : io_(io), timer_(*io), multi_(curl_multi_init()) {
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &CurlLoop::OnSocket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &CurlLoop::OnTimer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
}

CurlLoop::~CurlLoop() {
  timer_.cancel();
  // Closes pooled connections, each of which is unwatched on the way.
  curl_multi_cleanup(multi_);
  for (auto& [fd, socket] : sockets_) socket->Release();
}

bool CurlLoop::Add(CURL* easy, std::function<void(CURLcode)> done) {
  transfers_[easy] = std::move(done);
  if (curl_multi_add_handle(multi_, easy) != CURLM_OK) {
    transfers_.erase(easy);
    return false;
  }
  // libcurl now wants a timer that is over at once; the request does not wait for it.
  const int running = Run(CURL_SOCKET_TIMEOUT, 0);
  if (static_cast<size_t>(running) < transfers_.size()) {
    boost::asio::post(*io_, [this] { ReportDone(); });
  }
  return true;
}

void CurlLoop::Remove(CURL* easy) {
  if (transfers_.erase(easy) != 0) curl_multi_remove_handle(multi_, easy);
}

void CurlLoop::Resume(CURL* easy) {
  if (transfers_.count(easy) == 0) return;
  curl_easy_pause(easy, CURLPAUSE_CONT);
  // As in Add.
  Act(CURL_SOCKET_TIMEOUT, 0);
}

int CurlLoop::OnSocket(CURL*, curl_socket_t fd, int what, void* self, void*) {
  static_cast<CurlLoop*>(self)->Watch(fd, what);
  return 0;
}

void CurlLoop::Watch(curl_socket_t fd, int what) {
  const auto found = sockets_.find(fd);
  if (what == CURL_POLL_REMOVE) {
    if (found == sockets_.end()) return;
    found->second->Release();
    sockets_.erase(found);
    return;
  }
  auto& socket = found != sockets_.end() ? found->second : sockets_[fd];
  if (!socket) socket = std::make_shared<Socket>(this, fd);
  socket->Want(what);
}

int CurlLoop::OnTimer(CURLM*, long timeout_ms, void* self) {
  auto* const loop = static_cast<CurlLoop*>(self);
  if (timeout_ms < 0) {
    loop->timer_.cancel();
    return 0;
  }
  loop->timer_.expires_after(std::chrono::milliseconds(timeout_ms));
  loop->timer_.async_wait([loop](boost::system::error_code error) {
    if (!error) loop->Act(CURL_SOCKET_TIMEOUT, 0);
  });
  return 0;
}

int CurlLoop::Run(curl_socket_t fd, int events) {
  int running = 0;
  curl_multi_socket_action(multi_, fd, events, &running);
  return running;
}

void CurlLoop::Act(curl_socket_t fd, int events) {
  Run(fd, events);
  ReportDone();
}

void CurlLoop::ReportDone() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* const easy = message->easy_handle;
    const CURLcode code = message->data.result;
    curl_multi_remove_handle(multi_, easy);
    const auto found = transfers_.find(easy);
    if (found == transfers_.end()) continue;
    const std::function<void(CURLcode)> done = std::move(found->second);
    transfers_.erase(found);
    done(code);
  }
}

}  // namespace reenact::proxy
