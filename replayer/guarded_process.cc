#include "replayer/guarded_process.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstring>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "replayer/internal/network_supervisor.h"
#include "replayer/internal/process_group.h"
#include "replayer/internal/spawn.h"

namespace reenact::replayer {

// One thread starts the program and then answers its calls. It lives as long as the program,
// because the kernel sends the signal of PR_SET_PDEATHSIG when the thread that made the child ends.
struct GuardedProcess::Impl {
  ~Impl();
  void StartAndSupervise(const CommandOptions& options, bool require_guard);

  std::thread supervisor;
  int stop_event = -1;
  std::promise<absl::Status> started;
  // Set before `started` is, when that is ok.
  std::optional<NetworkSupervisor> network;
  std::optional<ProcessGroup> group;
};

void GuardedProcess::Impl::StartAndSupervise(const CommandOptions& options, bool require_guard) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  absl::StatusOr<Spawned> spawned = Spawn(options, require_guard);
  if (!spawned.ok()) return started.set_value(spawned.status());
  network.emplace(spawned->listener, spawned->why_not_guarded);
  group.emplace(spawned->pid, spawned->process);
  started.set_value(absl::OkStatus());
  network->Serve(stop_event);
}

GuardedProcess::Impl::~Impl() {
  if (supervisor.joinable()) {
    const uint64_t one = 1;
    // An eventfd takes this write whatever its count is.
    if (write(stop_event, &one, sizeof(one)) == static_cast<ssize_t>(sizeof(one))) {
      supervisor.join();
    } else {
      supervisor.detach();
    }
  }
  if (stop_event >= 0) close(stop_event);
}

GuardedProcess::GuardedProcess() : impl_(std::make_unique<Impl>()) {}

GuardedProcess::~GuardedProcess() {
  if (impl_->group) Stop(0);
}

absl::StatusOr<std::unique_ptr<GuardedProcess>> GuardedProcess::Start(const CommandOptions& options,
                                                                      bool require_guard) {
  if (options.argv.empty()) return absl::NotFoundError("no program is named");
  std::unique_ptr<GuardedProcess> process(new GuardedProcess());
  Impl& impl = *process->impl_;
  impl.stop_event = eventfd(0, EFD_CLOEXEC);
  if (impl.stop_event < 0) {
    return absl::UnavailableError(std::string("cannot watch over a program: ") + strerror(errno));
  }
  std::future<absl::Status> started = impl.started.get_future();
  impl.supervisor = std::thread([&impl, &options, require_guard] {
    // Copied: the caller's options end with Start.
    const CommandOptions own = options;
    impl.StartAndSupervise(own, require_guard);
  });
  absl::Status status = started.get();
  if (!status.ok()) return status;
  return process;
}

bool GuardedProcess::Wait(int64_t timeout_ms) {
  return impl_->group->Wait(timeout_ms);
}

void GuardedProcess::Stop(int64_t grace_ms) {
  impl_->group->Stop(grace_ms);
}

int64_t GuardedProcess::pid() const {
  return impl_->group->leader();
}

int GuardedProcess::status() const {
  return impl_->group->status();
}

GuardReport GuardedProcess::report() const {
  return impl_->network->report();
}

}  // namespace reenact::replayer
