#include "recorder/open_error.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "recorder/handles.h"

namespace reenact::recorder {
namespace {

constexpr int kMaxTries = 1000;

constinit std::atomic<bool> g_busy{false};
constinit char g_text[1024] = {};
constinit size_t g_size = 0;

class Hold {
 public:
  Hold() noexcept {
    for (int i = 0; i < kMaxTries && !held_; ++i) {
      held_ = !g_busy.exchange(true, std::memory_order_acquire);
      if (!held_) sched_yield();
    }
  }

  ~Hold() {
    if (held_) g_busy.store(false, std::memory_order_release);
  }

  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  bool held() const noexcept { return held_; }

 private:
  bool held_ = false;
};

}  // namespace

void SetOpenError(std::string_view why) noexcept {
  const Hold hold;
  if (!hold.held()) return;
  g_size = std::min(why.size(), sizeof(g_text));
  std::memcpy(g_text, why.data(), g_size);
}

size_t CopyOpenError(char* buffer, size_t capacity) noexcept {
  const Hold hold;
  return CopyText(hold.held() ? std::string_view(g_text, g_size) : std::string_view(), buffer,
                  capacity);
}

}  // namespace reenact::recorder
