// The SDK's side of the socket: a replayer that answers anything. Whatever comes, it is an answer
// that fits the question, or a divergence; and a recorded answer is handed out within its body.

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <variant>

#include "recorder/replay_client.h"
#include "recorder/replay_recorder.h"
#include "recorder/replay_run.h"
#include "schema/replay_protocol.h"
#include "tests/fuzz/fuzz_target.h"

namespace reenact::fuzz::replay_client {
namespace {

// Accepts, says all it was told to, and hears out the other side.
class Speaker {
 public:
  Speaker() {
    address_.sun_family = AF_UNIX;
    // An abstract name of the kernel's choice would do, but the client takes paths.
    const char* const parent = std::getenv("TMPDIR");
    const std::string path = std::string(parent != nullptr ? parent : "/tmp") + "/reenact-fuzz-" +
                             std::to_string(getpid());
    if (path.size() >= sizeof(address_.sun_path)) Broken("TMPDIR is too long for a socket");
    std::memcpy(address_.sun_path, path.c_str(), path.size() + 1);
    unlink(address_.sun_path);
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener_, reinterpret_cast<const sockaddr*>(&address_), sizeof(address_)) != 0 ||
        listen(listener_, 4) != 0) {
      Broken("no socket");
    }
  }

  ~Speaker() {
    close(listener_);
    unlink(address_.sun_path);
  }

  Speaker(const Speaker&) = delete;
  Speaker& operator=(const Speaker&) = delete;

  std::string path() const { return address_.sun_path; }

  // One connection.
  void Serve(std::string_view bytes) {
    const int fd = accept(listener_, nullptr, nullptr);
    while (!bytes.empty()) {
      const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    shutdown(fd, SHUT_WR);
    char questions[4096];
    while (recv(fd, questions, sizeof(questions), 0) > 0) {
    }
    close(fd);
  }

 private:
  sockaddr_un address_{};
  int listener_ = -1;
};

void HandOut(schema::OnTape answer) {
  static recorder::ReplayRecorder* const recorder =
      recorder::ReplayRecorder::Dead({}, "a recorder for calls that are served by hand");
  const size_t body_size = answer.body.size();
  auto* const call = new recorder::ReplayCall(recorder, 7);
  if (call->Serve(std::move(answer))) Reached();
  size_t handed_out = 0;
  reenact_item item{};
  item.struct_size = sizeof(item);
  while (call->Next(&item) == REENACT_OK) {
    if (item.kind == REENACT_ITEM_CALL_END) break;
    if (item.kind == REENACT_ITEM_BYTES) handed_out += item.bytes.size;
  }
  if (handed_out > body_size) Broken("more bytes than the body has");
  call->End(REENACT_END_COMPLETE, {});
}

}  // namespace

void FuzzOne(std::string_view bytes) {
  static Speaker speaker;
  std::thread replayer([bytes] { speaker.Serve(bytes); });
  {
    recorder::ReplayClient client;
    client.Open(speaker.path(), "refund-agent");
    for (const schema::Message& question :
         {schema::Message(schema::BeginRun{"e", "i", {}}),
          schema::Message(schema::BeginCall{7, "", schema::Boundary::kTool, "t", "", "", "{}"}),
          schema::Message(schema::BeginCall{7, "", schema::Boundary::kModel, "m", "", "", "{}"}),
          schema::Message(schema::ReadValue{7, "", schema::Boundary::kClock, "c"}),
          schema::Message(schema::EndCall{7, 11, schema::EndState::kComplete, 3}),
          schema::Message(schema::FinishRun{7, schema::EndState::kComplete, "", "o"})}) {
      schema::Message answer = client.Ask(question);
      if (std::holds_alternative<schema::Diverged>(answer)) continue;
      if (std::holds_alternative<schema::BeginCall>(question)) {
        if (!std::holds_alternative<schema::OnTape>(answer)) Broken("a call without its answer");
        HandOut(std::get<schema::OnTape>(std::move(answer)));
      }
    }
  }
  replayer.join();
}

std::vector<std::string> Seeds() {
  schema::OnTape tape;
  tape.call_token = 11;
  tape.exchange = {
      {.kind = schema::ExchangeItemKind::kHead, .status = 429, .headers = {{"retry-after", "2"}}},
      {.kind = schema::ExchangeItemKind::kAttemptEnd, .detail = "provider_error:http_429"},
      {.kind = schema::ExchangeItemKind::kHead, .status = 200, .headers = {{"a", "b"}, {"c", "d"}}},
      {.kind = schema::ExchangeItemKind::kBytes, .offset_ns = 1000, .size = 5},
      {.kind = schema::ExchangeItemKind::kBytes, .offset_ns = 2000, .size = 3}};
  tape.body = "helloabc";
  tape.end_state = schema::EndState::kReset;
  tape.end_detail = "curl 56: reset";
  const std::string begun =
      schema::EncodeMessage(
          schema::Welcome{schema::kReplayProtocolVersion, "01HZY2Z3Q4R5S6T7V8W9XAYBZC", "e"}) +
      schema::EncodeMessage(schema::RunBound{7});
  const std::string done = schema::EncodeMessage(schema::Done{});
  return {begun + schema::EncodeMessage(tape) + schema::EncodeMessage(tape) +
              schema::EncodeMessage(schema::Value{17}) + done + done,
          begun + schema::EncodeMessage(schema::Diverged{"not on the tape", 5}) +
              schema::EncodeMessage(tape),
          begun + done,
          schema::EncodeMessage(schema::Welcome{schema::kReplayProtocolVersion + 1, "", ""}),
          std::string("\xff\xff\xff\x3f\x0c", 5),
          std::string(8, '\0')};
}

std::vector<std::string> Tokens() {
  return {
      schema::EncodeMessage(schema::Done{}),      schema::EncodeMessage(schema::Value{1}),
      schema::EncodeMessage(schema::RunBound{0}), schema::EncodeMessage(schema::Diverged{"", 0}),
      schema::EncodeMessage(schema::Drive{"i"}),  std::string(1, '\0'),
      "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"};
}

const bool added = AddTarget({"replay_client", FuzzOne, Seeds, Tokens});

}  // namespace reenact::fuzz::replay_client
