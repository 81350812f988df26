// Many threads that ask one engine at once.

#include "tools/engine_server/engine_thread.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/engine/answer_comparison.h"
#include "tests/local_engine/engine/small_model.h"
#include "tests/support/temp_folder.h"

namespace reenact::engine_server {
namespace {

using local_engine::Answer;
using local_engine::Engine;
using local_engine::FinishReason;
using local_engine::Request;

constexpr auto kPatience = std::chrono::milliseconds(100);

class EngineThreadTest : public ::testing::Test {
 protected:
  std::unique_ptr<EngineThread> Start(size_t most_jobs) {
    local_engine::WriteSmallModel(folder_.path(), local_engine::SmallShape(), "LlamaForCausalLM");
    absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Load(folder_.path(), {});
    EXPECT_TRUE(engine.ok()) << engine.status();
    return std::make_unique<EngineThread>(*std::move(engine), most_jobs);
  }

  static Request Seeded(int32_t prompt_size, int32_t max_tokens) {
    Request request{.prompt = std::vector<int32_t>(static_cast<size_t>(prompt_size), 5),
                    .max_tokens = max_tokens,
                    .seed = 7,
                    .ignore_end = true,
                    .logprobs = true};
    return request;
  }

  // Waits for all of it. The events hold what the answer holds.
  static Answer Finish(Job* job) {
    std::vector<TokenEvent> events;
    while (job->Next(kPatience, &events)) {
    }
    EXPECT_TRUE(job->answer().ok()) << job->answer().status();
    Answer answer = job->answer().value_or(Answer());
    std::vector<int32_t> tokens;
    for (const TokenEvent& event : events) {
      if (event.token.has_value()) tokens.push_back(*event.token);
    }
    EXPECT_TRUE(!answer.completions.empty() && tokens == answer.completions[0].tokens);
    EXPECT_TRUE(!events.empty() && events.back().finish.has_value());
    return answer;
  }

  // Seconds of work: it is not finished before somebody ends it.
  static Request Endless() {
    Request request = Seeded(3, 1000);
    request.sample_count = 64;
    return request;
  }

  static void Drain(Job* job) {
    std::vector<TokenEvent> events;
    while (job->Next(kPatience, &events)) {
    }
  }

  testing::TempFolder folder_;
};

TEST_F(EngineThreadTest, ThreadsThatAskAtOnceGetTheAnswersThatEachGetsAlone) {
  const std::unique_ptr<EngineThread> engine_thread = Start(64);
  const auto ask = [&engine_thread](int32_t prompt_size) {
    absl::StatusOr<std::shared_ptr<Job>> job = engine_thread->Submit(Seeded(prompt_size, 40));
    EXPECT_TRUE(job.ok()) << job.status();
    return job.ok() ? Finish(job->get()) : Answer();
  };
  constexpr int kThreads = 6;
  constexpr int kRounds = 5;
  std::vector<Answer> alone;
  for (int i = 0; i < kThreads; ++i) alone.push_back(ask(3 + 9 * i));
  std::vector<int64_t> differences(kThreads, 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < kRounds; ++round) {
        const auto index = static_cast<size_t>(i);
        differences[index] +=
            local_engine::CompareAnswers(alone[index], ask(3 + 9 * i)).differences;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(differences, std::vector<int64_t>(kThreads, 0));
  engine_thread->Stop();
  EXPECT_GT(engine_thread->engine().counters().most_co_resident, 1);
}

TEST_F(EngineThreadTest, AJobThatIsCancelledEndsAndMakesRoom) {
  const std::unique_ptr<EngineThread> engine_thread = Start(1);
  const absl::StatusOr<std::shared_ptr<Job>> job = engine_thread->Submit(Endless());
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_TRUE(absl::IsResourceExhausted(engine_thread->Submit(Seeded(3, 1)).status()));
  engine_thread->Cancel(job->get());
  Drain(job->get());
  const absl::StatusOr<Answer>& answer = (*job)->answer();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->completions.back().finish, FinishReason::kCancelled);
  absl::StatusOr<std::shared_ptr<Job>> next = engine_thread->Submit(Seeded(3, 1));
  while (absl::IsResourceExhausted(next.status())) {  // Its place is given up a moment later.
    std::this_thread::yield();
    next = engine_thread->Submit(Seeded(3, 1));
  }
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(Finish(next->get()).completions[0].finish, FinishReason::kLength);
}

TEST_F(EngineThreadTest, ARequestThatTheEngineRefusesIsRefusedAndTakesNoPlace) {
  const std::unique_ptr<EngineThread> engine_thread = Start(1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(absl::IsInvalidArgument(engine_thread->Submit({.prompt = {}}).status()));
  }
  EXPECT_TRUE(engine_thread->Submit(Seeded(3, 1)).ok());
}

TEST_F(EngineThreadTest, StopEndsWhatRunsAndRefusesWhatComes) {
  const std::unique_ptr<EngineThread> engine_thread = Start(8);
  const absl::StatusOr<std::shared_ptr<Job>> job = engine_thread->Submit(Endless());
  ASSERT_TRUE(job.ok()) << job.status();
  std::thread waiting([&job] { Drain(job->get()); });
  engine_thread->Stop();
  waiting.join();
  EXPECT_TRUE(absl::IsCancelled((*job)->answer().status())) << (*job)->answer().status();
  EXPECT_TRUE(absl::IsUnavailable(engine_thread->Submit(Seeded(3, 1)).status()));
}

}  // namespace
}  // namespace reenact::engine_server
