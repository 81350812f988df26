#include "recorder/replay_recorder.h"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <memory>
#include <thread>
#include <utility>
#include <variant>

#include "recorder/process_token.h"
#include "recorder/replay_run.h"
#include "recorder/system_clock.h"

namespace reenact::recorder {

static_assert(static_cast<int32_t>(schema::ExchangeItemKind::kHead) == REENACT_ITEM_HEAD);
static_assert(static_cast<int32_t>(schema::ExchangeItemKind::kBytes) == REENACT_ITEM_BYTES);
static_assert(static_cast<int32_t>(schema::ExchangeItemKind::kAttemptEnd) ==
              REENACT_ITEM_ATTEMPT_END);

// A handler that waits for the replayer to start the run again: a connection and a thread of its
// own.
class ReplayRecorder::Drive {
 public:
  Drive(std::string entry, void (*handler)(void*, reenact_bytes), void* user)
      : entry_(std::move(entry)), handler_(handler), user_(user) {}

  bool Start(const Options& options, std::string* why) {
    schema::Welcome welcome;
    if (!connection_.Open(options.replay_socket, options.service, &welcome, why)) return false;
    // A host's signal handlers run on the host's threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      thread_ = std::thread([this] { Wait(); });
    } catch (...) {
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      *why = "replay: no thread for the handler of " + entry_;
      return false;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return true;
  }

  // A handler that does not return in time, or that closes its own recorder, is left to itself.
  void Stop(int64_t deadline_ns) {
    connection_.Shutdown();
    if (!thread_.joinable()) return;
    if (thread_.get_id() == std::this_thread::get_id()) return thread_.detach();
    std::unique_lock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::time_point(
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(
            std::chrono::nanoseconds(deadline_ns)));
    const bool done = done_changed_.wait_until(lock, deadline, [this] { return done_; });
    lock.unlock();
    if (done) {
      thread_.join();
    } else {
      thread_.detach();
    }
  }

 private:
  void Wait() noexcept {
    try {
      schema::Message answer;
      std::string why;
      if (connection_.Ask(schema::AwaitDrive{entry_}, &answer, &why)) {
        if (const auto* drive = std::get_if<schema::Drive>(&answer)) {
          handler_(user_, {drive->input.data(), drive->input.size()});
          connection_.Ask(schema::HandlerDone{entry_}, &answer, &why);
        }
      }
    } catch (...) {
      // No memory: the run never begins, which is what the replayer will report.
    }
    const std::lock_guard lock(mutex_);
    done_ = true;
    done_changed_.notify_all();
  }

  const std::string entry_;
  void (*const handler_)(void*, reenact_bytes);
  void* const user_;
  ReplayConnection connection_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable done_changed_;
  bool done_ = false;
};

constinit std::atomic<ReplayRecorder*> ReplayRecorder::all_{nullptr};

ReplayRecorder::ReplayRecorder(Options options) : options_(std::move(options)) {}

ReplayRecorder::~ReplayRecorder() = default;

ReplayRecorder* ReplayRecorder::Dead(Options options, std::string_view why) {
  auto* recorder = new ReplayRecorder(std::move(options));
  ReplayRecorder* head = all_.load();
  do {
    recorder->next_ = head;
  } while (!all_.compare_exchange_weak(head, recorder));
  recorder->client_.Explain(why);
  return recorder;
}

ReplayRecorder* ReplayRecorder::Open(Options options, reenact_code* code) {
  ReplayRecorder* const recorder = Dead(std::move(options), "replay: out of memory");
  const Options& checked = recorder->options_;
  *code = recorder->client_.Open(checked.replay_socket, checked.service) ? REENACT_OK
                                                                         : REENACT_UNAVAILABLE;
  return recorder;
}

reenact_code ReplayRecorder::Close(int64_t deadline_ms) noexcept {
  if (client_.InForkedChild()) return REENACT_OK;  // The parent's locks and threads.
  try {
    client_.Fail("replay: the recorder was closed; nothing is live");
    const int64_t deadline_ns = DeadlineAfter(deadline_ms);
    const std::lock_guard lock(drives_mutex_);
    for (const auto& drive : drives_) drive->Stop(deadline_ns);
    return REENACT_OK;
  } catch (...) {
    return REENACT_INTERNAL;
  }
}

void ReplayRecorder::GetMetrics(reenact_metrics* out) noexcept {
  out->mode = REENACT_MODE_REPLAY;
}

size_t ReplayRecorder::Error(char* buffer, size_t capacity) noexcept {
  try {
    return CopyText(client_.error(), buffer, capacity);
  } catch (...) {
    return CopyText("out of memory", buffer, capacity);
  }
}

reenact_code ReplayRecorder::OnReplay(std::string_view entry,
                                      void (*handler)(void* user, reenact_bytes input),
                                      void* user) noexcept {
  if (client_.InForkedChild()) return REENACT_UNAVAILABLE;
  try {
    if (client_.welcome().run_id.empty()) return REENACT_UNAVAILABLE;
    if (client_.welcome().entry != entry) return REENACT_OK;  // Nobody will call it.
    auto drive = std::make_unique<Drive>(std::string(entry), handler, user);
    const std::lock_guard lock(drives_mutex_);
    drives_.reserve(drives_.size() + 1);
    std::string why;
    if (!drive->Start(options_, &why)) return REENACT_UNAVAILABLE;
    drives_.push_back(std::move(drive));
    return REENACT_OK;
  } catch (...) {
    return REENACT_UNAVAILABLE;
  }
}

reenact_code ReplayRecorder::BeginRun(const reenact_run_info& info, reenact_scope** out) noexcept {
  *out = PoisonedScope();
  try {
    schema::BeginRun question;
    question.entry = View(info.entry);
    question.input = View(info.input);
    for (size_t i = 0; i < info.component_count; ++i) {
      const reenact_component& from = info.components[i];
      schema::Component component;
      component.kind = View(from.kind);
      component.name = View(from.name);
      component.version = View(from.version);
      component.content.bytes = View(from.content);
      question.components.push_back(std::move(component));
    }
    const schema::Message answer = client_.Ask(question);
    if (const auto* bound = std::get_if<schema::RunBound>(&answer)) {
      *out = new ReplayScope(this, bound->run_token, {}, {});
      return REENACT_OK;
    }
    *out = new ReplayScope(this, 0, {}, std::get<schema::Diverged>(answer).message);
  } catch (...) {
    // The poisoned scope.
  }
  return REENACT_DIVERGED_CODE;
}

}  // namespace reenact::recorder
