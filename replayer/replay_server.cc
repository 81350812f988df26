#include "replayer/replay_server.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>

#include "absl/status/status.h"

#include "replayer/internal/frame_stream.h"

namespace reenact::replayer {
namespace {

constexpr size_t kMaxConnections = 1024;  // At once: a thread each.
constexpr int kBacklog = 256;
constexpr char kFolderPattern[] = "/reenact-replay-XXXXXX";
constexpr char kSocketName[] = "/socket";
// When descriptors run out, accept fails without waiting: this is how long to leave it alone.
constexpr int kExhaustedPauseMs = 50;

// A folder that only this user can enter; empty when `parent` cannot hold one.
std::string MakeFolder(const std::string& parent) {
  std::string path = parent + kFolderPattern;
  if (path.size() + sizeof(kSocketName) > sizeof(sockaddr_un::sun_path)) return "";
  if (mkdtemp(path.data()) == nullptr) return "";  // Made with mode 0700.
  return path;
}

std::string MakeFolder() {
  const char* runtime = getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/') {
    std::string folder = MakeFolder(std::string(runtime));
    if (!folder.empty()) return folder;
  }
  return MakeFolder(std::string("/tmp"));
}

// Only processes of this user, or root, may ask: recorded answers can be anything.
bool IsTrusted(int fd) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == geteuid() || peer.uid == 0;
}

absl::Status Failed(const std::string& what, const std::string& path) {
  return absl::UnavailableError(what + " " + path + ": " + strerror(errno));
}

}  // namespace

struct ReplayServer::Impl {
  struct Connection {
    int fd = -1;
    bool over = false;  // Its thread has nothing more to do.
    std::thread thread;
  };

  ~Impl();
  absl::Status Listen();
  void AcceptLoop();
  void Accept();
  void JoinFinished();
  void Serve(int fd);
  schema::Message Respond(const schema::Message& request);
  schema::Message Register(const schema::AwaitDrive& request);
  template <typename Predicate>
  bool Wait(int64_t timeout_ms, Predicate predicate);

  ReplaySession* session = nullptr;
  ReplayServerOptions options;
  std::string folder;
  std::string path;
  int listener = -1;
  int stop_event = -1;
  std::thread acceptor;

  mutable std::mutex mutex;  // Guards all that follows.
  std::condition_variable changed;
  std::list<Connection> connections;
  int64_t accepted = 0;
  bool stopping = false;
  bool handler_registered = false;
  bool handler_done = false;
};

absl::Status ReplayServer::Impl::Listen() {
  folder = MakeFolder();
  if (folder.empty()) return Failed("cannot make a folder for the replay socket in", "/tmp");
  path = folder + kSocketName;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.c_str(), path.size() + 1);
  listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  stop_event = eventfd(0, EFD_CLOEXEC);
  if (listener < 0 || stop_event < 0) return Failed("cannot make the replay socket", path);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(listener, kBacklog) != 0) {
    return Failed("cannot listen on", path);
  }
  return absl::OkStatus();
}

ReplayServer::Impl::~Impl() {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
    // Wakes the threads out of their reads; each closes nothing: its descriptor is closed below.
    for (const Connection& connection : connections) shutdown(connection.fd, SHUT_RDWR);
  }
  if (acceptor.joinable()) {
    const uint64_t one = 1;
    // An eventfd takes this write whatever its count is.
    if (write(stop_event, &one, sizeof(one)) < 0) shutdown(listener, SHUT_RDWR);
    acceptor.join();
  }
  for (Connection& connection : connections) {
    connection.thread.join();
    close(connection.fd);
  }
  if (listener >= 0) close(listener);
  if (stop_event >= 0) close(stop_event);
  if (!path.empty()) unlink(path.c_str());
  if (!folder.empty()) rmdir(folder.c_str());
}

void ReplayServer::Impl::AcceptLoop() {
  while (true) {
    pollfd wanted[2] = {{listener, POLLIN, 0}, {stop_event, POLLIN, 0}};
    if (poll(wanted, 2, -1) < 0 && errno != EINTR) return;
    if (wanted[1].revents != 0) return;
    if (wanted[0].revents != 0) Accept();
  }
}

void ReplayServer::Impl::Accept() {
  JoinFinished();
  const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) {
    if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) return;
    pollfd stop = {stop_event, POLLIN, 0};
    poll(&stop, 1, kExhaustedPauseMs);
    return;
  }
  const std::lock_guard<std::mutex> lock(mutex);
  if (stopping || connections.size() >= kMaxConnections || !IsTrusted(fd)) {
    close(fd);  // The SDK takes a closed socket for a divergence.
    return;
  }
  ++accepted;
  Connection& connection = connections.emplace_back();
  connection.fd = fd;
  try {
    connection.thread = std::thread([this, &connection] {
      Serve(connection.fd);
      const std::lock_guard<std::mutex> over_lock(mutex);
      shutdown(connection.fd, SHUT_RDWR);
      connection.over = true;
    });
  } catch (const std::system_error&) {
    close(fd);
    connections.pop_back();
  }
}

void ReplayServer::Impl::JoinFinished() {
  std::list<Connection> finished;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    for (auto it = connections.begin(); it != connections.end();) {
      const auto next = std::next(it);
      if (it->over) finished.splice(finished.end(), connections, it);
      it = next;
    }
  }
  for (Connection& connection : finished) {
    connection.thread.join();
    close(connection.fd);
  }
}

// One connection: questions and answers in turn, until it ends or stops making sense.
void ReplayServer::Impl::Serve(int fd) {
  while (const std::optional<std::string> frame = ReadFrame(fd)) {
    const std::optional<schema::Message> request = schema::DecodeMessage(*frame);
    if (!request) return;
    if (!WriteMessage(fd, Respond(*request))) return;
  }
}

schema::Message ReplayServer::Impl::Respond(const schema::Message& request) {
  if (const auto* await = std::get_if<schema::AwaitDrive>(&request)) return Register(*await);
  schema::Message answer = session->Answer(request);
  const bool done = std::holds_alternative<schema::HandlerDone>(request);
  if (done || std::holds_alternative<schema::FinishRun>(request)) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto* handler = std::get_if<schema::HandlerDone>(&request);
    if (handler != nullptr && handler->entry == session->recorded_run().entry) handler_done = true;
    changed.notify_all();
  }
  return answer;
}

// The first handler of the tape's entry is driven; every other has nothing to wait for.
schema::Message ReplayServer::Impl::Register(const schema::AwaitDrive& request) {
  const schema::Run& run = session->recorded_run();
  if (!options.drive_handlers || request.entry != run.entry || run.input.cut) return schema::Done{};
  const std::lock_guard<std::mutex> lock(mutex);
  if (handler_registered) return schema::Done{};
  handler_registered = true;
  return schema::Drive{run.input.bytes};
}

template <typename Predicate>
bool ReplayServer::Impl::Wait(int64_t timeout_ms, Predicate predicate) {
  std::unique_lock<std::mutex> lock(mutex);
  return changed.wait_for(lock, std::chrono::milliseconds(std::max<int64_t>(timeout_ms, 0)),
                          predicate);
}

ReplayServer::ReplayServer() : impl_(std::make_unique<Impl>()) {}

ReplayServer::~ReplayServer() = default;

absl::StatusOr<std::unique_ptr<ReplayServer>> ReplayServer::Start(
    ReplaySession* session, const ReplayServerOptions& options) {
  std::unique_ptr<ReplayServer> server(new ReplayServer());
  Impl& impl = *server->impl_;
  impl.session = session;
  impl.options = options;
  if (absl::Status status = impl.Listen(); !status.ok()) return status;
  impl.acceptor = std::thread([&impl] { impl.AcceptLoop(); });
  return server;
}

const std::string& ReplayServer::socket_path() const {
  return impl_->path;
}

bool ReplayServer::WaitDone(int64_t timeout_ms) {
  return impl_->Wait(timeout_ms,
                     [this] { return impl_->handler_done || impl_->session->finished(); });
}

bool ReplayServer::WaitFinished(int64_t timeout_ms) {
  return impl_->Wait(timeout_ms, [this] { return impl_->session->finished(); });
}

bool ReplayServer::handler_registered() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->handler_registered;
}

int64_t ReplayServer::connections() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->accepted;
}

}  // namespace reenact::replayer
