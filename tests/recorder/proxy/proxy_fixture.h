// A proxy in front of an upstream of the test's, recording into a store of its own.

#ifndef REENACT_TESTS_RECORDER_PROXY_PROXY_FIXTURE_H_
#define REENACT_TESTS_RECORDER_PROXY_PROXY_FIXTURE_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "recorder/proxy/proxy.h"
#include "reenact/reenact.hpp"
#include "store/reader/store_reader.h"
#include "tests/recorder/proxy/loopback.h"
#include "tests/support/temp_folder.h"

namespace reenact::testing {

inline constexpr char kChat[] = R"({"model":"m","messages":[{"role":"user","content":"hi"}]})";

inline std::string Post(const std::string& path, const std::string& body,
                        const std::string& headers = "") {
  return "POST " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n" +
         headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

inline std::string Answer(const std::string& body, const std::string& headers = "") {
  return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// Answers every request of a connection with the same bytes.
inline std::function<void(Socket&)> Always(std::string answer) {
  return [answer = std::move(answer)](Socket& socket) {
    while (!socket.ReadMessage().empty()) socket.Send(answer);
  };
}

class ProxyTest : public ::testing::Test {
 protected:
  ProxyTest() {
    for (const char* name :
         {"REENACT_MODE", "REENACT_STORE", "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY",
          "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"}) {
      unsetenv(name);
    }
  }

  ~ProxyTest() override { Stop(); }

  // With routes "up" and "openai" to `upstream`. One run for all, or runs by header, trace and
  // connection.
  void Start(const std::string& upstream, bool one_run = true) {
    Options options;
    options.store = folder_.path();
    options.service = "proxy-test";
    options.mode = Mode::kRecord;
    recorder_ = Recorder(options);
    ASSERT_TRUE(recorder_.on()) << recorder_.error();
    proxy::ProxyOptions settings;
    settings.routes.Set({"up", upstream});
    settings.routes.Set({"openai", upstream});
    settings.port = listen_on_;
    settings.connect_timeout_ms = 5000;
    settings.ca_file = ca_file_;
    settings.recorder = &recorder_;
    settings.planner = planner_;
    if (one_run) {
      run_ = recorder_.StartRun({.entry = "test"});
      settings.run = &run_;
    }
    auto started = proxy::Proxy::Start(std::move(settings));
    ASSERT_TRUE(started.ok()) << started.status();
    proxy_ = *std::move(started);
    port_ = static_cast<uint16_t>(std::stoi(proxy_->url().substr(proxy_->url().rfind(':') + 1)));
  }

  std::unique_ptr<Socket> Client() const { return Socket::Connect(port_); }

  std::string Ask(const std::string& request) const {
    const std::unique_ptr<Socket> client = Client();
    client->Send(request);
    return client->ReadMessage();
  }

  void Stop(int64_t grace_ms = 10'000) {
    if (proxy_) proxy_->Stop(grace_ms);
    if (proxy_) report_ = proxy_->report();
    proxy_.reset();
    if (!run_.finished()) run_.Finish();
    recorder_.Close(30'000);
  }

  // Stops, and reads what was recorded.
  std::vector<schema::RecordedRun> Runs() {
    Stop();
    std::vector<schema::RecordedRun> runs;
    auto reader = store::StoreReader::Open(folder_.path());
    EXPECT_TRUE(reader.ok()) << reader.status();
    if (!reader.ok()) return runs;
    auto summaries = (*reader)->ListRuns({});
    EXPECT_TRUE(summaries.ok()) << summaries.status();
    for (const store::RunSummary& summary : *summaries) {
      auto run = (*reader)->LoadRun(summary.id, {});
      EXPECT_TRUE(run.ok()) << run.status();
      if (run.ok()) runs.push_back(*std::move(run));
    }
    return runs;
  }

  std::vector<schema::Event> Events() {
    std::vector<schema::RecordedRun> runs = Runs();
    EXPECT_EQ(runs.size(), 1u);
    return runs.empty() ? std::vector<schema::Event>() : std::move(runs.front().events);
  }

  // Every byte of every file of the store.
  std::string StoredBytes() const {
    std::string all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      all.append(std::istreambuf_iterator<char>(file), {});
    }
    return all;
  }

  TempFolder folder_;
  std::string ca_file_;
  uint16_t listen_on_ = 0;
  proxy::RequestPlanner* planner_ = nullptr;  // Outlives the proxy: Stop before it ends.
  Recorder recorder_;
  reenact::Run run_;
  std::unique_ptr<proxy::Proxy> proxy_;
  proxy::ProxyReport report_;
  uint16_t port_ = 0;
};

inline std::string Fact(const schema::Event& event, const std::string& name) {
  for (const auto& [own, value] : event.meta) {
    if (own == name) return value;
  }
  return "";
}

}  // namespace reenact::testing

#endif  // REENACT_TESTS_RECORDER_PROXY_PROXY_FIXTURE_H_
