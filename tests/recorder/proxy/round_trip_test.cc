// What the proxy recorded, asked for again of the answer server: the predicate that records is the
// one that matches, whatever the dialect, the cuts of the bytes and the content encodings.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

#include "replayer/http/answer_server.h"
#include "replayer/replay_session.h"
#include "tests/recorder/proxy/proxy_fixture.h"
#include "tests/schema/dialect_samples.h"
#include "tests/support/content_encodings.h"

namespace reenact::testing {
namespace {

using schema::DialectSample;

constexpr const char* kEncodings[] = {"identity", "gzip", "deflate", "br", "zstd"};
constexpr size_t kEncodingCount = std::size(kEncodings);

std::string TargetOf(const DialectSample& sample) {
  const std::string& url = sample.call.endpoint;
  return "/up" + url.substr(url.find('/', url.find("://") + 3));
}

// `bytes` in pieces whose ends nobody planned.
std::vector<std::string> Pieces(std::string_view bytes, std::mt19937* random) {
  std::vector<std::string> pieces;
  while (!bytes.empty()) {
    const size_t size = std::min<size_t>(1 + (*random)() % 40, bytes.size());
    pieces.emplace_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return pieces;
}

std::string RequestFor(const DialectSample& sample, const std::string& encoding,
                       const std::string& more_headers) {
  const std::string coding = encoding == "identity" ? "" : "Content-Encoding: " + encoding + "\r\n";
  return Post(TargetOf(sample), Encoded(sample.call.request, encoding), coding + more_headers);
}

// Answers the sample whose number the request names, cut anywhere, in an encoding that follows
// from that number.
void Provide(Socket& socket) {
  const std::vector<DialectSample>& samples = schema::DialectSamples();
  std::mt19937 random(1);
  for (;;) {
    const std::string request = socket.ReadMessage();
    const size_t named = request.find("X-Sample: ");
    if (named == std::string::npos) return;
    const size_t number = std::stoul(request.substr(named + 10));
    const DialectSample& sample = samples[number % samples.size()];
    const std::string encoding = kEncodings[number / samples.size() % kEncodingCount];
    std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n";
    for (const auto& [name, value] : sample.call.headers) head += name + ": " + value + "\r\n";
    if (encoding != "identity") head += "Content-Encoding: " + encoding + "\r\n";
    socket.Send(head + "\r\n");
    for (const std::string& piece : Pieces(Encoded(sample.body, encoding), &random)) {
      char size[20];
      std::snprintf(size, sizeof(size), "%zx\r\n", piece.size());
      socket.Send(size + piece + "\r\n");
    }
    socket.Send("0\r\n\r\n");
  }
}

class RoundTripTest : public ProxyTest {
 protected:
  // The recorded run, served.
  void Serve(const std::string& upstream) {
    std::vector<schema::RecordedRun> runs = Runs();
    ASSERT_EQ(runs.size(), 1u);
    runs.front().end.reset();  // No program is run here that could end it.
    session_ = std::make_unique<replayer::ReplaySession>(std::move(runs.front()),
                                                         replayer::ReplayOptions());
    const schema::Run& run = session_->recorded_run();
    session_->Answer(schema::BeginRun{run.entry, run.input.bytes, {}});
    auto server =
        replayer::AnswerServer::Start(session_.get(), {.routes = {{"up", "/up", upstream}}});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    const std::string url = server_->url();
    client_ = Socket::Connect(static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
    authority_ = url.substr(url.find("//") + 2);
  }

  // The request in two sends; the answer.
  std::string AskAgain(std::string request, size_t cut) {
    request.replace(request.find("127.0.0.1"), std::string("127.0.0.1").size(), authority_);
    cut = std::min(cut, request.size());
    client_->Send(request.substr(0, cut));
    client_->Send(request.substr(cut));
    return client_->ReadMessage();
  }

  void ExpectAllServed(int64_t calls) {
    EXPECT_TRUE(server_->Drain(10'000));
    server_.reset();
    const replayer::ReplayReport report = session_->Finish({});
    EXPECT_EQ(report.calls_served, calls);
    EXPECT_EQ(report.calls_on_tape, calls);
    for (const replayer::Divergence& divergence : report.divergences) {
      ADD_FAILURE() << MessageOf(divergence);
    }
  }

  std::unique_ptr<replayer::ReplaySession> session_;
  std::unique_ptr<replayer::AnswerServer> server_;
  std::unique_ptr<Socket> client_;
  std::string authority_;
};

// cases/replay.md 4
TEST_F(RoundTripTest, EveryDialectIsServedAgainInEveryEncoding) {
  const std::vector<DialectSample>& samples = schema::DialectSamples();
  const size_t calls = samples.size() * kEncodingCount;
  const Upstream upstream(Provide);
  Start(upstream.url());
  std::mt19937 random(2);
  const auto client = Client();
  for (size_t i = 0; i < calls; ++i) {
    const DialectSample& sample = samples[i % samples.size()];
    const std::string request = RequestFor(sample, kEncodings[random() % kEncodingCount],
                                           "X-Sample: " + std::to_string(i) + "\r\n");
    for (const std::string& piece : Pieces(request, &random)) client->Send(piece);
    const std::string answer = client->ReadMessage();
    const std::string encoding = kEncodings[i / samples.size() % kEncodingCount];
    ASSERT_TRUE(BodyOf(answer) == Encoded(sample.body, encoding)) << sample.name << encoding;
  }
  Serve(upstream.url());
  for (size_t i = 0; i < calls; ++i) {
    const DialectSample& sample = samples[i % samples.size()];
    const std::string request = RequestFor(sample, kEncodings[random() % kEncodingCount], "");
    const std::string answer = AskAgain(request, random() % request.size());
    ASSERT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << sample.name << '\n' << answer;
    ASSERT_EQ(BodyOf(answer), sample.body) << sample.name;
  }
  ExpectAllServed(static_cast<int64_t>(calls));
}

// cases/replay.md 4
TEST_F(RoundTripTest, ARequestMatchesItselfAtEveryCut) {
  const DialectSample& sample = schema::DialectSamples().front();
  const std::string request = RequestFor(sample, "identity", "X-Sample: 0\r\n");
  const Upstream upstream(Provide);
  Start(upstream.url());
  const auto client = Client();
  for (size_t cut = 0; cut < request.size(); ++cut) {
    client->Send(request.substr(0, cut));
    client->Send(request.substr(cut));
    ASSERT_EQ(BodyOf(client->ReadMessage()), sample.body) << cut;
  }
  Serve(upstream.url());
  for (size_t cut = 0; cut < request.size(); ++cut) {
    ASSERT_EQ(BodyOf(AskAgain(request, cut)), sample.body) << cut;
  }
  ExpectAllServed(static_cast<int64_t>(request.size()));
}

// Two frames; damaged: the last checksum is wrong.
std::string AmazonBody(bool damaged) {
  std::string body = AmazonFrame("chunk", R"({"bytes":"eyJ0eXBlIjoibWVzc2FnZV9zdGFydCJ9"})") +
                     AmazonFrame("chunk", R"({"bytes":"eyJ0eXBlIjoibWVzc2FnZV9zdG9wIn0="})");
  if (damaged) body.back() = static_cast<char>(body.back() ^ 1);
  return body;
}

// cases/reports.md 38: frames of Bedrock's are kept as they came, wherever they are cut.
TEST_F(RoundTripTest, BinaryFramesAreKeptAtEveryCutAndWhenDamaged) {
  const std::string path = "/up/model/anthropic.claude-sonnet-4-6/invoke-with-response-stream";
  const std::string question =
      R"({"anthropic_version":"bedrock-2023-05-31","max_tokens":9,"messages":[]})";
  const size_t size = AmazonBody(false).size();
  const Upstream upstream([&](Socket& socket) {
    for (size_t cut = 0; cut <= size && !socket.ReadMessage().empty(); ++cut) {
      const std::string body = AmazonBody(/*damaged=*/cut == size);
      socket.Send(
          "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.amazon.eventstream\r\n"
          "Content-Length: " +
          std::to_string(size) + "\r\n\r\n");
      socket.Send(body.substr(0, cut));
      socket.Send(body.substr(cut));
    }
  });
  Start(upstream.url());
  const auto client = Client();
  for (size_t cut = 0; cut <= size; ++cut) {
    client->Send(Post(path, question));
    ASSERT_EQ(BodyOf(client->ReadMessage()), AmazonBody(cut == size)) << cut;
  }
  Serve(upstream.url());
  for (size_t cut = 0; cut <= size; ++cut) {
    ASSERT_EQ(BodyOf(AskAgain(Post(path, question), 0)), AmazonBody(cut == size)) << cut;
  }
  ExpectAllServed(static_cast<int64_t>(size) + 1);
}

// The control of the first two.
TEST_F(RoundTripTest, AnotherWordIsAMissInEveryEncoding) {
  const DialectSample& sample = schema::DialectSamples().front();
  const Upstream upstream(Provide);
  Start(upstream.url());
  Ask(RequestFor(sample, "gzip", "X-Sample: 0\r\n"));
  Serve(upstream.url());
  DialectSample other = sample;
  const size_t word = other.call.request.rfind('"');
  other.call.request.insert(word, "?");
  for (const char* encoding : kEncodings) {
    EXPECT_TRUE(AskAgain(RequestFor(other, encoding, ""), 0).starts_with("HTTP/1.1 400 "))
        << encoding;
  }
}

}  // namespace
}  // namespace reenact::testing
