#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "recorder/event_log.h"
#include "recorder/internal/event_log_impl.h"
#include "recorder/internal/log_state.h"
#include "schema/sha256.h"

namespace reenact::recorder {

struct EventLog::Spill::Impl {
  std::shared_ptr<LogState> state;
  int fd = -1;
  bool finished = false;
  schema::Sha256 hash;  // Of the whole, kept or not.
  uint64_t whole_size = 0;
  store::SpilledBody body;

  bool Reserve(uint64_t size) {
    const uint64_t budget = state->options.spill_budget_bytes;
    uint64_t used = state->spill_bytes.load(std::memory_order_relaxed);
    do {
      if (used > budget || size > budget - used) return false;
    } while (
        !state->spill_bytes.compare_exchange_weak(used, used + size, std::memory_order_relaxed));
    return true;
  }

  // What is written counts, the rest goes back into the budget.
  void Write(std::string_view bytes) {
    if (fd < 0 || !Reserve(bytes.size())) {
      body.cut = true;
      return;
    }
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t put = write(fd, bytes.data() + done, bytes.size() - done);
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) break;
      done += static_cast<size_t>(put);
    }
    body.size += done;
    if (done == bytes.size()) return;
    body.cut = true;
    state->spill_bytes -= bytes.size() - done;
  }

  void CloseFile() {
    if (fd >= 0) close(fd);
    fd = -1;
  }
};

EventLog::Spill::Spill() = default;

EventLog::Spill::~Spill() {
  if (impl_ == nullptr) return;
  if (impl_->state->ring->InForkedChild()) {
    impl_->CloseFile();  // The child's own descriptor; the file is the parent's.
    return;
  }
  if (!impl_->finished) Discard();
}

void EventLog::Spill::Append(std::string_view bytes) noexcept {
  Impl& spill = *impl_;
  if (spill.finished || spill.state->ring->InForkedChild()) return;
  spill.hash.Update(bytes);
  spill.whole_size += bytes.size();
  if (!spill.body.cut) spill.Write(bytes);
}

store::SpilledBody EventLog::Spill::Finish() noexcept {
  Impl& spill = *impl_;
  if (spill.finished || spill.state->ring->InForkedChild()) return {};
  spill.finished = true;
  spill.CloseFile();
  if (spill.body.cut) {
    spill.body.original_size = spill.whole_size;
    spill.body.original_digest = spill.hash.Finish();
    spill.state->ring->CountDrop(store::DropReason::kOversize, spill.whole_size - spill.body.size);
  }
  try {
    return spill.body;
  } catch (const std::bad_alloc&) {
    Discard();
    return {};
  }
}

void EventLog::Spill::Discard() noexcept {
  Impl& spill = *impl_;
  if (spill.state->ring->InForkedChild()) return;
  spill.finished = true;
  spill.CloseFile();
  if (!spill.body.path.empty()) unlink(spill.body.path.c_str());
  spill.state->spill_bytes -= std::exchange(spill.body.size, 0);
  spill.body.path.clear();
}

std::unique_ptr<EventLog::Spill> EventLog::NewSpill() noexcept {
  try {
    if (InForkedChild()) return nullptr;
    std::unique_ptr<Spill> spill(new Spill);
    spill->impl_ = std::make_unique<Spill::Impl>();
    Spill::Impl& impl = *spill->impl_;
    impl.state = impl_->state;
    // Empty without a memory file system: such a body is counted and hashed, not kept.
    const std::string path = impl.state->ring->SpillPath(++impl.state->spill_count);
    if (path.empty()) return spill;
    impl.fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (impl.fd >= 0) impl.body.path = path;
    return spill;
  } catch (...) {
    return nullptr;
  }
}

}  // namespace reenact::recorder
