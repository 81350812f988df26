#include "tools/reenact/io/progress.h"

#include <algorithm>
#include <cstdio>

namespace reenact::tools {

std::string ProgressLine(const std::string& what, int64_t done, int64_t total) {
  static constexpr int64_t kBarWidth = 30;
  const int64_t filled =
      total > 0 ? std::clamp<int64_t>(done * kBarWidth / total, 0, kBarWidth) : 0;
  return what + " [" + std::string(static_cast<size_t>(filled), '#') +
         std::string(static_cast<size_t>(kBarWidth - filled), '-') + "] " + std::to_string(done) +
         " of " + std::to_string(total);
}

void Progress::Show(int64_t done, int64_t total) {
  if (!enabled_) return;
  shown_ = true;
  std::fprintf(stderr, "\r\x1b[K%s", ProgressLine(what_, done, total).c_str());
  std::fflush(stderr);
}

Progress::~Progress() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

}  // namespace reenact::tools
