// The recorder of a service: how it is opened, what it is told, and the runs that it starts.

#ifndef REENACT_RECORDER_HPP_
#define REENACT_RECORDER_HPP_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reenact/internal/c_values.hpp"
#include "reenact/reenact.h"
#include "reenact/run.hpp"
#include "reenact/values.hpp"

namespace reenact {

// See reenact_options in reenact.h for units and defaults of the members that are 0 here.
struct Options {
  std::string store;  // Folder. Empty: $REENACT_STORE, else $XDG_DATA_HOME/reenact.
  std::string service;
  std::string service_version;
  Mode mode = Mode::kAuto;
  std::string replay_socket;  // Empty: $REENACT_REPLAY_SOCKET.
  uint64_t ring_bytes = 0;
  uint64_t body_budget_bytes = 0;
  uint64_t body_limit_bytes = 0;
  uint64_t store_cap_bytes = 0;
  uint64_t free_floor_bytes = 0;
  double run_sample_rate = 1.0;
  double logprob_rate = 0.0;
  uint32_t disabled_boundaries = 0;  // Bit 1 << REENACT_TOOL, ...
  bool require_pinned = false;
  bool keep_secrets = false;
  std::vector<std::string> secrets;  // Values that must never be stored.
  // Warnings of the library, on the thread that caused them. Must not call the recorder.
  std::function<void(std::string_view)> warn;
  std::function<int64_t()> wall_clock;  // Unix ns. Empty: the system's.
  int64_t close_deadline_ms = 1000;     // How long the destructor waits for the disk.
};

// One per service, made early and closed late; movable. Never throws for reasons of recording: see
// code() and error() for why it is off.
class Recorder {
 public:
  // A recorder that is off.
  Recorder() = default;

  explicit Recorder(const Options& options)
      : callbacks_(std::make_unique<Callbacks>()), close_deadline_ms_(options.close_deadline_ms) {
    callbacks_->warn = options.warn;
    callbacks_->wall_clock = options.wall_clock;
    std::vector<reenact_bytes> secrets;
    for (const std::string& secret : options.secrets) secrets.push_back(internal::Bytes(secret));
    auto c = internal::Sized<reenact_options>();
    c.store = internal::Bytes(options.store);
    c.service = internal::Bytes(options.service);
    c.service_version = internal::Bytes(options.service_version);
    c.mode = static_cast<int32_t>(options.mode);
    c.replay_socket = internal::Bytes(options.replay_socket);
    c.ring_bytes = options.ring_bytes;
    c.body_budget_bytes = options.body_budget_bytes;
    c.body_limit_bytes = options.body_limit_bytes;
    c.store_cap_bytes = options.store_cap_bytes;
    c.free_floor_bytes = options.free_floor_bytes;
    c.run_sample_rate = options.run_sample_rate;
    c.logprob_rate = options.logprob_rate;
    c.disabled_boundaries = options.disabled_boundaries;
    c.require_pinned = options.require_pinned ? 1 : 0;
    c.keep_secrets = options.keep_secrets ? 1 : 0;
    c.secrets = secrets.data();
    c.secret_count = secrets.size();
    if (callbacks_->warn) c.warn = &Callbacks::Warn;
    if (callbacks_->wall_clock) c.wall_clock = &Callbacks::WallClock;
    c.user = callbacks_.get();
    code_ = reenact_open(&c, &recorder_);
    if (code_ != REENACT_OK) open_error_ = internal::ErrorText(&reenact_error, recorder_);
  }

  ~Recorder() { Close(close_deadline_ms_); }

  Recorder(Recorder&& other) noexcept
      : recorder_(std::exchange(other.recorder_, nullptr)),
        code_(other.code_),
        open_error_(std::move(other.open_error_)),
        callbacks_(std::move(other.callbacks_)),
        close_deadline_ms_(other.close_deadline_ms_) {}

  Recorder& operator=(Recorder&& other) noexcept {
    if (this != &other) {
      Close(close_deadline_ms_);
      recorder_ = std::exchange(other.recorder_, nullptr);
      code_ = other.code_;
      open_error_ = std::move(other.open_error_);
      callbacks_ = std::move(other.callbacks_);
      close_deadline_ms_ = other.close_deadline_ms_;
    }
    return *this;
  }

  // REENACT_OK, or why opening failed.
  reenact_code code() const { return code_; }

  // The sentence that goes with it, or the last error of a recorder that is open.
  std::string error() const {
    return recorder_ == nullptr ? open_error_ : internal::ErrorText(&reenact_error, recorder_);
  }

  bool on() const { return recorder_ != nullptr; }

  Run StartRun(const RunInfo& info) {
    std::vector<reenact_component> components;
    components.reserve(info.components.size());
    for (const Component& component : info.components) {
      components.push_back(internal::AsC(component));
    }
    const std::vector<reenact_pair> tags = internal::Pairs(info.tags);
    auto c = internal::Sized<reenact_run_info>();
    c.entry = internal::Bytes(info.entry);
    c.input = internal::Bytes(info.input);
    c.trace_id = internal::Bytes(info.trace_id);
    c.components = components.data();
    c.component_count = components.size();
    c.tags = tags.data();
    c.tag_count = tags.size();
    reenact_scope* run = nullptr;
    reenact_run_begin(recorder_, &c, &run);
    return Run(run);
  }

  // Registers what starts a run of this entry again; it should do what the real entry does. In
  // replay mode it is called once with the recorded input, on a thread of the library: register
  // last, when the program is ready. An exception out of it is swallowed; the run ends as `error`
  // by itself.
  reenact_code OnReplay(std::string_view entry, std::function<void(std::string_view)> handler) {
    if (recorder_ == nullptr) return REENACT_OK;
    callbacks_->handlers.push_back(std::make_unique<Handler>(std::move(handler)));
    return reenact_on_replay(recorder_, internal::Bytes(entry), &Callbacks::Replay,
                             callbacks_->handlers.back().get());
  }

  // The kill switch: false stops recording of runs that begin from now on. No effect on replay.
  void SetEnabled(bool enabled) { reenact_set_enabled(recorder_, enabled ? 1 : 0); }

  reenact_code Flush(int64_t deadline_ms) { return reenact_flush(recorder_, deadline_ms); }

  // Afterwards the recorder is off. Runs that are still open may go on: their calls stay live and
  // are counted as dropped.
  reenact_code Close(int64_t deadline_ms) {
    return reenact_close(std::exchange(recorder_, nullptr), deadline_ms);
  }

  reenact_metrics metrics() const {
    auto metrics = internal::Sized<reenact_metrics>();
    reenact_get_metrics(recorder_, &metrics);
    return metrics;
  }

  reenact_recorder* handle() const { return recorder_; }

 private:
  using Handler = std::function<void(std::string_view)>;

  // At a fixed address, because the library keeps a pointer to it until it is closed.
  struct Callbacks {
    std::function<void(std::string_view)> warn;
    std::function<int64_t()> wall_clock;
    std::vector<std::unique_ptr<Handler>> handlers;

    static void Warn(void* user, reenact_bytes message) {
      Guarded([&] { static_cast<Callbacks*>(user)->warn(internal::View(message)); });
    }

    static int64_t WallClock(void* user) {
      int64_t unix_ns = 0;
      Guarded([&] { unix_ns = static_cast<Callbacks*>(user)->wall_clock(); });
      return unix_ns;
    }

    static void Replay(void* user, reenact_bytes input) {
      Guarded([&] { (*static_cast<Handler*>(user))(internal::View(input)); });
    }

    // Nothing of the host's may unwind through the library.
    template <class Function>
    static void Guarded(Function&& function) {
#if defined(__cpp_exceptions)
      try {
        function();
      } catch (...) {
      }
#else
      function();
#endif
    }
  };

  reenact_recorder* recorder_ = nullptr;
  reenact_code code_ = REENACT_OK;
  std::string open_error_;
  std::unique_ptr<Callbacks> callbacks_;
  int64_t close_deadline_ms_ = 1000;
};

}  // namespace reenact

#endif  // REENACT_RECORDER_HPP_
