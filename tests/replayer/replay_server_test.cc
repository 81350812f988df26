// The local socket: what it answers, and what it survives.

#include "replayer/replay_server.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "tests/replayer/socket_client.h"
#include "tests/replayer/tape_builder.h"

namespace reenact::replayer {
namespace {

constexpr char kRequest[] = R"({"model":"m","messages":[]})";
constexpr int64_t kLongMs = 30'000;

std::unique_ptr<ReplayServer> StartServer(ReplaySession* session,
                                          const ReplayServerOptions& options = {}) {
  auto server = ReplayServer::Start(session, options);
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

auto ProgramOver(SocketClient* client) {
  return ProgramOf([client](const schema::Message& message) { return client->Ask(message); });
}

schema::RecordedRun OneCall(const std::string& answer = "A") {
  TapeBuilder tape;
  tape.Model(kRequest, answer);
  return tape.run();
}

TEST(ReplayServer, ServesAProgramOverTheSocket) {
  ReplaySession session(OneCall(), {});
  const auto server = StartServer(&session);
  EXPECT_FALSE(server->WaitDone(0));
  SocketClient client(server->socket_path());
  EXPECT_EQ(std::get<schema::Welcome>(client.Ask(schema::Hello{})).entry, "POST /refund");
  auto program = ProgramOver(&client);
  program.Begin();
  EXPECT_EQ(program.Model(kRequest), "A");
  program.Finish();
  EXPECT_TRUE(server->WaitDone(kLongMs));
  EXPECT_TRUE(server->WaitFinished(kLongMs));
  EXPECT_EQ(server->connections(), 1);
  EXPECT_EQ(session.Finish(kReplayTime).level, FidelityLevel::kR2);
}

TEST(ReplayServer, FolderIsPrivateAndGoneAfterwards) {
  ReplaySession session(OneCall(), {});
  auto server = StartServer(&session);
  const std::string folder = server->socket_path().substr(0, server->socket_path().rfind('/'));

  struct stat status {};

  ASSERT_EQ(stat(folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  EXPECT_EQ(status.st_uid, geteuid());
  server.reset();
  EXPECT_NE(stat(folder.c_str(), &status), 0);
}

TEST(ReplayServer, FirstHandlerOfTheEntryIsDrivenOnceWithTheRecordedInput) {
  ReplaySession session(OneCall(), {});
  const auto server = StartServer(&session);
  SocketClient other(server->socket_path());
  EXPECT_TRUE(std::holds_alternative<schema::Done>(other.Ask(schema::AwaitDrive{"GET /health"})));
  EXPECT_FALSE(server->handler_registered());
  SocketClient handler(server->socket_path());
  const schema::Message drive = handler.Ask(schema::AwaitDrive{"POST /refund"});
  EXPECT_EQ(std::get<schema::Drive>(drive).input, R"({"order":"A-17"})");
  EXPECT_TRUE(server->handler_registered());
  SocketClient second(server->socket_path());
  EXPECT_TRUE(std::holds_alternative<schema::Done>(second.Ask(schema::AwaitDrive{"POST /refund"})));
  EXPECT_FALSE(server->WaitDone(0));
  handler.Ask(schema::HandlerDone{"POST /refund"});
  EXPECT_TRUE(server->WaitDone(kLongMs));
  EXPECT_FALSE(server->WaitFinished(0));
}

TEST(ReplayServer, NoHandlerIsDrivenWhereTheRunIsStartedOtherwise) {
  ReplaySession session(OneCall(), {});
  const auto server = StartServer(&session, {.drive_handlers = false});
  SocketClient handler(server->socket_path());
  EXPECT_TRUE(
      std::holds_alternative<schema::Done>(handler.Ask(schema::AwaitDrive{"POST /refund"})));
}

TEST(ReplayServer, LargeAnswersArriveWhole) {
  const std::string answer(20 << 20, 'x');
  ReplaySession session(OneCall(answer), {});
  const auto server = StartServer(&session);
  SocketClient client(server->socket_path());
  auto program = ProgramOver(&client);
  program.Begin();
  EXPECT_TRUE(program.Model(kRequest) == answer);
}

TEST(ReplayServer, HalfFramesAndFalseLengthsEndTheirOwnConnectionOnly) {
  ReplaySession session(OneCall(), {});
  const auto server = StartServer(&session);
  const std::string frame = schema::EncodeMessage(schema::Hello{});
  for (size_t cut = 0; cut < frame.size(); ++cut) {
    SocketClient client(server->socket_path());
    ASSERT_TRUE(client.Send(frame.substr(0, cut)));
    client.EndSending();
    EXPECT_FALSE(client.Receive().has_value()) << cut;
  }
  // An announced gigabyte is not allocated before it comes; 2 GiB and nothing at all are refused.
  for (const std::string_view lengths :
       {std::string_view("\x00\x00\x00\x40", 4), std::string_view("\xff\xff\xff\xff", 4),
        std::string_view("\x00\x00\x00\x00", 4)}) {
    SocketClient client(server->socket_path());
    ASSERT_TRUE(client.Send(lengths));
    client.EndSending();
    EXPECT_FALSE(client.Receive().has_value());
  }
  SocketClient client(server->socket_path());
  auto program = ProgramOver(&client);
  program.Begin();
  EXPECT_EQ(program.Model(kRequest), "A");
}

TEST(ReplayServer, StopsWhileConnectionsWait) {
  ReplaySession session(OneCall(), {});
  auto server = StartServer(&session);
  SocketClient silent(server->socket_path());
  SocketClient half(server->socket_path());
  ASSERT_TRUE(half.Send("\x10"));
  SocketClient asked(server->socket_path());
  asked.Ask(schema::Hello{});
  server.reset();
  EXPECT_FALSE(silent.Receive().has_value());
  EXPECT_FALSE(half.Receive().has_value());
}

TEST(ReplayServer, ManyConnectionsAtOnceAreServed) {
  TapeBuilder tape;
  constexpr int kThreads = 32;
  constexpr int kCalls = 20;
  for (int thread = 0; thread < kThreads; ++thread) {
    for (int call = 0; call < kCalls; ++call) {
      tape.Add({.scope = std::to_string(thread),
                .request = std::to_string(call),
                .reads = {std::to_string(thread * 1000 + call)}});
    }
  }
  ReplaySession session(tape.run(), {});
  const auto server = StartServer(&session);
  SocketClient main(server->socket_path());
  auto run = ProgramOver(&main);
  run.Begin();
  std::vector<std::thread> threads;
  std::vector<int> wrong(kThreads, 0);
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int call = 0; call < kCalls; ++call) {
        SocketClient client(server->socket_path());
        const schema::Message answer =
            client.Ask(schema::BeginCall{1, std::to_string(thread), schema::Boundary::kModel,
                                         "chat", "openai", "", std::to_string(call)});
        const auto* on_tape = std::get_if<schema::OnTape>(&answer);
        if (on_tape == nullptr || on_tape->body != std::to_string(thread * 1000 + call)) {
          ++wrong[static_cast<size_t>(thread)];
          continue;
        }
        client.Ask(
            schema::EndCall{1, on_tape->call_token, on_tape->end_state, on_tape->body.size()});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  run.Finish();
  for (const int count : wrong) EXPECT_EQ(count, 0);
  EXPECT_EQ(session.Finish(kReplayTime).level, FidelityLevel::kR2);
}

// Every byte of valid frames replaced, frames shortened and joined: the server answers or hangs up,
// and serves the next one.
TEST(ReplayServer, MutatedFramesNeverHarmTheNextConnection) {
  ReplaySession session(OneCall(), {});
  const auto server = StartServer(&session);
  const std::vector<schema::Message> messages = {
      schema::Hello{},
      schema::BeginRun{"POST /x", "in", {schema::Component{}}},
      schema::BeginCall{1, "s", schema::Boundary::kTool, "t", "", "", "{}"},
      schema::EndCall{1, 7, schema::EndState::kComplete, 3},
      schema::ReadValue{1, "s", schema::Boundary::kClock, "now"},
      schema::AddComponent{2, {}},
      schema::AwaitDrive{"other"},
      schema::HandlerDone{"other"},
      schema::OnTape{},
  };
  std::mt19937 random(20260520);
  for (int round = 0; round < 600; ++round) {
    std::string bytes = schema::EncodeMessage(messages[random() % messages.size()]);
    for (uint32_t edits = random() % 4; edits > 0; --edits) {
      const size_t at = random() % bytes.size();
      // A length far above what is sent only makes the server wait for the rest: the end of
      // sending below is its end.
      bytes[at] = static_cast<char>(random());
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    SocketClient client(server->socket_path());
    ASSERT_TRUE(client.connected());
    client.Send(bytes);
    client.EndSending();
    while (client.Receive().has_value()) {
    }
  }
  SocketClient client(server->socket_path());
  auto program = ProgramOver(&client);
  EXPECT_TRUE(std::holds_alternative<schema::RunBound>(program.Begin()));
  EXPECT_EQ(program.Model(kRequest), "A");
}

}  // namespace
}  // namespace reenact::replayer
