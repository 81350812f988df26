// An EventLog whose writer is no thread: the test takes its turns. What waits for the writer is
// asked with a deadline that has passed, and so asks whether the wait would be over.

#ifndef REENACT_TESTS_SUPPORT_STEPPED_LOG_H_
#define REENACT_TESTS_SUPPORT_STEPPED_LOG_H_

#include <cstdint>
#include <memory>
#include <string>

#include "recorder/event_log.h"
#include "recorder/internal/event_log_impl.h"
#include "recorder/internal/log_writer.h"

namespace reenact::recorder {

class SteppedLog {
 public:
  static std::unique_ptr<SteppedLog> Open(const EventLogOptions& options, std::string* why) {
    std::unique_ptr<SteppedLog> stepped(new SteppedLog);
    stepped->log_ = EventLog::Make(options, false, why);
    if (stepped->log_ == nullptr) return nullptr;
    stepped->writer_ = std::make_unique<LogWriter>(stepped->log_->impl_->state);
    return stepped;
  }

  EventLog* log() { return log_.get(); }

  LogState& state() { return *log_->impl_->state; }

  void Recover() { writer_->Recover(); }

  LogWriter::Step Turn() { return writer_->Turn(); }

  // Everything appended so far is committed.
  bool IsFlushed() { return log_->Flush(0); }

  uint64_t StoredBelow() {
    const std::lock_guard<std::mutex> lock(state().mutex);
    return state().stored_below;
  }

  bool Close(int64_t deadline_ns) {
    state().refusal = store::DropReason::kAfterClose;
    {
      const std::lock_guard<std::mutex> lock(state().mutex);
      state().closing = true;
      state().close_deadline_ns = deadline_ns;
    }
    writer_->Finish();
    return log_->Close(deadline_ns);
  }

  // The host destroys its log without closing it.
  void Abandon() {
    log_.reset();
    writer_->Finish();
  }

  // What a forked child does, where the writer is the parent's.
  void LeaveToParent() {
    static_cast<void>(writer_.release());
    log_.reset();
  }

 private:
  SteppedLog() = default;

  std::unique_ptr<EventLog> log_;
  std::unique_ptr<LogWriter> writer_;
};

}  // namespace reenact::recorder

#endif  // REENACT_TESTS_SUPPORT_STEPPED_LOG_H_
