// reenact_curl.hpp over a real loopback connection, and on replay without one.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "reenact/reenact_curl.hpp"
#include "tests/recorder/fake_replayer.h"
#include "tests/recorder/recorder_fixture.h"

namespace reenact {
namespace {

using testing::FakeReplayer;
using testing::ServeEverything;

void SendAll(int fd, const std::string& answer) {
  send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
}

// Answers one connection after the other with bytes as they stand, and then closes it.
class RawServer {
 public:
  using Send = std::function<void(int fd, const std::string& answer)>;

  explicit RawServer(std::vector<std::string> answers, Send send = SendAll)
      : answers_(std::move(answers)), send_(std::move(send)) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    socklen_t size = sizeof(address);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    listen(listener_, 8);
    thread_ = std::thread([this] { Serve(); });
  }

  ~RawServer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }

  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1/chat"; }

 private:
  void Serve() {
    for (const std::string& answer : answers_) {
      const int fd = accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      std::string request;
      char buffer[4096];
      while (request.find("\r\n\r\n{}") == std::string::npos) {
        const ssize_t got = recv(fd, buffer, sizeof(buffer), 0);
        if (got <= 0) break;
        request.append(buffer, static_cast<size_t>(got));
      }
      send_(fd, answer);
      shutdown(fd, SHUT_WR);
      while (recv(fd, buffer, sizeof(buffer), 0) > 0) {
      }
      close(fd);
    }
  }

  const std::vector<std::string> answers_;
  const Send send_;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::thread thread_;
};

// A host's own transfer: its handle, its parser, its header function.
class Host {
 public:
  explicit Host(const std::string& url) : easy_(curl_easy_init()) {
    curl_easy_setopt(easy_, CURLOPT_URL, url.c_str());
    curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, "{}");
    curl_easy_setopt(easy_, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(easy_, CURLOPT_FORBID_REUSE, 1L);
    curl_easy_setopt(easy_, CURLOPT_NOPROXY, "*");
    callbacks.write = [](char* data, size_t size, size_t count, void* user) {
      auto* host = static_cast<Host*>(user);
      host->paused = host->pause_before_each && !host->paused;
      if (host->paused || host->pause_for_ever) return size_t{CURL_WRITEFUNC_PAUSE};
      host->body.append(data, size * count);
      if (host->taken) host->taken();
      return host->stop_after != 0 && host->body.size() >= host->stop_after ? 0 : size * count;
    };
    callbacks.write_data = this;
    callbacks.header = [](char* data, size_t size, size_t count, void* user) {
      static_cast<Host*>(user)->head.append(data, size * count);
      return size * count;
    };
    callbacks.header_data = this;
    call.provider = "openai";
    call.endpoint = url;
    call.request = "{}";
  }

  ~Host() { curl_easy_cleanup(easy_); }

  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  CurlAnswer Perform(Seam& seam, const CurlRetry& retry = nullptr) {
    return PerformCurl(seam, call, easy_, callbacks, retry);
  }

  CURL* easy() { return easy_; }

  std::string body;
  std::string head;
  size_t stop_after = 0;
  bool pause_before_each = false;  // Each piece is refused once, and taken when it comes again.
  bool pause_for_ever = false;
  bool paused = false;
  std::function<void()> taken;  // Called with each piece that was taken.
  CurlCallbacks callbacks;
  reenact::ModelCall call;

 private:
  CURL* easy_;
};

class Curl : public testing::RecorderTest {
 protected:
  Recorder MakeRecorder() {
    reenact::Options options;
    options.store = store_path_;
    options.mode = Mode::kRecord;
    options.close_deadline_ms = testing::kPatienceMs;
    return Recorder(options);
  }

  schema::Event OnlyEvent() {
    const schema::RecordedRun run = OnlyRun();
    EXPECT_EQ(run.events.size(), 1u);
    return run.events.empty() ? schema::Event() : run.events[0];
  }
};

TEST_F(Curl, FinalAnswerIsRecordedAndTheHostSeesEverything) {
  RawServer server(
      {"HTTP/1.1 307 Temporary Redirect\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n",
       "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
       "x-request-id: req_9\r\nContent-Length: 5\r\n\r\nhello"});
  Recorder recorder = MakeRecorder();
  Host host(server.url());
  {
    reenact::Run run = recorder.StartRun({.entry = "e"});
    const CurlAnswer answer = host.Perform(run);
    EXPECT_EQ(answer.code, CURLE_OK) << answer.error;
    EXPECT_EQ(answer.status, 200);
    run.Finish();
  }
  EXPECT_EQ(host.body, "hello");
  EXPECT_NE(host.head.find("307 Temporary"), std::string::npos);
  recorder.Close(testing::kPatienceMs);
  const schema::Event event = OnlyEvent();
  EXPECT_EQ(event.end_state, schema::EndState::kComplete);
  EXPECT_EQ(event.response.bytes, "hello");
  const schema::LastAttempt last = schema::FindLastAttempt(event.exchange, event.response.bytes);
  EXPECT_EQ(last.status, 200);
  EXPECT_EQ(schema::AttemptCount(event.exchange), 1);
  ASSERT_NE(last.headers, nullptr);
  EXPECT_NE(std::find(last.headers->begin(), last.headers->end(),
                      std::pair<std::string, std::string>("x-request-id", "req_9")),
            last.headers->end());
}

TEST_F(Curl, CutBodyIsTruncated) {
  RawServer server({"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf"});
  Recorder recorder = MakeRecorder();
  Host host(server.url());
  {
    reenact::Run run = recorder.StartRun({.entry = "e"});
    EXPECT_EQ(host.Perform(run).code, CURLE_PARTIAL_FILE);
    run.Finish();
  }
  recorder.Close(testing::kPatienceMs);
  const schema::Event event = OnlyEvent();
  EXPECT_EQ(event.end_state, schema::EndState::kTruncated);
  EXPECT_EQ(event.response.bytes, "half");
  EXPECT_EQ(event.end_detail.substr(0, 8), "curl 18:");
}

// cases/replay.md 30, reports.md 83
TEST_F(Curl, RetriesAreAttemptsOfOneCall) {
  RawServer server({"HTTP/1.1 429 Too Many\r\nRetry-After: 2\r\nContent-Length: 4\r\n\r\nslow",
                    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"});
  Recorder recorder = MakeRecorder();
  Host host(server.url());
  {
    reenact::Run run = recorder.StartRun({.entry = "e"});
    const CurlAnswer answer =
        host.Perform(run, [](const CurlAnswer& failed, int) { return failed.status == 429; });
    EXPECT_EQ(answer.status, 200);
    run.Finish();
  }
  EXPECT_EQ(host.body, "slowfine");
  recorder.Close(testing::kPatienceMs);
  const schema::Event event = OnlyEvent();
  EXPECT_EQ(schema::AttemptCount(event.exchange), 2);
  EXPECT_EQ(schema::FindLastAttempt(event.exchange, event.response.bytes).body, "fine");
}

TEST_F(Curl, HostThatStopsReadingAbandons) {
  RawServer server({"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"});
  Recorder recorder = MakeRecorder();
  Host host(server.url());
  host.stop_after = 1;
  {
    reenact::Run run = recorder.StartRun({.entry = "e"});
    EXPECT_EQ(host.Perform(run).end_state, EndState::kAbandonedByCaller);
    run.Finish();
  }
  recorder.Close(testing::kPatienceMs);
  EXPECT_EQ(OnlyEvent().end_state, schema::EndState::kAbandonedByCaller);
}

// cases/reports.md 11: the server sends a chunk only when the host has the one before.
TEST_F(Curl, HostHasEachChunkBeforeTheNextIsSent) {
  constexpr int kChunks = 5;
  std::mutex mutex;
  std::condition_variable taken;
  int taken_count = 0;
  bool withheld = false;
  const auto in_step = [&](int fd, const std::string& head) {
    SendAll(fd, head);
    for (int i = 0; i < kChunks; ++i) {
      SendAll(fd, "6\r\nchunk" + std::to_string(i) + "\r\n");
      std::unique_lock lock(mutex);
      const auto patience = std::chrono::milliseconds(testing::kPatienceMs);
      if (!taken.wait_for(lock, patience, [&] { return taken_count > i; })) withheld = true;
      if (withheld) return;
    }
    SendAll(fd, "0\r\n\r\n");
  };
  RawServer server({"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"}, in_step);
  Recorder recorder = MakeRecorder();
  Host host(server.url());
  host.taken = [&] {
    const std::lock_guard lock(mutex);
    ++taken_count;
    taken.notify_one();
  };
  {
    reenact::Run run = recorder.StartRun({.entry = "e"});
    EXPECT_EQ(host.Perform(run).code, CURLE_OK);
    run.Finish();
  }
  EXPECT_FALSE(withheld);
  EXPECT_EQ(host.body, "chunk0chunk1chunk2chunk3chunk4");
  recorder.Close(testing::kPatienceMs);
  const schema::Event event = OnlyEvent();
  int reads = 0;
  int64_t latest_ns = 0;
  for (const schema::ExchangeItem& item : event.exchange) {
    if (item.kind != schema::ExchangeItemKind::kBytes) continue;
    EXPECT_EQ(item.size, 6u) << "read " << reads;
    EXPECT_GT(item.offset_ns, latest_ns) << "read " << reads;
    latest_ns = item.offset_ns;
    ++reads;
  }
  EXPECT_EQ(reads, kChunks);
}

// The multi interface, and a host that pauses: what it refused comes again and is recorded once.
TEST_F(Curl, PausedBytesAreRecordedWhenTheyAreTaken) {
  RawServer server(
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
       "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"});
  Recorder recorder = MakeRecorder();
  Host host(server.url());
  host.pause_before_each = true;
  int pauses = 0;
  {
    reenact::Run run = recorder.StartRun({.entry = "e"});
    CurlTee tee(run, host.call, host.callbacks);
    ASSERT_TRUE(tee.live());
    tee.Attach(host.easy());
    CURLM* multi = curl_multi_init();
    curl_multi_add_handle(multi, host.easy());
    CURLMsg* done = nullptr;
    while (done == nullptr) {
      int running = 0;
      ASSERT_EQ(curl_multi_perform(multi, &running), CURLM_OK);
      if (host.paused) {
        ++pauses;
        curl_easy_pause(host.easy(), CURLPAUSE_CONT);
      }
      if (running != 0) curl_multi_poll(multi, nullptr, 0, 100, nullptr);
      int left = 0;
      done = curl_multi_info_read(multi, &left);
    }
    const CURLcode code = done->data.result;
    curl_multi_remove_handle(multi, host.easy());
    curl_multi_cleanup(multi);
    tee.Detach(host.easy());
    EXPECT_EQ(tee.Finish(code).code, CURLE_OK);
    run.Finish();
  }
  EXPECT_GE(pauses, 1);
  EXPECT_EQ(host.body, "hello world");
  recorder.Close(testing::kPatienceMs);
  const schema::Event event = OnlyEvent();
  EXPECT_EQ(event.end_state, schema::EndState::kComplete);
  EXPECT_EQ(event.response.bytes, "hello world");
}

TEST_F(Curl, NobodyListensIsAReset) {
  Recorder recorder = MakeRecorder();
  Host host("http://127.0.0.1:1/v1/chat");
  {
    reenact::Run run = recorder.StartRun({.entry = "e"});
    EXPECT_EQ(host.Perform(run).code, CURLE_COULDNT_CONNECT);
    run.Finish();
  }
  recorder.Close(testing::kPatienceMs);
  EXPECT_EQ(OnlyEvent().end_state, schema::EndState::kReset);
}

TEST_F(Curl, ReplayFeedsTheHostWithoutANetwork) {
  FakeReplayer replayer(folder_.File("socket"), ServeEverything);
  reenact::Options options;
  options.mode = Mode::kReplay;
  options.replay_socket = replayer.path();
  Recorder recorder(options);
  reenact::Run run = recorder.StartRun({.entry = "POST /refund"});
  Host host("http://127.0.0.1:1/would-refuse");
  int asked = 0;
  const CurlAnswer answer = host.Perform(run, [&](const CurlAnswer& failed, int attempt) {
    EXPECT_EQ(attempt, asked++);
    return failed.status == 429;
  });
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(host.body, "helloabc");
  EXPECT_EQ(host.head,
            "HTTP/1.1 429\r\nretry-after: 2\r\n\r\n"
            "HTTP/1.1 200\r\ncontent-type: text/event-stream\r\n\r\n");
  EXPECT_EQ(answer.code, CURLE_RECV_ERROR);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.end_state, EndState::kReset);
  EXPECT_FALSE(answer.diverged);
}

TEST_F(Curl, ReplayGivesAPausingHostTheSameBytesAgain) {
  FakeReplayer replayer(folder_.File("socket"), ServeEverything);
  reenact::Options options;
  options.mode = Mode::kReplay;
  options.replay_socket = replayer.path();
  Recorder recorder(options);
  reenact::Run run = recorder.StartRun({.entry = "POST /refund"});
  const CurlRetry retry = [](const CurlAnswer& failed, int) { return failed.status == 429; };
  Host patient("http://127.0.0.1:1/would-refuse");
  patient.pause_before_each = true;
  EXPECT_EQ(patient.Perform(run, retry).code, CURLE_RECV_ERROR);
  EXPECT_EQ(patient.body, "helloabc");
  // Nobody would ever let it go on: it ends as a host that stopped reading.
  Host stuck("http://127.0.0.1:1/would-refuse");
  stuck.pause_for_ever = true;
  const CurlAnswer answer = stuck.Perform(run, retry);
  EXPECT_EQ(answer.code, CURLE_WRITE_ERROR);
  EXPECT_EQ(answer.end_state, EndState::kAbandonedByCaller);
  EXPECT_EQ(stuck.body, "");
}

TEST_F(Curl, DivergenceIsNoTransfer) {
  FakeReplayer replayer(folder_.File("socket"), [](const schema::Message& request) {
    if (!std::holds_alternative<schema::BeginCall>(request)) return ServeEverything(request);
    return std::optional<schema::Message>(schema::Diverged{"not on the tape"});
  });
  reenact::Options options;
  options.mode = Mode::kReplay;
  options.replay_socket = replayer.path();
  Recorder recorder(options);
  reenact::Run run = recorder.StartRun({.entry = "POST /refund"});
  RawServer server({"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"});
  Host host(server.url());
  const CurlAnswer answer = host.Perform(run);
  EXPECT_TRUE(answer.diverged);
  EXPECT_EQ(answer.error, "not on the tape");
  EXPECT_EQ(host.body, "");
}

TEST(CurlHeaders, ListBecomesPairs) {
  curl_slist* list = curl_slist_append(nullptr, "Authorization: Bearer x");
  list = curl_slist_append(list, "Empty:");
  list = curl_slist_append(list, "no colon");
  EXPECT_EQ(HeadersOf(list), (Headers{{"Authorization", "Bearer x"}, {"Empty", ""}}));
  curl_slist_free_all(list);
}

}  // namespace
}  // namespace reenact
