#include "replayer/mcp/mcp_hub.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/status/status.h"

#include "replayer/mcp/mcp_frames.h"

namespace reenact::replayer {
namespace {

constexpr int kRoomPollMs = 50;
constexpr timeval kSendPatience{.tv_sec = 5, .tv_usec = 0};

absl::Status HubFailed(const std::string& what, const std::string& path) {
  return absl::UnavailableError(what + " " + path + ": " + std::strerror(errno));
}

// False: the path is too long for a socket's address.
bool AddressOf(const std::string& path, sockaddr_un* address) {
  address->sun_family = AF_UNIX;
  if (path.size() >= sizeof(address->sun_path)) {
    errno = ENAMETOOLONG;
    return false;
  }
  std::memcpy(address->sun_path, path.c_str(), path.size() + 1);
  return true;
}

bool Answer(const McpFrameSocket& socket, const McpReply& reply) {
  for (const std::string& line : reply.lines) {
    if (!socket.Send(McpFrameType::kLine, line)) return false;
  }
  if (reply.server_gone && !socket.Send(McpFrameType::kServerGone, reply.server_end)) {
    return false;
  }
  return socket.Send(McpFrameType::kDone);
}

// False: it was the last frame.
bool Handle(const McpFrameSocket& socket, const McpFrame& frame, McpPeer* peer) {
  switch (frame.type) {
    case McpFrameType::kFromClient:
      return Answer(socket, peer->FromClient(frame.line()));
    case McpFrameType::kFromServer:
      peer->FromServer(frame.line());
      return true;
    case McpFrameType::kServerEnded:
      peer->ServerEnded(frame.bytes);
      return Answer(socket, {});
    case McpFrameType::kClientEnded:
      peer->ClientEnded();
      Answer(socket, {});
      return false;
    default:
      return false;
  }
}

void Serve(const McpFrameSocket& socket, const McpHub::MakePeer& make_peer) {
  McpSession session;
  std::optional<McpFrame> frame = socket.Receive();
  for (; frame && frame->type == McpFrameType::kSecret; frame = socket.Receive()) {
    session.secrets.push_back(std::move(frame->bytes));
  }
  if (!frame || frame->type != McpFrameType::kServer) return;
  session.server = std::move(frame->bytes);
  const std::unique_ptr<McpPeer> peer = make_peer(session);
  socket.Send(McpFrameType::kMode, peer->replays() ? "replay" : "record");
  if (!Answer(socket, peer->Begin())) return;
  while ((frame = socket.Receive()) && Handle(socket, *frame, peer.get())) {
  }
}

// The end of the hub that `reenact mcp` holds.
class RemotePeer final : public McpPeer {
 public:
  explicit RemotePeer(int fd) : socket_(fd) {}

  bool Join(const McpSession& session) {
    for (const std::string& secret : session.secrets) socket_.Send(McpFrameType::kSecret, secret);
    socket_.Send(McpFrameType::kServer, session.server);
    const std::optional<McpFrame> mode = socket_.Receive();
    if (!mode || mode->type != McpFrameType::kMode) return false;
    replays_ = mode->bytes == "replay";
    begin_ = Await();
    return true;
  }

  bool replays() const override { return replays_; }

  McpReply Begin() override { return begin_; }

  McpReply FromClient(const schema::LineReader::Line& line) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    socket_.Send(McpFrameType::kFromClient, line.text, line.size);
    return Await();
  }

  void FromServer(const schema::LineReader::Line& line) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    socket_.Send(McpFrameType::kFromServer, line.text, line.size);
  }

  void ServerEnded(std::string_view detail) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    socket_.Send(McpFrameType::kServerEnded, detail);
    Await();
  }

  void ClientEnded() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    socket_.Send(McpFrameType::kClientEnded);
    Await();
  }

 private:
  McpReply Await() {
    McpReply reply;
    while (std::optional<McpFrame> frame = socket_.Receive()) {
      if (frame->type == McpFrameType::kDone) return reply;
      if (frame->type == McpFrameType::kServerGone) {
        reply.server_gone = true;
        reply.server_end = frame->bytes;
      }
      if (frame->type == McpFrameType::kLine) reply.lines.push_back(std::move(frame->bytes));
    }
    reply.server_gone = true;
    return reply;
  }

  const McpFrameSocket socket_;
  std::mutex mutex_;  // One question at a time.
  bool replays_ = false;
  McpReply begin_;
};

}  // namespace

struct McpHub::Impl {
  struct Session {
    explicit Session(int fd) : socket(fd) {}

    McpFrameSocket socket;
    std::atomic<bool> ended{false};
    std::thread thread;
  };

  void Accept();
  void Reap();

  std::string path;
  MakePeer make_peer;
  int listener = -1;
  int stop_event = -1;
  std::thread acceptor;
  std::atomic<int> open_sessions{0};
  std::list<Session> sessions;  // On the acceptor's thread, and after its end.
};

// Those that have ended give back their descriptor and their thread.
void McpHub::Impl::Reap() {
  for (auto session = sessions.begin(); session != sessions.end();) {
    if (!session->ended) {
      ++session;
      continue;
    }
    session->thread.join();
    session = sessions.erase(session);
  }
}

void McpHub::Impl::Accept() {
  while (true) {
    pollfd wanted[2] = {{stop_event, POLLIN, 0}, {listener, POLLIN, 0}};
    if (poll(wanted, 2, -1) < 0 && errno != EINTR) return;
    if (wanted[0].revents != 0) return;
    if ((wanted[1].revents & POLLIN) == 0) continue;
    Reap();
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) {
      // Of too many open files the listener tells again and again, until there is room.
      if (errno == EMFILE || errno == ENFILE) poll(&wanted[0], 1, kRoomPollMs);
      continue;
    }
    // A client that was stopped takes nothing: the hub's end must not wait for it.
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kSendPatience, sizeof(kSendPatience));
    Session& session = sessions.emplace_back(fd);
    ++open_sessions;
    session.thread = std::thread([this, &session] {
      Serve(session.socket, make_peer);
      session.socket.End();
      --open_sessions;
      session.ended = true;
    });
  }
}

McpHub::McpHub() : impl_(std::make_unique<Impl>()) {}

McpHub::~McpHub() {
  if (impl_->acceptor.joinable()) {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(impl_->stop_event, &one, sizeof(one));
    impl_->acceptor.join();
  }
  // What is still connected was started by a program that has ended.
  for (const Impl::Session& session : impl_->sessions) session.socket.StopReceiving();
  for (Impl::Session& session : impl_->sessions) session.thread.join();
  for (const int fd : {impl_->listener, impl_->stop_event}) {
    if (fd >= 0) close(fd);
  }
  if (!impl_->path.empty()) unlink(impl_->path.c_str());
}

void McpHub::Drain(int64_t grace_ms) {
  constexpr auto kStep = std::chrono::milliseconds(2);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(grace_ms);
  while (impl_->open_sessions > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kStep);
  }
}

absl::StatusOr<std::unique_ptr<McpHub>> McpHub::Start(const std::string& path, MakePeer make_peer) {
  std::unique_ptr<McpHub> hub(new McpHub());
  Impl& impl = *hub->impl_;
  impl.make_peer = std::move(make_peer);
  impl.stop_event = eventfd(0, EFD_CLOEXEC);
  impl.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  if (impl.stop_event < 0 || impl.listener < 0 || !AddressOf(path, &address) ||
      bind(impl.listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(impl.listener, SOMAXCONN) != 0) {
    return HubFailed("cannot listen for sessions of MCP at", path);
  }
  impl.path = path;
  impl.acceptor = std::thread([&impl] { impl.Accept(); });
  return hub;
}

absl::StatusOr<std::unique_ptr<McpPeer>> JoinMcpHub(const std::string& path,
                                                    const McpSession& session) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return HubFailed("cannot reach the run at", path);
  auto peer = std::make_unique<RemotePeer>(fd);
  sockaddr_un address{};
  if (!AddressOf(path, &address) ||
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return HubFailed("cannot reach the run at", path);
  }
  if (!peer->Join(session)) {
    return absl::UnavailableError("the run at " + path + " does not take sessions of MCP");
  }
  return peer;
}

}  // namespace reenact::replayer
