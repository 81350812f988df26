// What goes wrong with the disk while recorder_bench measures. Each works on the file system of the
// store, in a thread of its own.

#ifndef REENACT_TOOLS_BENCH_DISTURBANCE_H_
#define REENACT_TOOLS_BENCH_DISTURBANCE_H_

#include <atomic>
#include <string>
#include <string_view>
#include <thread>

namespace reenact::bench {

inline constexpr std::string_view kDisturbances = "none|fsync|freeze|full";

class Disturbance {
 public:
  // `kind` is one of kDisturbances:
  //   fsync   writes and syncs as fast as it can
  //   freeze  freezes the file system (FIFREEZE; needs root and a mount of its own) for half a
  //           second of every two, and not in the last two seconds
  //   full    takes all the room there is (on a mount of its own), until the last two seconds
  Disturbance(std::string_view kind, std::string folder, double seconds);
  ~Disturbance();
  Disturbance(const Disturbance&) = delete;
  Disturbance& operator=(const Disturbance&) = delete;

  static bool IsKnown(std::string_view kind);

  // Ends it, and undoes what it did. False: it could not be done at all.
  bool Stop();

 private:
  void SyncStorm();
  void FreezeInTurns();
  void FillUp();
  // False once it was stopped, or the last two seconds have begun.
  bool SleepFor(double seconds) const;

  const std::string folder_;
  const double end_s_;  // Monotonic.
  std::atomic<bool> stop_{false};
  std::atomic<bool> failed_{false};
  std::thread thread_;
};

}  // namespace reenact::bench

#endif  // REENACT_TOOLS_BENCH_DISTURBANCE_H_
