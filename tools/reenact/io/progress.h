// A progress bar on standard error, where that is a terminal; nothing anywhere else.

#ifndef REENACT_TOOLS_REENACT_IO_PROGRESS_H_
#define REENACT_TOOLS_REENACT_IO_PROGRESS_H_

#include <cstdint>
#include <string>

namespace reenact::tools {

// "replaying [######------] 12 of 100".
std::string ProgressLine(const std::string& what, int64_t done, int64_t total);

class Progress {
 public:
  Progress(bool enabled, std::string what) : enabled_(enabled), what_(std::move(what)) {}

  ~Progress();  // Clears the line.
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Show(int64_t done, int64_t total);

 private:
  bool enabled_ = false;
  bool shown_ = false;
  std::string what_;
};

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_IO_PROGRESS_H_
