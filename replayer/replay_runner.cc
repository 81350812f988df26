#include "replayer/replay_runner.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"

#include "replayer/internal/command_replay.h"
#include "replayer/internal/drive.h"
#include "replayer/internal/network_notes.h"
#include "replayer/replay_server.h"
#include "replayer/tape.h"

namespace reenact::replayer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kStepMs = 20;
constexpr int64_t kStopGraceMs = 2'000;
// How long a program may take to end by itself after its run has ended.
constexpr int64_t kLingerMs = 10'000;
// How long a run may go on after the handler returned, or begin after the service answered.
constexpr int64_t kAfterAnswerMs = 2'000;

bool Crashed(int status) {
  return WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) != 0);
}

std::string StatusText(int status) {
  if (WIFSIGNALED(status)) {
    const char* name = sigabbrev_np(WTERMSIG(status));
    return "was killed by signal " +
           (name != nullptr ? "SIG" + std::string(name) : std::to_string(WTERMSIG(status)));
  }
  return "exited with status " + std::to_string(WEXITSTATUS(status));
}

// One replay of one program.
class Runner {
 public:
  Runner(schema::RecordedRun tape, const RunnerOptions& options)
      : options_(options),
        recorded_end_(tape.end.has_value()),
        session_(std::move(tape), options.replay),
        deadline_(Clock::now() + std::chrono::milliseconds(options.timeout_ms)) {}

  absl::StatusOr<RunnerResult> Run() {
    const auto begin = Clock::now();
    if (absl::Status status = Start(); !status.ok()) return status;
    if (drive_) {
      DriveService();
    } else {
      AwaitProgram();
    }
    End();
    RunnerResult result;
    result.network = process_->report();
    NoteNetwork(result.network, &session_);
    result.exit_status = process_->status();
    result.report = session_.Finish(MomentNow());
    result.verdict = result.report.verdict;
    result.note = Note(result.report);
    result.elapsed_ns =
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
    return result;
  }

 private:
  absl::Status Start() {
    if (!options_.drive_url.empty()) {
      absl::StatusOr<DriveRequest> plan = PlanDrive(options_.drive_url, session_.recorded_run());
      if (!plan.ok()) return plan.status();
      drive_ = *std::move(plan);
      if (session_.recorded_run().input.cut) {
        return absl::FailedPreconditionError(
            CutText("recorded input", session_.recorded_run().input) + ": it cannot be sent again");
      }
      // The recorded input must go to the program that we start, never to a live service.
      if (IsListening(*drive_)) {
        return absl::FailedPreconditionError("something listens at " + drive_->url +
                                             " already: stop it, or choose another port");
      }
    }
    auto server = ReplayServer::Start(&session_, {.drive_handlers = !drive_.has_value()});
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    CommandOptions command;
    command.argv = options_.argv;
    command.set_environment = {{"REENACT_MODE", "replay"},
                               {"REENACT_REPLAY_SOCKET", server_->socket_path()}};
    command.guard = options_.guard;
    auto process = GuardedProcess::Start(command, options_.require_guard);
    if (!process.ok()) return process.status();
    process_ = *std::move(process);
    return absl::OkStatus();
  }

  bool Interrupted() const { return options_.interrupted && options_.interrupted(); }

  int64_t LeftMs() const {
    if (Interrupted()) return 0;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now());
    return std::max<int64_t>(left.count(), 0);
  }

  // Waits until `done` says so; false when the program ended, or time is up, before that.
  template <typename Done>
  bool AwaitUnlessEnded(int64_t at_most_ms, Done done) {
    const auto until = Clock::now() + std::chrono::milliseconds(std::min(at_most_ms, LeftMs()));
    while (!done(kStepMs)) {
      if (process_->Wait(0)) return done(0);
      if (Clock::now() >= until || Interrupted()) return false;
    }
    return true;
  }

  void DriveService() {
    std::optional<Clock::time_point> finished_at;
    const DriveResult answer = SendDrive(*drive_, [&] {
      if (session_.finished() && !finished_at) finished_at = Clock::now();
      const bool lingering =
          finished_at && Clock::now() - *finished_at > std::chrono::milliseconds(kStopGraceMs);
      return !lingering && LeftMs() > 0 && !process_->Wait(0);
    });
    if (!answer.answered) {
      drive_note_ = "the recorded input was not answered (" + answer.error + ")";
    } else {
      drive_note_ = "the service answered with status " + std::to_string(answer.http_status);
      AwaitUnlessEnded(kAfterAnswerMs,
                       [this](int64_t) { return session_.bound() || process_->Wait(kStepMs); });
    }
    if (session_.bound()) AwaitFinished(LeftMs());
  }

  bool AwaitFinished(int64_t at_most_ms) {
    return AwaitUnlessEnded(at_most_ms, [this](int64_t ms) { return server_->WaitFinished(ms); });
  }

  // A handler that was registered is driven by the server; a program without one starts its run by
  // itself, and ends by itself.
  void AwaitProgram() {
    const bool done =
        AwaitUnlessEnded(LeftMs(), [this](int64_t ms) { return server_->WaitDone(ms); });
    if (!done) return;
    if (server_->handler_registered()) {
      if (session_.bound()) AwaitFinished(kAfterAnswerMs);
    } else {
      AwaitUnlessEnded(kLingerMs, [this](int64_t ms) { return process_->Wait(ms); });
    }
  }

  void End() {
    const bool ended_by_itself = process_->Wait(0);
    const bool out_of_time = LeftMs() == 0;
    process_->Stop(kStopGraceMs);
    if (!ended_by_itself) {
      if (!session_.finished() && out_of_time)
        session_.NoteInterrupted(Interrupted() ? "interrupted" : "timeout");
      return;
    }
    const int status = process_->status();
    if (!Crashed(status) || (session_.finished() && !WIFSIGNALED(status))) {
      if (Crashed(status)) session_.NoteFact("the program " + StatusText(status));
      return;
    }
    if (session_.bound() && !recorded_end_) {
      session_.NoteFact("the program " + StatusText(status) +
                        "; the recorded run did not end either");
      return;
    }
    Divergence divergence;
    divergence.kind = DivergenceKind::kProcess;
    divergence.summary =
        "the program " + StatusText(status) + (session_.finished() ? "" : " before its run ended");
    session_.NoteDivergence(std::move(divergence));
  }

  // Why it is inconclusive.
  std::string Note(const ReplayReport& report) const {
    if (report.verdict != Verdict::kInconclusive) return "";
    if (report.bound) return report.inconclusive_because;
    if (drive_) return report.inconclusive_because + ": " + drive_note_;
    if (report.inconclusive_because.starts_with("timeout")) return report.inconclusive_because;
    // What that takes depends on how the run is started; only the program's author knows which.
    return "the program ended before it began the run of entry \"" + session_.recorded_run().entry +
           "\": a service with an OnReplay handler must stay up until it is told to end (SIGTERM), "
           "any other program must begin that run itself";
  }

  const RunnerOptions& options_;
  const bool recorded_end_;
  ReplaySession session_;
  const Clock::time_point deadline_;
  std::optional<DriveRequest> drive_;
  std::string drive_note_;
  std::unique_ptr<ReplayServer> server_;
  std::unique_ptr<GuardedProcess> process_;
};

}  // namespace

absl::StatusOr<RunnerResult> RunReplay(schema::RecordedRun tape, const RunnerOptions& options) {
  if (std::optional<schema::RecordedCommand> command = schema::CommandOf(tape.run)) {
    return ReplayCommand(std::move(tape), *std::move(command), options);
  }
  if (options.argv.empty()) return absl::InvalidArgumentError("no program is named");
  return Runner(std::move(tape), options).Run();
}

}  // namespace reenact::replayer
