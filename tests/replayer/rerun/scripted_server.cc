#include "tests/replayer/rerun/scripted_server.h"

#include <cstdio>
#include <utility>

namespace reenact::rerun {
namespace {

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string BytesOf(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += (out.empty() ? "" : ",") + std::to_string(static_cast<unsigned char>(c));
  }
  return "[" + out + "]";
}

std::string Entry(const std::string& text, double logprob, const std::string& rest) {
  return R"({"token":")" + text + R"(","logprob":)" + Number(logprob) + R"(,"bytes":)" +
         BytesOf(text) + rest + "}";
}

std::string Logprobs(const ChatAnswer& answer) {
  if (!answer.logprobs) return "null";
  std::string out;
  for (const ChatToken& token : answer.tokens) {
    std::string top = Entry(token.text, token.logprob, "");
    if (!token.other.empty()) top += "," + Entry(token.other, token.other_logprob, "");
    out += (out.empty() ? "" : ",") +
           Entry(token.text, token.logprob, R"(,"top_logprobs":[)" + top + "]");
  }
  return R"({"content":[)" + out + R"(],"refusal":null})";
}

}  // namespace

std::string Http(const std::string& status, const std::string& headers, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string ChatBody(const ChatAnswer& answer, const std::string& id) {
  std::string text;
  for (const ChatToken& token : answer.tokens) text += token.text;
  const std::string count = std::to_string(answer.tokens.size());
  return R"({"id":")" + id + R"(","object":"chat.completion","created":1,"model":"m-1",)" +
         (answer.fingerprint.empty() ? ""
                                     : R"("system_fingerprint":")" + answer.fingerprint + "\",") +
         R"("choices":[{"index":0,"message":{"role":"assistant","content":")" + text +
         R"("},"logprobs":)" + Logprobs(answer) + R"(,"finish_reason":")" + answer.finish +
         R"("}],"usage":{"prompt_tokens":9,"completion_tokens":)" + count +
         R"(,"total_tokens":20}})";
}

ScriptedServer::ScriptedServer(
    std::function<std::string(int, const std::string&, const std::string&)> answer)
    : answer_(std::move(answer)), upstream_([this](testing::Socket& socket) { Serve(socket); }) {}

ScriptedServer::ScriptedServer(const ChatAnswer& answer)
    : ScriptedServer([answer](int index, const std::string&, const std::string&) {
        const std::string id = answer.id.empty() ? "c-" + std::to_string(index) : answer.id;
        return Http("200 OK", "Content-Type: application/json\r\n", ChatBody(answer, id));
      }) {}

void ScriptedServer::Serve(testing::Socket& socket) {
  for (;;) {
    const std::string message = socket.ReadMessage();
    if (message.empty()) return;
    const std::string head = testing::HeadOf(message);
    const std::string body = testing::BodyOf(message);
    int index = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      index = static_cast<int>(heads_.size());
      heads_.push_back(head);
      bodies_.push_back(body);
    }
    const std::string answer = answer_(index, head, body);
    // A message without a length ends where the connection does.
    const bool ends = answer.find("Content-Length:") == std::string::npos;
    if (!socket.Send(answer) || ends) return;
  }
}

std::vector<std::string> ScriptedServer::heads() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return heads_;
}

std::vector<std::string> ScriptedServer::bodies() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return bodies_;
}

schema::Event RecordedChat(const std::string& request, const std::string& response) {
  schema::Event event;
  event.boundary = schema::Boundary::kModel;
  event.name = "chat";
  event.provider = "openai";
  event.endpoint = "https://api.openai.com/v1/chat/completions";
  event.request.bytes = request;
  event.response.bytes = response;
  schema::ExchangeItem head;
  head.kind = schema::ExchangeItemKind::kHead;
  head.status = 200;
  head.headers = {{"content-type", "application/json"}};
  schema::ExchangeItem bytes;
  bytes.size = response.size();
  event.exchange = {head, bytes};
  event.end_state = schema::EndState::kComplete;
  return event;
}

}  // namespace reenact::rerun
