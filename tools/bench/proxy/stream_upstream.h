// The provider of proxy_bench: streams that tick, and answers that come at once. One thread.

#ifndef REENACT_TOOLS_BENCH_PROXY_STREAM_UPSTREAM_H_
#define REENACT_TOOLS_BENCH_PROXY_STREAM_UPSTREAM_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace reenact::bench {

inline constexpr size_t kPieceBytes = 60;
inline constexpr int64_t kPieceIntervalNs = 100'000'000;

// Monotonic.
int64_t NowNs();
// A socket that listens on a free port of 127.0.0.1, without blocking; -1 where there is none.
int ListenOnLoopback(uint16_t* port);
// One server-sent event of kPieceBytes: what piece `index` of stream `stream` is.
std::string PieceOf(int stream, int index);

// Answers "POST .../stream/N" with `pieces_per_stream` pieces, ten a second, each a chunk; and any
// other request with one short body at once.
class StreamUpstream {
 public:
  explicit StreamUpstream(int pieces_per_stream);
  ~StreamUpstream();
  StreamUpstream(const StreamUpstream&) = delete;
  StreamUpstream& operator=(const StreamUpstream&) = delete;

  uint16_t port() const { return port_; }

  // Pieces that could not be sent at once, because the reader did not keep up.
  uint64_t stuck() const { return stuck_; }

 private:
  struct Connection {
    std::string request;  // What came of it so far.
    int stream = -1;      // Below 0: none is under way.
    int next_piece = 0;
  };

  void Run();
  void Accept();
  void Read(int fd);
  void Answer(int fd, Connection* connection);
  void Tick(int64_t now);
  void Send(int fd, const std::string& bytes);
  void Close(int fd);

  const int pieces_per_stream_;
  uint16_t port_ = 0;
  int listener_ = -1;
  int epoll_ = -1;
  std::map<int, Connection> connections_;  // By descriptor.
  std::multimap<int64_t, int> due_;        // When the next piece of which descriptor is.
  std::atomic<uint64_t> stuck_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace reenact::bench

#endif  // REENACT_TOOLS_BENCH_PROXY_STREAM_UPSTREAM_H_
