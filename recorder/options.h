// The options of reenact_open, checked, with the environment applied. The only place of the
// recorder that reads the environment: REENACT_MODE, REENACT_STORE, REENACT_REPLAY_SOCKET,
// XDG_DATA_HOME, HOME.

#ifndef REENACT_RECORDER_OPTIONS_H_
#define REENACT_RECORDER_OPTIONS_H_

#include <cstdint>
#include <string>

#include "recorder/event_log.h"
#include "reenact/reenact.h"

namespace reenact::recorder {

enum class Mode : int32_t {
  kOff = REENACT_MODE_OFF,
  kRecord = REENACT_MODE_RECORD,
  kReplay = REENACT_MODE_REPLAY,
};

struct Options {
  Mode mode = Mode::kOff;
  std::string service;  // Empty was given: the name of the program.
  std::string service_version;
  std::string replay_socket;
  EventLogOptions log;
  uint64_t body_limit_bytes = 0;  // 0: none.
  double run_sample_rate = 1;
  double logprob_rate = 0;
  uint32_t disabled_boundaries = 0;
  bool require_pinned = false;
  void (*warn)(void* user, reenact_bytes message) = nullptr;
  int64_t (*wall_clock)(void* user) = nullptr;
  void* user = nullptr;
};

// The mode alone, so that a failure of the rest can be answered as the mode demands. REENACT_MODE
// counts where the options say AUTO; but "replay" there counts over every option, because a program
// that is being replayed must not go live whatever it asks for. Null options are all zero.
// REENACT_INVALID_ARGUMENT with `*why` for an unknown value; `*mode` is then kOff, or kReplay where
// it is the environment's, which may have meant that.
reenact_code ReadMode(const reenact_options* options, Mode* mode, std::string* why);

// Everything else. REENACT_INVALID_ARGUMENT or REENACT_UNAVAILABLE (no place for a store), with
// `*why` naming the option and its value. May throw bad_alloc.
reenact_code ReadOptions(const reenact_options* options, Mode mode, Options* out, std::string* why);

}  // namespace reenact::recorder

#endif  // REENACT_RECORDER_OPTIONS_H_
