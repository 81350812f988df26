#include "tools/bench/disturbance.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

namespace reenact::bench {
namespace {

constexpr double kQuietEnd_s = 2;
constexpr size_t kBlock = 1 << 20;

double NowSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Disturbance::Disturbance(std::string_view kind, std::string folder, double seconds)
    : folder_(std::move(folder)), end_s_(NowSeconds() + seconds - kQuietEnd_s) {
  if (kind == "fsync") thread_ = std::thread([this] { SyncStorm(); });
  if (kind == "freeze") thread_ = std::thread([this] { FreezeInTurns(); });
  if (kind == "full") thread_ = std::thread([this] { FillUp(); });
}

Disturbance::~Disturbance() {
  Stop();
}

bool Disturbance::IsKnown(std::string_view kind) {
  return kind == "none" || kind == "fsync" || kind == "freeze" || kind == "full";
}

bool Disturbance::Stop() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  return !failed_;
}

bool Disturbance::SleepFor(double seconds) const {
  const double until_s = NowSeconds() + seconds;
  while (NowSeconds() < until_s) {
    if (stop_ || NowSeconds() >= end_s_) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

void Disturbance::SyncStorm() {
  const std::string path = folder_ + "/storm";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  failed_ = file < 0;
  const std::vector<char> block(kBlock, 'x');
  for (int i = 0; file >= 0 && !stop_; ++i) {
    if (pwrite(file, block.data(), block.size(), static_cast<off_t>(i % 64) * kBlock) < 0) break;
    if (i % 4 == 3) fsync(file);
  }
  if (file >= 0) close(file);
  unlink(path.c_str());
}

void Disturbance::FreezeInTurns() {
  const int mount = open(folder_.c_str(), O_RDONLY | O_DIRECTORY);
  bool going = SleepFor(1);
  while (going) {
    if (ioctl(mount, FIFREEZE, 0) != 0) {
      failed_ = true;
      break;
    }
    going = SleepFor(0.5);
    ioctl(mount, FITHAW, 0);
    going = going && SleepFor(1.5);
  }
  if (mount >= 0) close(mount);
}

void Disturbance::FillUp() {
  if (!SleepFor(1)) return;
  const std::string path = folder_ + "/filler";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  failed_ = file < 0;
  const std::vector<char> block(kBlock, 'x');
  // By ever smaller blocks, and again and again: what the store gives back is taken too.
  do {
    for (size_t size = kBlock; file >= 0 && size >= 512; size /= 2) {
      while (!stop_ && write(file, block.data(), size) > 0) {
      }
    }
  } while (SleepFor(0.1));
  if (file >= 0) close(file);
  unlink(path.c_str());
}

}  // namespace reenact::bench
