// The replayer's side of the socket: a program that says anything. The frames go through a socket
// into a session with a tape, and the session makes its report.

#include <sys/socket.h>
#include <unistd.h>

#include <thread>
#include <variant>

#include "replayer/internal/frame_stream.h"
#include "replayer/replay_session.h"
#include "schema/replay_protocol.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/replayer/tape_builder.h"

namespace reenact::fuzz::replay_server {
namespace {

using replayer::TapeBuilder;

const schema::RecordedRun& Tape() {
  static const schema::RecordedRun tape = [] {
    TapeBuilder builder;
    builder.Model(replayer::kUser, R"({"choices":[]})");
    builder.Tool("lookup", "{}", "120");
    builder.Model(replayer::kAfterTool, "done");
    builder.Read(schema::Boundary::kClock, "now", 1'779'271'200'000'000'000);
    builder.Read(schema::Boundary::kRandom, "seed", 42);
    builder.Read(schema::Boundary::kEnv, "LEVEL", 1);
    schema::Component component;
    component.kind = "prompt_template";
    component.name = "refund";
    component.content.bytes = "You refund.";
    builder.run().components = {component};
    return builder.run();
  }();
  return tape;
}

void Feed(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) break;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  shutdown(fd, SHUT_WR);
  char answers[4096];
  while (recv(fd, answers, sizeof(answers), 0) > 0) {
  }
}

}  // namespace

void FuzzOne(std::string_view bytes) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) Broken("no socket");
  std::thread program(Feed, ends[0], bytes);
  replayer::ReplaySession session(Tape(), {});
  while (const std::optional<std::string> frame = replayer::ReadFrame(ends[1])) {
    const std::optional<schema::Message> request = schema::DecodeMessage(*frame);
    if (!request || std::holds_alternative<schema::AwaitDrive>(*request)) break;
    const schema::Message answer = session.Answer(*request);
    if (schema::DecodeMessage(schema::EncodeMessage(answer).substr(4)) == std::nullopt) {
      Broken("an answer that is no message");
    }
    if (!replayer::WriteMessage(ends[1], answer)) break;
  }
  shutdown(ends[1], SHUT_RDWR);
  program.join();
  close(ends[0]);
  close(ends[1]);
  if (session.bound()) Reached();
  const bool finished = session.finished();
  const replayer::ReplayReport report = session.Finish(replayer::kReplayTime);
  if (report.calls_served > report.calls_on_tape) Broken("more calls served than recorded");
  if (report.readings_served > report.readings_on_tape) Broken("more readings than recorded");
  if (!finished && report.verdict == replayer::Verdict::kReproduced) Broken("not finished");
  if (report.level == replayer::FidelityLevel::kR2 && report.calls_served != report.calls_on_tape) {
    Broken("R2 with calls left over");
  }
}

std::vector<std::string> Seeds() {
  std::string said;
  replayer::ReplaySession session(Tape(), {});
  auto program = replayer::ProgramOf([&](const schema::Message& message) {
    said += schema::EncodeMessage(message);
    return session.Answer(message);
  });
  said += schema::EncodeMessage(schema::Hello{schema::kReplayProtocolVersion, 77, "refund-agent"});
  program.Begin("POST /refund", R"({"order":"A-17"})", Tape().components);
  program.Model(replayer::kUser);
  program.Tool("lookup", "{}");
  program.Read(schema::Boundary::kClock, "now");
  program.Read(schema::Boundary::kRandom, "seed");
  const std::string begun = said;
  program.Model(replayer::kAfterTool);
  program.Read(schema::Boundary::kEnv, "LEVEL");
  program.Finish();
  return {said,
          begun,
          begun + schema::EncodeMessage(schema::AddComponent{1, Tape().components[0]}) +
              schema::EncodeMessage(schema::HandlerDone{"POST /refund"}),
          begun + begun,
          std::string("\xff\xff\xff\x3f\x01", 5),
          std::string(8, '\0')};
}

std::vector<std::string> Tokens() {
  std::vector<std::string> tokens;
  for (const schema::Message& message :
       {schema::Message(schema::EndCall{1, 1, schema::EndState::kAbandonedByCaller, 3}),
        schema::Message(schema::EndCall{1, 2, schema::EndState::kComplete, 1u << 30}),
        schema::Message(schema::ReadValue{1, "", schema::Boundary::kClock, "now"}),
        schema::Message(schema::BeginCall{1, "", schema::Boundary::kTool, "lookup", "", "", "{}"}),
        schema::Message(schema::BeginCall{1, "s/2", schema::Boundary::kModel, "chat", "openai", "",
                                          R"({"model":"m","messages":[]})"}),
        schema::Message(schema::FinishRun{1, schema::EndState::kProviderError, "d", "o"}),
        schema::Message(schema::BeginRun{"POST /refund", R"({"order":"A-17"})", {}})}) {
    tokens.push_back(schema::EncodeMessage(message));
  }
  return tokens;
}

const bool added = AddTarget({"replay_server", FuzzOne, Seeds, Tokens});

}  // namespace reenact::fuzz::replay_server
