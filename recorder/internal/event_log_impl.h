#ifndef REENACT_RECORDER_INTERNAL_EVENT_LOG_IMPL_H_
#define REENACT_RECORDER_INTERNAL_EVENT_LOG_IMPL_H_

#include <memory>
#include <thread>

#include "recorder/event_log.h"
#include "recorder/internal/log_state.h"

namespace reenact::recorder {

struct EventLog::Impl {
  std::shared_ptr<LogState> state;
  std::thread writer;
  bool closed = false;  // The writer was asked to leave; guarded by state->mutex.
};

}  // namespace reenact::recorder

#endif  // REENACT_RECORDER_INTERNAL_EVENT_LOG_IMPL_H_
