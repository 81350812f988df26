// The SDK in replay mode, against a replayer that is told what to say. What must hold whatever it
// says: nothing is ever live.

#include <sys/wait.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "tests/recorder/fake_replayer.h"
#include "tests/recorder/recorder_fixture.h"

namespace reenact::testing {
namespace {

class Replay : public RecorderTest {
 protected:
  reenact_options ReplayOptions(const FakeReplayer& replayer) {
    auto options = Sized<reenact_options>();
    options.service = B("refund-agent");
    options.mode = REENACT_MODE_REPLAY;
    options.replay_socket = B(replayer.path());
    return options;
  }

  std::string Socket() const { return folder_.File("socket"); }

  // Asks for everything that can be asked for; true when all of it diverged and none was live.
  static void ExpectAllDiverges(reenact_recorder* recorder) {
    ASSERT_NE(recorder, nullptr);
    auto info = Sized<reenact_run_info>();
    reenact_scope* run = nullptr;
    EXPECT_EQ(reenact_run_begin(recorder, &info, &run), REENACT_DIVERGED_CODE);
    ASSERT_NE(run, nullptr);
    ExpectScopeDiverges(run);
    EXPECT_EQ(reenact_run_end(run, REENACT_END_COMPLETE, {}, {}), REENACT_DIVERGED_CODE);
  }

  static void ExpectScopeDiverges(reenact_scope* run) {
    reenact_scope* child = nullptr;
    reenact_scope_begin(run, B("child"), &child);
    ASSERT_NE(child, nullptr);
    for (reenact_scope* scope : {run, child}) {
      reenact_call* call = nullptr;
      const reenact_call_info tool = ToolCall("t", "{}");
      EXPECT_EQ(reenact_call_begin(scope, &tool, &call), REENACT_DIVERGED);
      ASSERT_NE(call, nullptr);
      auto item = Sized<reenact_item>();
      EXPECT_EQ(reenact_call_next(call, &item), REENACT_DIVERGED_CODE);
      EXPECT_EQ(reenact_call_end(call, REENACT_END_COMPLETE, nullptr), REENACT_DIVERGED_CODE);
      int64_t now = 0;
      uint64_t seed = 0;
      int32_t want = 0;
      EXPECT_EQ(reenact_now(scope, B("t"), &now), REENACT_DIVERGED_CODE);
      EXPECT_EQ(reenact_random_seed(scope, B("r"), &seed), REENACT_DIVERGED_CODE);
      EXPECT_EQ(reenact_want_logprobs(scope, B("l"), &want), REENACT_DIVERGED_CODE);
      auto own = Sized<reenact_component>();
      own.content = B("own");
      reenact_bytes content{};
      EXPECT_EQ(reenact_component_content(scope, &own, &content), REENACT_DIVERGED_CODE);
      EXPECT_EQ(std::string(content.data, content.size), "own");
    }
    reenact_scope_end(child);
  }
};

TEST_F(Replay, AnswersComeAsTheyWereRecorded) {
  FakeReplayer replayer(Socket(), ServeEverything);
  Open(ReplayOptions(replayer));
  reenact_scope* run = Begin();
  char id[27];
  reenact_run_id(run, id);
  EXPECT_STREQ(id, "01HZY2Z3Q4R5S6T7V8W9XAYBZC");
  reenact_scope* child = nullptr;
  ASSERT_EQ(reenact_scope_begin(run, B("a/b"), &child), REENACT_OK);
  reenact_call* call = nullptr;
  const reenact_call_info info = ModelCall(R"({"model":"m"})");
  ASSERT_EQ(reenact_call_begin(child, &info, &call), REENACT_ON_TAPE);

  std::string story;
  auto item = Sized<reenact_item>();
  reenact_code code;
  while ((code = reenact_call_next(call, &item)) == REENACT_OK) {
    story += std::to_string(item.kind) + ":" + std::to_string(item.status) + ":" +
             std::to_string(item.header_count) + ":" + std::to_string(item.offset_ns) + ":" +
             std::string(item.bytes.data, item.bytes.size) + ":" + std::to_string(item.end_state) +
             "\n";
  }
  EXPECT_EQ(code, REENACT_END);
  EXPECT_EQ(story,
            "1:429:1:0::0\n"
            "3:0:0:0:provider_error:http_429:0\n"
            "1:200:1:0::0\n"
            "2:0:0:1000:hello:0\n"
            "2:0:0:2000:abc:0\n"
            "4:0:0:0:curl 56: reset:3\n");
  EXPECT_EQ(reenact_call_chunk(call, B("live?")), REENACT_INVALID_ARGUMENT);
  EXPECT_EQ(reenact_call_end(call, REENACT_END_RESET, nullptr), REENACT_OK);
  reenact_scope_end(child);
  EXPECT_EQ(Finish(run, "output"), REENACT_OK);

  const auto begun = replayer.AskedFor<schema::BeginCall>();
  ASSERT_EQ(begun.size(), 1u);
  EXPECT_EQ(begun[0].run_token, 7u);
  EXPECT_EQ(begun[0].scope, "a~1b");
  EXPECT_EQ(begun[0].provider, "openai");
  EXPECT_EQ(begun[0].request, R"({"model":"m"})");
  const auto ended = replayer.AskedFor<schema::EndCall>();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].call_token, 11u);
  EXPECT_EQ(ended[0].consumed_bytes, 8u);
  EXPECT_EQ(ended[0].state, schema::EndState::kReset);
  const auto finished = replayer.AskedFor<schema::FinishRun>();
  ASSERT_EQ(finished.size(), 1u);
  EXPECT_EQ(finished[0].output, "output");
}

TEST_F(Replay, ReadingsAreTheRecordedOnes) {
  FakeReplayer replayer(Socket(), ServeEverything);
  Open(ReplayOptions(replayer));
  reenact_scope* run = Begin();
  int64_t now = 0;
  uint64_t seed = 0;
  int32_t want = 0;
  EXPECT_EQ(reenact_now(run, B("today"), &now), REENACT_OK);
  EXPECT_EQ(now, 1'700'000'000'000'000'000);
  EXPECT_EQ(reenact_random_seed(run, B("draw"), &seed), REENACT_OK);
  EXPECT_EQ(seed, 1'700'000'000'000'000'000u);
  EXPECT_EQ(reenact_want_logprobs(run, B("l"), &want), REENACT_OK);
  EXPECT_EQ(want, 1);
  Finish(run);
}

TEST_F(Replay, ContentOfAComponentIsTheProgramsOwnUnlessItWasOverridden) {
  FakeReplayer replayer(Socket(), [](const schema::Message& request) {
    const auto* use = std::get_if<schema::UseComponent>(&request);
    if (use == nullptr) return ServeEverything(request);
    return std::optional<schema::Message>(use->name == "refund"
                                              ? schema::ComponentContent{true, "given"}
                                              : schema::ComponentContent{});
  });
  Open(ReplayOptions(replayer));
  reenact_scope* run = Begin();
  auto own = Sized<reenact_component>();
  own.name = B("refund");
  own.content = B("own");
  reenact_bytes first{};
  reenact_bytes second{};
  EXPECT_EQ(reenact_component_content(run, &own, &first), REENACT_OK);
  EXPECT_EQ(reenact_component_content(run, &own, &second), REENACT_OK);
  EXPECT_EQ(std::string(first.data, first.size), "given");  // The second call left it where it is.
  EXPECT_EQ(std::string(second.data, second.size), "given");
  own.name = B("greeting");
  EXPECT_EQ(reenact_component_content(run, &own, &first), REENACT_OK);
  EXPECT_EQ(std::string(first.data, first.size), "own");
  EXPECT_EQ(reenact_component_content(run, &own, nullptr), REENACT_INVALID_ARGUMENT);
  EXPECT_EQ(reenact_component_content(run, nullptr, &first), REENACT_INVALID_ARGUMENT);
  Finish(run);
}

TEST_F(Replay, UnknownWordInTheEnvironmentPoisons) {
  setenv("REENACT_MODE", "repaly", 1);
  auto options = Sized<reenact_options>();
  options.store = B(store_path_);
  options.mode = REENACT_MODE_RECORD;
  EXPECT_EQ(reenact_open(&options, &recorder_), REENACT_INVALID_ARGUMENT);
  ExpectAllDiverges(recorder_);
  EXPECT_FALSE(std::filesystem::exists(store_path_));
  char error[200];
  reenact_error(recorder_, error, sizeof(error));
  EXPECT_NE(std::string(error).find("\"repaly\""), std::string::npos) << error;
  unsetenv("REENACT_MODE");
}

// cases/replay.md 30
TEST_F(Replay, SleepTakesNoTime) {
  FakeReplayer replayer(Socket(), ServeEverything);
  Open(ReplayOptions(replayer));
  reenact_scope* run = Begin();
  reenact_sleep(run, int64_t{3600} * 1'000'000'000);  // The test would time out.
  Finish(run);
}

TEST_F(Replay, DivergedReadingGoesOnWithWhatTheReplayerGives) {
  FakeReplayer replayer(Socket(), [](const schema::Message& request) {
    if (std::holds_alternative<schema::ReadValue>(request)) {
      return std::optional<schema::Message>(schema::Diverged{"novel reading", 42});
    }
    return ServeEverything(request);
  });
  Open(ReplayOptions(replayer));
  reenact_scope* run = Begin();
  int64_t now = 0;
  EXPECT_EQ(reenact_now(run, B("today"), &now), REENACT_DIVERGED_CODE);
  EXPECT_EQ(now, 42);
  Finish(run);
}

TEST_F(Replay, DivergedCallSaysWhy) {
  FakeReplayer replayer(Socket(), [](const schema::Message& request) {
    if (std::holds_alternative<schema::BeginCall>(request)) {
      return std::optional<schema::Message>(schema::Diverged{"tool t: not on the tape"});
    }
    return ServeEverything(request);
  });
  Open(ReplayOptions(replayer));
  reenact_scope* run = Begin();
  reenact_call* call = nullptr;
  const reenact_call_info info = ToolCall("t", "{}");
  EXPECT_EQ(reenact_call_begin(run, &info, &call), REENACT_DIVERGED);
  EXPECT_EQ(ErrorOf(call), "tool t: not on the tape");
  reenact_call_end(call, REENACT_END_ERROR, nullptr);
  EXPECT_TRUE(replayer.AskedFor<schema::EndCall>().empty());
  Finish(run);
}

TEST_F(Replay, RefusedRunDivergesWithoutAskingAgain) {
  FakeReplayer replayer(Socket(), [](const schema::Message& request) {
    if (std::holds_alternative<schema::BeginRun>(request)) {
      return std::optional<schema::Message>(schema::Diverged{"another run"});
    }
    return ServeEverything(request);
  });
  Open(ReplayOptions(replayer));
  ExpectAllDiverges(recorder_);
  EXPECT_EQ(replayer.asked().size(), 1u);
}

TEST_F(Replay, DeadSocketPoisonsEverythingThatIsOpen) {
  FakeReplayer replayer(Socket(), ServeEverything);
  Open(ReplayOptions(replayer));
  reenact_scope* run = Begin();
  reenact_call* call = nullptr;
  const reenact_call_info info = ToolCall("t", "{}");
  ASSERT_EQ(reenact_call_begin(run, &info, &call), REENACT_ON_TAPE);
  replayer.Die();
  EXPECT_EQ(reenact_call_end(call, REENACT_END_RESET, nullptr), REENACT_DIVERGED_CODE);
  ExpectScopeDiverges(run);
  ExpectAllDiverges(recorder_);
  EXPECT_EQ(Finish(run), REENACT_DIVERGED_CODE);
}

TEST_F(Replay, NonsenseFromTheReplayerPoisons) {
  for (const int nonsense : {0, 1, 2}) {
    FakeReplayer replayer(
        folder_.File("socket" + std::to_string(nonsense)),
        [nonsense](const schema::Message& request) -> std::optional<schema::Message> {
          if (!std::holds_alternative<schema::BeginCall>(request)) return ServeEverything(request);
          if (nonsense == 0) return schema::Value{3};
          if (nonsense == 1) return std::nullopt;
          schema::OnTape tape = std::get<schema::OnTape>(*ServeEverything(request));
          tape.body.resize(2);  // Shorter than its reads.
          return tape;
        });
    Open(ReplayOptions(replayer));
    reenact_scope* run = Begin();
    reenact_call* call = nullptr;
    const reenact_call_info info = ToolCall("t", "{}");
    EXPECT_EQ(reenact_call_begin(run, &info, &call), REENACT_DIVERGED);
    EXPECT_NE(ErrorOf(call), "");
    EXPECT_EQ(reenact_call_end(call, REENACT_END_ERROR, nullptr), REENACT_DIVERGED_CODE);
    Finish(run);
    Close();
  }
}

TEST_F(Replay, OpenWithoutAReplayerIsPoisonedNotOff) {
  auto options = Sized<reenact_options>();
  options.mode = REENACT_MODE_REPLAY;
  EXPECT_EQ(reenact_open(&options, &recorder_), REENACT_UNAVAILABLE);
  ExpectAllDiverges(recorder_);
  Close();
  const std::string nobody = folder_.File("nobody");
  options.replay_socket = B(nobody);
  EXPECT_EQ(reenact_open(&options, &recorder_), REENACT_UNAVAILABLE);
  EXPECT_NE(OpenError().find(nobody), std::string::npos) << OpenError();
  ExpectAllDiverges(recorder_);
  Close();
  options.struct_size = 1;
  setenv("REENACT_MODE", "replay", 1);
  EXPECT_EQ(reenact_open(&options, &recorder_), REENACT_INVALID_ARGUMENT);
  ExpectAllDiverges(recorder_);
}

TEST_F(Replay, OtherVersionOfTheProtocolIsRefused) {
  FakeReplayer replayer(Socket(), [](const schema::Message&) {
    return std::optional<schema::Message>(schema::Welcome{99, "x", "y"});
  });
  const reenact_options options = ReplayOptions(replayer);
  EXPECT_EQ(reenact_open(&options, &recorder_), REENACT_UNAVAILABLE);
  ExpectAllDiverges(recorder_);
}

TEST_F(Replay, InvalidArgumentsDiverge) {
  FakeReplayer replayer(Socket(), ServeEverything);
  Open(ReplayOptions(replayer));
  reenact_scope* run = Begin();
  reenact_call* call = nullptr;
  EXPECT_EQ(reenact_call_begin(run, nullptr, &call), REENACT_DIVERGED);
  EXPECT_NE(call, nullptr);
  reenact_call_info info = ToolCall("t", "{}");
  info.boundary = 0;
  EXPECT_EQ(reenact_call_begin(run, &info, &call), REENACT_DIVERGED);
  info = ToolCall("t", "{}");
  EXPECT_EQ(reenact_call_begin(run, &info, nullptr), REENACT_DIVERGED);
  reenact_scope* poisoned = nullptr;
  EXPECT_EQ(reenact_run_begin(recorder_, nullptr, &poisoned), REENACT_INVALID_ARGUMENT);
  ExpectScopeDiverges(poisoned);
  Finish(run);
}

TEST_F(Replay, DisabledBoundaryDiverges) {
  FakeReplayer replayer(Socket(), ServeEverything);
  reenact_options options = ReplayOptions(replayer);
  options.disabled_boundaries = 1u << REENACT_TOOL;
  Open(options);
  reenact_scope* run = Begin();
  reenact_call* call = nullptr;
  const reenact_call_info info = ToolCall("t", "{}");
  EXPECT_EQ(reenact_call_begin(run, &info, &call), REENACT_DIVERGED);
  EXPECT_NE(ErrorOf(call).find("disabled_boundaries"), std::string::npos);
  reenact_call_end(call, REENACT_END_ERROR, nullptr);
  Finish(run);
}

TEST_F(Replay, HandlerOfTheEntryIsDrivenOnce) {
  FakeReplayer replayer(Socket(), ServeEverything);
  Open(ReplayOptions(replayer));

  struct Seen {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::string> inputs;
  } seen;

  const auto handler = [](void* user, reenact_bytes input) {
    auto* to = static_cast<Seen*>(user);
    const std::lock_guard lock(to->mutex);
    to->inputs.emplace_back(input.data, input.size);
    to->changed.notify_all();
  };
  EXPECT_EQ(reenact_on_replay(recorder_, B("GET /other"), handler, &seen), REENACT_OK);
  EXPECT_EQ(reenact_on_replay(recorder_, B("POST /refund"), handler, &seen), REENACT_OK);
  {
    std::unique_lock lock(seen.mutex);
    seen.changed.wait(lock, [&] { return !seen.inputs.empty(); });
  }
  Close();
  EXPECT_EQ(seen.inputs, (std::vector<std::string>{"recorded input"}));
  EXPECT_EQ(replayer.AskedFor<schema::AwaitDrive>().size(), 1u);
}

TEST_F(Replay, ForkedChildDivergesAndLeavesTheSocketAlone) {
  FakeReplayer replayer(Socket(), ServeEverything);
  Open(ReplayOptions(replayer));
  reenact_scope* run = Begin();
  const pid_t child = fork();
  if (child == 0) {
    reenact_call* call = nullptr;
    const reenact_call_info info = ToolCall("t", "{}");
    const bool diverged = reenact_call_begin(run, &info, &call) == REENACT_DIVERGED;
    int64_t now = 0;
    const bool no_clock = reenact_now(run, B("t"), &now) == REENACT_DIVERGED_CODE;
    reenact_close(recorder_, 0);
    _exit(diverged && no_clock ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  int64_t now = 0;
  EXPECT_EQ(reenact_now(run, B("t"), &now), REENACT_OK);
  Finish(run);
}

TEST_F(Replay, ThreadsShareOneConnection) {
  FakeReplayer replayer(Socket(), ServeEverything);
  Open(ReplayOptions(replayer));
  reenact_scope* run = Begin();
  std::atomic<int> served{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        reenact_call* call = nullptr;
        const reenact_call_info info = ToolCall("t", "{}");
        if (reenact_call_begin(run, &info, &call) == REENACT_ON_TAPE) ++served;
        reenact_call_end(call, REENACT_END_COMPLETE, nullptr);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(served, 400);
  Finish(run);
}

TEST_F(Replay, ClosedRecorderDiverges) {
  FakeReplayer replayer(Socket(), ServeEverything);
  Open(ReplayOptions(replayer));
  reenact_scope* run = Begin();
  reenact_recorder* const stale = recorder_;
  Close();
  ExpectScopeDiverges(run);
  ExpectAllDiverges(stale);
  EXPECT_EQ(Finish(run), REENACT_DIVERGED_CODE);
}

}  // namespace
}  // namespace reenact::testing
