// One thread of the program: its ordinal, and the tape of its reads of the wall clock.
//
// Everything here may be called in a signal handler, and in a thread of any kind at any time: no
// allocation, no lock, no file descriptor that stays open (programs close those that they do not
// know).

#ifndef REENACT_CLOCK_SHIM_PRELOAD_THREAD_TAPE_H_
#define REENACT_CLOCK_SHIM_PRELOAD_THREAD_TAPE_H_

#include <cstddef>
#include <cstdint>

#include "clock_shim/tape_layout.h"

namespace reenact::clock_shim {

enum class Mode : uint8_t { kOff, kRecord, kReplay };

// A name in the tree of threads and processes.
struct Ordinal {
  char text[kMaxOrdinal] = {};
  uint8_t size = 0;  // 0: none.

  // "<this>.<index>", "<this>.x<index>" for one that nobody counted; none when it would be too
  // long.
  Ordinal Child(uint32_t index, bool uncounted = false) const;
};

// A reading and the monotonic time when it was made.
struct Reading {
  int64_t wall_ns = 0;
  int64_t monotonic_ns = 0;
};

struct ThreadTape {
  Ordinal ordinal;
  bool adopted = false;        // `ordinal` was given.
  uint32_t children = 0;       // Threads and processes that this thread started.
  uint32_t draws = 0;          // Calls for random numbers.
  volatile bool busy = false;  // Inside a read: a signal handler that reads as well finds it set.
  bool unusable = false;       // No file could be made.
  bool full = false;           // Record: the disk is. Replay: there is no tape.

  TapeHeader* header = nullptr;
  size_t header_size = 0;
  // Record: the part of the file that is being written. Replay: all of the tape.
  uint8_t* window = nullptr;
  size_t window_size = 0;
  size_t at = 0;           // In the window.
  uint64_t file_size = 0;  // Record.
  TapeRead last;           // On the tape, before `at`.

  Reading own;  // The last read, as the program saw it.
  bool has_read = false;
};

// The value of a variable of the environment, null where it is not set. Shells have a getenv of
// their own, which knows nothing before main.
const char* Variable(const char* name);

// This process.
Mode mode();
bool random_is_frozen();
const uint8_t* seed();
const Ordinal& process_ordinal();
// Takes folder, mode and ordinal from the environment. Called once, before main.
void ReadEnvironment();
// After fork, in the child: the process and its thread go by this ordinal from now on.
void BecomeProcess(const Ordinal& ordinal);
// Adds a line to the list of what could not be entered.
void NoteUnreached(const char* what, const char* why);
// Adds a line to the list of what was connected to.
void NoteConnection(const char* line);

// The calling thread's. Gives it an ordinal where nobody did.
ThreadTape* ThisThread();
// To be called first in a new thread.
void BecomeThread(const Ordinal& ordinal);
// Lets go of the files; a later read opens them again.
void CloseThread();

// Record: puts a read on the tape.
void Append(ThreadTape* tape, TapeRead read);
// Replay: the next read of the tape, as of `kind`. False: the tape has ended.
bool TakeNext(ThreadTape* tape, ReadKind kind, int64_t* value_ns);
// Counts a read that was made past the end of the tape, or within another.
void CountPastTape(ThreadTape* tape);
void CountInSignal(ThreadTape* tape);

}  // namespace reenact::clock_shim

#endif  // REENACT_CLOCK_SHIM_PRELOAD_THREAD_TAPE_H_
