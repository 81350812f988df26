// The one thread on which an engine computes, for many that wait: requests come in from any thread
// between two steps, and share all steps from then on.

#ifndef REENACT_TOOLS_ENGINE_SERVER_ENGINE_THREAD_H_
#define REENACT_TOOLS_ENGINE_SERVER_ENGINE_THREAD_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/engine.h"

namespace reenact::engine_server {

// A Delta that owns what it holds.
struct TokenEvent {
  int32_t sample_index = 0;
  std::string text;
  std::optional<int32_t> token;
  std::optional<local_engine::TokenScore> score;
  std::optional<local_engine::FinishReason> finish;
};

class EngineThread;

// One request on its way. Threads: one waits; any may cancel.
class Job {
 public:
  // Appends what has come since the last call, waiting for it at most `patience`. False once all
  // has come: then there is an answer.
  bool Next(std::chrono::milliseconds patience, std::vector<TokenEvent>* events);

  // After Next returned false. An error is the engine's, or Cancelled when it was shut down.
  const absl::StatusOr<local_engine::Answer>& answer() const { return answer_; }

 private:
  friend class EngineThread;

  void Add(const local_engine::Delta& delta);
  void End(absl::StatusOr<local_engine::Answer> answer);

  local_engine::Request request_;  // Until it is admitted.
  local_engine::RequestId id_ = 0;
  std::atomic<bool> cancelled_{false};

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<TokenEvent> events_;
  std::optional<absl::Status> admitted_;
  bool ended_ = false;
  absl::StatusOr<local_engine::Answer> answer_ = absl::InternalError("not finished");
};

class EngineThread {
 public:
  // Admits at most `most_jobs` at a time.
  EngineThread(std::unique_ptr<local_engine::Engine> engine, size_t most_jobs);
  ~EngineThread();
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  // For what may be called from any thread.
  const local_engine::Engine& engine() const { return *engine_; }

  // Waits until the engine has taken the request or refused it. Errors: those of Engine::Submit;
  // ResourceExhausted when too many are on their way; Unavailable after Stop.
  absl::StatusOr<std::shared_ptr<Job>> Submit(local_engine::Request request);

  // Ends a job's samples where they stand; nobody needs to wait for it any more.
  void Cancel(Job* job);

  // Ends all jobs as cancelled and takes no more. Returns when the thread has ended; after that the
  // engine is free for others.
  void Stop();

 private:
  void Run();
  void Admit(const std::shared_ptr<Job>& job);
  void GiveBackPlace();
  void StepOnce();
  void EndAll(const absl::Status& status);

  std::unique_ptr<local_engine::Engine> engine_;
  const size_t most_jobs_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> incoming_;
  size_t jobs_ = 0;  // Incoming and running.
  bool any_cancelled_ = false;
  bool stopping_ = false;

  std::vector<std::shared_ptr<Job>> running_;  // The thread's own.
  std::thread thread_;
};

}  // namespace reenact::engine_server

#endif  // REENACT_TOOLS_ENGINE_SERVER_ENGINE_THREAD_H_
