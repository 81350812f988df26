// Ctrl-C, while a program of somebody else runs under this one: the program is ended, what was made
// for it is removed, and only then does the signal have its usual effect.

#ifndef REENACT_TOOLS_REENACT_RECORD_INTERRUPTION_H_
#define REENACT_TOOLS_REENACT_RECORD_INTERRUPTION_H_

#include <signal.h>

namespace reenact::tools {

// As long as it lives, SIGINT, SIGTERM and SIGHUP are only taken note of; those that were ignored
// before still are. One at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  static bool Happened();
  // Ends this process by the signal that came, so that a shell sees what it was; returns when none
  // did.
  void PassOn();

 private:
  void Restore();

  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[3];
};

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_RECORD_INTERRUPTION_H_
