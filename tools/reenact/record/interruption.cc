#include "tools/reenact/record/interruption.h"

#include <iterator>

namespace reenact::tools {
namespace {

volatile sig_atomic_t came = 0;  // The first signal; 0: none.

void TakeNote(int signal_number) {
  if (came == 0) came = signal_number;
}

}  // namespace

Interruption::Interruption() {
  static_assert(std::size(kSignals) == std::size(decltype(before_){}));

  struct sigaction take_note {};

  take_note.sa_handler = TakeNote;
  take_note.sa_flags = SA_RESTART;
  sigemptyset(&take_note.sa_mask);
  came = 0;
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &take_note, nullptr);
  }
}

Interruption::~Interruption() {
  Restore();
}

bool Interruption::Happened() {
  return came != 0;
}

void Interruption::Restore() {
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

void Interruption::PassOn() {
  if (came == 0) return;
  Restore();
  raise(came);
}

}  // namespace reenact::tools
