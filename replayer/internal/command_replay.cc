#include "replayer/internal/command_replay.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/status/status.h"

#include "clock_shim/frozen_process.h"
#include "clock_shim/program_reach.h"
#include "replayer/http/answer_server.h"
#include "replayer/internal/network_notes.h"
#include "replayer/mcp/mcp_hub.h"
#include "replayer/mcp/mcp_replay.h"
#include "schema/redaction.h"

namespace reenact::replayer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kStepMs = 20;
constexpr int64_t kStopGraceMs = 2'000;
constexpr int64_t kDrainMs = 2'000;
// What stands for a credential that is not set now: clients ask for one before they ask anything.
constexpr char kNoCredential[] = "reenact-replay";

// Variables of the machine and of the session that somebody is in. A program that is replayed
// elsewhere finds those of the place where it is.
bool IsOfThePlace(std::string_view name) {
  constexpr std::array<std::string_view, 16> kNames = {
      "PATH",  "HOME",    "USER", "LOGNAME", "SHELL",    "PWD", "OLDPWD",       "TMPDIR",
      "SHLVL", "DISPLAY", "MAIL", "TERM",    "HOSTNAME", "_",   "NODE_OPTIONS", "NODE_PATH"};
  constexpr std::array<std::string_view, 7> kPrefixes = {"XDG_", "LD_",      "SSH_", "DBUS_",
                                                         "GPG_", "REENACT_", "SUDO_"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// A file in memory that takes what a program prints.
class Capture {
 public:
  explicit Capture(bool wanted) : fd_(wanted ? memfd_create("output", MFD_CLOEXEC) : -1) {}

  ~Capture() {
    if (fd_ >= 0) close(fd_);
  }

  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  int fd() const { return fd_; }

  // As much as was kept of `recorded`.
  std::optional<std::string> Take(const std::optional<std::string>& recorded) const {
    // A recording keeps the beginning of an output that is longer.
    constexpr size_t kKeptBytes = size_t{256} << 10;
    if (fd_ < 0) return std::nullopt;

    struct stat status {};

    std::string bytes(fstat(fd_, &status) == 0 ? static_cast<size_t>(status.st_size) : 0, '\0');
    const ssize_t size = pread(fd_, bytes.data(), bytes.size(), 0);
    bytes.resize(size < 0 ? 0 : static_cast<size_t>(size));
    if (recorded && recorded->size() >= kKeptBytes) {
      bytes.resize(std::min(bytes.size(), recorded->size()));
    }
    return bytes;
  }

 private:
  int fd_;
};

std::string WithUrl(std::string value, const std::string& url) {
  const size_t mark = value.find(schema::kProxyMark);
  if (mark != std::string::npos) value.replace(mark, schema::kProxyMark.size(), url);
  return value;
}

std::string ThreadText(const clock_shim::ThreadReads& thread) {
  std::string text = "thread " + thread.ordinal + ": " + std::to_string(thread.replayed) + " of " +
                     std::to_string(thread.recorded) + " readings";
  if (thread.past_tape > 0) text += ", " + std::to_string(thread.past_tape) + " more than recorded";
  if (thread.kind_mismatches > 0) {
    text += ", " + std::to_string(thread.kind_mismatches) + " by another function";
  }
  return text;
}

class CommandReplay {
 public:
  CommandReplay(schema::RecordedRun tape, schema::RecordedCommand command,
                const RunnerOptions& options)
      : options_(options),
        command_(std::move(command)),
        session_(std::move(tape), options.replay),
        deadline_(Clock::now() + std::chrono::milliseconds(options.timeout_ms)) {}

  ~CommandReplay() { CloseDoor(0); }

  CommandReplay(const CommandReplay&) = delete;
  CommandReplay& operator=(const CommandReplay&) = delete;

  absl::StatusOr<RunnerResult> Run() {
    const auto begin = Clock::now();
    if (absl::Status status = Start(); !status.ok()) return status;
    Await();
    RunnerResult result;
    result.network = process_->report();
    result.exit_status = process_->status();
    NoteNetwork(result.network, &session_);
    NoteClock();
    result.report = session_.Finish(MomentNow());
    result.verdict = result.report.verdict;
    result.note = result.report.inconclusive_because;
    result.elapsed_ns =
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
    return result;
  }

 private:
  absl::Status Start() {
    const schema::RecordedRun& recorded = session_.tape().run();
    auto frozen = clock_shim::FrozenProcess::Replay(recorded);
    if (!frozen.ok()) return frozen.status();
    frozen_ = *std::move(frozen);
    // The command is what is replayed: its run begins with it, and its components are its own.
    session_.Answer(
        schema::BeginRun{recorded.run.entry, recorded.run.input.bytes, recorded.components});
    absl::StatusOr<std::string> url = OpenDoor();
    if (!url.ok()) return url.status();
    url_ = *std::move(url);
    if (recorded.end) recorded_end_ = schema::DecodeCommandEnd(recorded.end->output.bytes);
    output_ = std::make_unique<Capture>(recorded_end_ && recorded_end_->standard_output);
    errors_ = std::make_unique<Capture>(recorded_end_ && recorded_end_->standard_error);
    const std::string mcp_socket = frozen_->folder() + "/mcp";
    auto hub = McpHub::Start(mcp_socket, [this](const McpSession& session) {
      return std::make_unique<McpReplay>(&session_, session.server);
    });
    if (!hub.ok()) return hub.status();
    hub_ = *std::move(hub);
    CommandOptions command = Describe();
    command.set_environment.emplace_back(kMcpSocketVariable, mcp_socket);
    auto process = GuardedProcess::Start(command, options_.require_guard);
    if (!process.ok()) return process.status();
    process_ = *std::move(process);
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> OpenDoor() {
    if (options_.door != nullptr) return options_.door->Open(&session_, command_);
    const AnswerPace pace =
        options_.recorded_pace ? AnswerPace::kRecordedTime : AnswerPace::kRecordedOrder;
    auto server = AnswerServer::Start(&session_, {.routes = command_.routes, .pace = pace});
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    return server_->url();
  }

  // Each answer was written, or `grace_ms` passed.
  void CloseDoor(int64_t grace_ms) {
    if (options_.door != nullptr) options_.door->Close(grace_ms);
    if (server_ && grace_ms > 0) server_->Drain(grace_ms);
  }

  CommandOptions Describe() {
    CommandOptions options;
    options.argv = options_.argv.empty() ? command_.argv : options_.argv;
    options.guard = options_.guard;
    options.standard_output = output_->fd();
    options.standard_error = errors_->fd();

    struct stat status {};

    if (stat(command_.directory.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
      options.directory = command_.directory;
      options.set_environment.emplace_back("PWD", command_.directory);
    } else if (!command_.directory.empty()) {
      session_.NoteFact("the folder in which it was recorded is not here: " + command_.directory);
    }
    for (const auto& [name, value] : command_.environment) {
      if (IsOfThePlace(name)) continue;
      if (value.find(schema::kRedactedMark) == std::string::npos) {
        options.set_environment.emplace_back(name, value);
      } else if (getenv(name.c_str()) == nullptr) {
        options.set_environment.emplace_back(name, kNoCredential);
      }
    }
    for (const auto& [name, value] : command_.proxy_environment) {
      options.set_environment.emplace_back(name, WithUrl(value, url_));
    }
    for (const auto& variable : frozen_->Environment()) options.set_environment.push_back(variable);
    program_ = options.argv[0];
    return options;
  }

  bool Interrupted() const { return options_.interrupted && options_.interrupted(); }

  void Await() {
    bool ended = false;
    while (!(ended = process_->Wait(kStepMs)) && Clock::now() < deadline_ && !Interrupted()) {
    }
    process_->Stop(ended ? 0 : kStopGraceMs);
    if (ended) hub_->Drain(kDrainMs);
    hub_.reset();
    // The program has the answers; that they were written is still to be noted.
    CloseDoor(ended ? kDrainMs : 0);
    if (!ended) {
      session_.NoteInterrupted(Interrupted() ? "interrupted" : "timeout");
      return;
    }
    const int status = process_->status();
    schema::CommandEnd end;
    if (WIFEXITED(status)) end.exit_status = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
    if (recorded_end_) {
      end.standard_output = output_->Take(recorded_end_->standard_output);
      end.standard_error = errors_->Take(recorded_end_->standard_error);
    }
    const auto [state, detail] = schema::EndStateOf(end);
    session_.Answer(schema::FinishRun{1, state, detail, schema::EncodeCommandEnd(end)});
  }

  void NotFrozen(const std::string& why) {
    session_.NoteRelaxed("clock not frozen: " + why, FidelityLevel::kR1);
    session_.NoteInconclusive("clock not frozen: " + why);
  }

  void NoteClock() {
    const clock_shim::FrozenReport report = frozen_->report();
    if (!report.reached) {
      const char* why = clock_shim::WhyUnreachable(program_.c_str());
      return NotFrozen(program_ + (why != nullptr
                                       ? " is " + std::string(why)
                                       : std::string(" did not load the clock library")));
    }
    for (const std::string& program : report.unreached) NotFrozen(program);
    const bool recorded = std::any_of(session_.tape().run().components.begin(),
                                      session_.tape().run().components.end(), clock_shim::IsTape);
    if (!recorded) return NotFrozen("the run was recorded without it");
    int64_t recorded_readings = 0;
    int64_t replayed_readings = 0;
    for (const clock_shim::ThreadReads& thread : report.threads) {
      recorded_readings += static_cast<int64_t>(thread.recorded);
      replayed_readings += static_cast<int64_t>(thread.replayed);
      const bool equal = thread.replayed == thread.recorded && thread.past_tape == 0 &&
                         thread.kind_mismatches == 0;
      if (!equal) session_.NoteRelaxed("clock of " + ThreadText(thread), FidelityLevel::kR1);
    }
    session_.NoteReadings(recorded_readings, replayed_readings);
  }

  const RunnerOptions& options_;
  const schema::RecordedCommand command_;
  ReplaySession session_;
  const Clock::time_point deadline_;
  std::optional<schema::CommandEnd> recorded_end_;
  std::string program_;
  std::string url_;  // That its clients are pointed at.
  std::unique_ptr<Capture> output_;
  std::unique_ptr<Capture> errors_;
  std::unique_ptr<clock_shim::FrozenProcess> frozen_;
  std::unique_ptr<AnswerServer> server_;
  std::unique_ptr<McpHub> hub_;
  std::unique_ptr<GuardedProcess> process_;
};

}  // namespace

absl::StatusOr<RunnerResult> ReplayCommand(schema::RecordedRun tape,
                                           schema::RecordedCommand command,
                                           const RunnerOptions& options) {
  return CommandReplay(std::move(tape), std::move(command), options).Run();
}

}  // namespace reenact::replayer
