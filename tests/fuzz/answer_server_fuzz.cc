// The answer server as a program in any language meets it: HTTP of any kind goes into a session
// with a tape, and the session makes its report.

#include <sys/socket.h>

#include <cstdlib>

#include "replayer/http/answer_server.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/recorder/proxy/loopback.h"
#include "tests/replayer/tape_builder.h"

namespace reenact::fuzz::answer_server {
namespace {

using replayer::TapeBuilder;

const schema::RecordedRun& Tape() {
  static const schema::RecordedRun tape = [] {
    TapeBuilder builder;
    builder.Model(replayer::kUser, R"({"choices":[]})");
    builder.Add({.request = R"({"model":"m","messages":[],"stream":true})",
                 .reads = {"data: 1\n\n", "", "data: [DONE]\n\n"},
                 .end_state = schema::EndState::kTruncated});
    builder.Add({.boundary = schema::Boundary::kTool,
                 .name = "GET /orders",
                 .provider = "http",
                 .reads = {"[]"},
                 .endpoint = "http://tools.example/orders"});
    builder.run().end.reset();
    return builder.run();
  }();
  return tape;
}

std::string Post(const std::string& target, const std::string& body, const std::string& headers) {
  return "POST " + target + " HTTP/1.1\r\n" + headers +
         "content-length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace

void FuzzOne(std::string_view bytes) {
  replayer::ReplaySession session(Tape(), {});
  session.Answer(schema::BeginRun{Tape().run.entry, Tape().run.input.bytes, {}});
  auto server = replayer::AnswerServer::Start(
      &session, {.routes = {{"openai", "/openai", "https://api.openai.com"}}});
  if (!server.ok()) Broken("no server");
  const std::string url = (*server)->url();
  const auto client = testing::Socket::Connect(
      static_cast<uint16_t>(std::atoi(url.substr(url.rfind(':') + 1).c_str())));
  client->Send(bytes);
  shutdown(client->fd(), SHUT_WR);
  const std::string answers = client->ReadAll();
  if (!answers.empty() && !answers.starts_with("HTTP/1.1 ")) Broken("no answer of HTTP");
  if (!(*server)->Drain(20'000)) Broken("an answer is left");
  const int64_t asked = (*server)->asked();
  server->reset();
  const replayer::ReplayReport report = session.Finish(replayer::kReplayTime);
  if (report.calls_served > asked) Broken("more calls served than asked for");
  if (report.calls_served > report.calls_on_tape) Broken("more calls served than recorded");
  if (report.calls_served > 0) Reached();
}

std::vector<std::string> Seeds() {
  const std::string streamed = R"({"model":"m","messages":[],"stream":true})";
  return {Post("/openai/v1/chat/completions", replayer::kUser, ""),
          Post("/v1/chat/completions", replayer::kUser, "") +
              Post("/v1/chat/completions", streamed, "connection: close\r\n"),
          Post("/v1/chat/completions", replayer::kAfterTool, ""),
          "GET http://tools.example/orders HTTP/1.1\r\nhost: tools.example\r\n\r\n"
          "GET /reenact/report HTTP/1.0\r\n\r\n",
          "HEAD /v1/models HTTP/1.1\r\nhost: example.com\r\n\r\n",
          "POST /v1/chat/completions HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n29\r\n" +
              streamed + "\r\n0\r\n\r\n"};
}

std::vector<std::string> Tokens() {
  return {"GET ",
          "POST ",
          "HEAD ",
          " HTTP/1.1\r\n",
          "\r\n\r\n",
          "host: ",
          "localhost",
          "connection: close\r\n",
          "/reenact/report",
          "http://",
          "content-encoding: gzip\r\n",
          "transfer-encoding: chunked\r\n",
          "0\r\n\r\n",
          "\"stream\":true",
          "expect: 100-continue\r\n",
          "/v1/traces"};
}

const bool added = AddTarget({"answer_server", FuzzOne, Seeds, Tokens});

}  // namespace reenact::fuzz::answer_server
