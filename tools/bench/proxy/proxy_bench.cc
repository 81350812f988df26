// What the recording proxy costs those whose calls go through it: many streams at once, each with
// ten events of 60 bytes a second, all through a `reenact proxy` of its own; beside them, one
// request after the other that is answered at once, by turns through the proxy and directly.
//
//   proxy_bench --reenact FILE --store DIR [--streams N] [--seconds N]
//
// Prints the time to the first byte of those requests on both ways, what the proxy adds to it, the
// proxy's peak memory, and the load of the machine. Exit code 1 where a byte of a stream differs or
// is missing, 2 where the proxy did not start.

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tools/bench/proxy/proxy_process.h"
#include "tools/bench/proxy/stream_upstream.h"

namespace reenact::bench {
namespace {

struct Settings {
  std::string reenact;
  std::string store;
  int streams = 1000;
  int seconds = 60;
};

int Connect(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return fd;
  close(fd);
  return -1;
}

std::string RequestTo(const std::string& path) {
  const std::string body =
      R"({"model":"m","stream":true,"messages":[{"role":"user","content":"tick"}]})";
  return "POST " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n" +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// Reads one chunked answer and compares its body with what was to come.
class StreamReader {
 public:
  StreamReader(int stream, int pieces) : stream_(stream), pieces_(pieces) {}

  void Take(std::string_view bytes) {
    waiting_.append(bytes);
    if (!head_read_) {
      const size_t end = waiting_.find("\r\n\r\n");
      if (end == std::string::npos) return;
      waiting_.erase(0, end + 4);
      head_read_ = true;
    }
    size_t at = 0;
    while (!done_ && !differs_) {
      const size_t line_end = waiting_.find("\r\n", at);
      if (line_end == std::string::npos) break;
      const size_t size = std::strtoul(waiting_.c_str() + at, nullptr, 16);
      if (waiting_.size() < line_end + 2 + size + 2) break;
      Compare(std::string_view(waiting_).substr(line_end + 2, size));
      done_ = size == 0;
      at = line_end + 2 + size + 2;
    }
    waiting_.erase(0, at);
  }

  bool over() const { return done_ || differs_; }

  bool equal() const { return done_ && !differs_ && next_ == pieces_ && piece_.empty(); }

 private:
  void Compare(std::string_view body) {
    piece_.append(body);
    while (piece_.size() >= kPieceBytes) {
      differs_ = differs_ || piece_.compare(0, kPieceBytes, PieceOf(stream_, next_++)) != 0;
      piece_.erase(0, kPieceBytes);
    }
  }

  const int stream_;
  const int pieces_;
  std::string waiting_;
  std::string piece_;
  int next_ = 0;
  bool head_read_ = false;
  bool done_ = false;
  bool differs_ = false;
};

// All streams through the proxy; and the requests beside them.
class Load {
 public:
  Load(const Settings& settings, uint16_t proxy, uint16_t upstream)
      : settings_(settings), proxy_(proxy), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    probes_[0] = {.fd = Connect(upstream), .request = RequestTo("/probe"), .ns = {}};
    probes_[1] = {.fd = Connect(proxy), .request = RequestTo("/up/probe"), .ns = {}};
    for (const Probe& probe : probes_) Watch(probe.fd);
  }

  ~Load() {
    for (const int fd : descriptors_) close(fd);
    close(epoll_);
  }

  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  // False: a stream could not be begun, or something hangs.
  bool Run() {
    begin_ = NowNs();
    const int64_t deadline = begin_ + (settings_.seconds * int64_t{2} + 30) * 1'000'000'000;
    while (over_ < settings_.streams) {
      if (NowNs() > deadline) return false;
      // Begun over a second, so that their ticks are spread as those of strangers are.
      const int64_t wanted = (NowNs() - begin_) * settings_.streams / 1'000'000'000 + 1;
      while (begun_ < std::min<int64_t>(wanted, settings_.streams)) {
        if (!Begin(begun_++)) return false;
      }
      if (awaited_ < 0 && NowNs() >= next_probe_) SendProbe();
      Wait();
      ShowProgress();
    }
    return true;
  }

  bool equal() const {
    return std::all_of(readers_.begin(), readers_.end(),
                       [](const StreamReader& reader) { return reader.equal(); });
  }

  const std::vector<int64_t>& ns(int way) const { return probes_[way].ns; }

 private:
  struct Probe {
    int fd = -1;
    std::string request;
    std::vector<int64_t> ns;  // To the first byte.
  };

  void Watch(int fd) {
    descriptors_.push_back(fd);
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }

  bool Begin(int stream) {
    const int fd = Connect(proxy_);
    if (fd < 0) return false;
    Watch(fd);
    if (reader_of_.size() <= static_cast<size_t>(fd)) reader_of_.resize(fd + 1, -1);
    reader_of_[fd] = stream;
    readers_.emplace_back(stream, settings_.seconds * 10);
    const std::string request = RequestTo("/up/stream/" + std::to_string(stream));
    return send(fd, request.data(), request.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(request.size());
  }

  // By turns, so that both ways meet the same moments.
  void SendProbe() {
    constexpr int64_t kInterval = 10'000'000;
    next_probe_ = NowNs() + kInterval;
    awaited_ = way_;
    way_ = 1 - way_;
    sent_ = NowNs();
    const Probe& probe = probes_[awaited_];
    if (send(probe.fd, probe.request.data(), probe.request.size(), MSG_NOSIGNAL) < 0) awaited_ = -1;
  }

  void Wait() {
    epoll_event events[256];
    const int count = epoll_wait(epoll_, events, 256, 1);
    for (int i = 0; i < count; ++i) {
      char bytes[16 << 10];
      const int fd = events[i].data.fd;
      const ssize_t size = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
      if (awaited_ >= 0 && fd == probes_[awaited_].fd) {
        if (size > 0) TakeProbe({bytes, static_cast<size_t>(size)});
      } else if (static_cast<size_t>(fd) < reader_of_.size() && reader_of_[fd] >= 0) {
        TakeStream(fd, bytes, size);
      }
    }
  }

  void TakeProbe(std::string_view bytes) {
    // The first second is that of the streams beginning.
    if (answer_.empty() && NowNs() - begin_ > 1'500'000'000) {
      probes_[awaited_].ns.push_back(NowNs() - sent_);
    }
    answer_ += bytes;
    if (!answer_.ends_with("{\"ok\":true}")) return;
    answer_.clear();
    awaited_ = -1;
  }

  void TakeStream(int fd, const char* bytes, ssize_t size) {
    if (size < 0 && errno == EAGAIN) return;
    StreamReader& reader = readers_[reader_of_[fd]];
    if (size > 0) reader.Take({bytes, static_cast<size_t>(size)});
    if (size > 0 && !reader.over()) return;
    ++over_;
    reader_of_[fd] = -1;
    epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  }

  void ShowProgress() {
    const int second = static_cast<int>((NowNs() - begin_) / 1'000'000'000);
    if (second == shown_ || isatty(STDERR_FILENO) == 0) return;
    shown_ = second;
    const int width = std::min(40, 40 * second / std::max(1, settings_.seconds));
    std::fprintf(stderr, "\r%d streams [%-40s] %d of %d s", settings_.streams,
                 std::string(width, '#').c_str(), second, settings_.seconds);
    if (second >= settings_.seconds) std::fprintf(stderr, "\n");
  }

  const Settings& settings_;
  const uint16_t proxy_;
  const int epoll_;
  std::vector<int> descriptors_;
  std::vector<int> reader_of_;  // By descriptor; below 0: none.
  std::vector<StreamReader> readers_;
  Probe probes_[2];  // Directly, through the proxy.
  int64_t begin_ = 0;
  int64_t next_probe_ = 0;
  int64_t sent_ = 0;
  int awaited_ = -1;  // The way of the request that is under way.
  int way_ = 0;
  std::string answer_;
  int begun_ = 0;
  int over_ = 0;
  int shown_ = -1;
};

double QuantileMs(std::vector<int64_t> ns, double q) {
  if (ns.empty()) return -1;
  std::sort(ns.begin(), ns.end());
  return static_cast<double>(ns[static_cast<size_t>(q * static_cast<double>(ns.size() - 1))]) / 1e6;
}

void Print(const Settings& settings, const Load& load, const ProxyProcess& proxy) {
  std::printf("%d streams of %d events through the proxy, for %d s: bytes %s\n", settings.streams,
              settings.seconds * 10, settings.seconds, load.equal() ? "equal" : "DIFFER");
  std::printf("first byte of a request beside them, ms:   p50     p99   requests\n");
  const char* const names[] = {"directly", "through the proxy"};
  for (int way = 0; way < 2; ++way) {
    std::printf("  %-36s %7.3f %7.3f %10zu\n", names[way], QuantileMs(load.ns(way), 0.5),
                QuantileMs(load.ns(way), 0.99), load.ns(way).size());
  }
  std::printf("  %-36s %7.3f %7.3f\n", "added",
              QuantileMs(load.ns(1), 0.5) - QuantileMs(load.ns(0), 0.5),
              QuantileMs(load.ns(1), 0.99) - QuantileMs(load.ns(0), 0.99));
  double average[1] = {};
  getloadavg(average, 1);
  std::printf("peak memory of the proxy: %.1f MB; load of the machine: %.1f\n",
              static_cast<double>(proxy.PeakMemory()) / 1000, average[0]);
}

bool ParseSettings(int argc, char** argv, Settings* settings) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const char* const value = argv[i + 1];
    if (name == "--reenact") settings->reenact = value;
    if (name == "--store") settings->store = value;
    if (name == "--streams") settings->streams = std::atoi(value);
    if (name == "--seconds") settings->seconds = std::atoi(value);
  }
  return argc % 2 == 1 && !settings->reenact.empty() && !settings->store.empty() &&
         settings->streams > 0 && settings->seconds > 0;
}

// A socket for each stream at both ends, of which one process has both.
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int Main(int argc, char** argv) {
  Settings settings;
  if (!ParseSettings(argc, argv, &settings)) {
    std::fprintf(stderr,
                 "usage: proxy_bench --reenact FILE --store DIR [--streams N] [--seconds N]\n");
    return 2;
  }
  // Not for the proxy, which has to cope with what a shell gives it.
  StreamUpstream upstream(settings.seconds * 10);
  const ProxyProcess proxy(settings.reenact, settings.store, upstream.port());
  RaiseDescriptorLimit();
  if (proxy.port() == 0) {
    std::fprintf(stderr, "proxy_bench: %s proxy did not start\n", settings.reenact.c_str());
    return 2;
  }
  Load load(settings, proxy.port(), upstream.port());
  const bool ran = load.Run();
  if (!ran) std::fprintf(stderr, "proxy_bench: a stream could not be begun, or hangs\n");
  Print(settings, load, proxy);
  return ran && load.equal() ? 0 : 1;
}

}  // namespace
}  // namespace reenact::bench

int main(int argc, char** argv) {
  return reenact::bench::Main(argc, argv);
}
