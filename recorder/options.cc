#include "recorder/options.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "recorder/handles.h"

namespace reenact::recorder {
namespace {

constexpr uint64_t kMinRingBytes = 4 * store::kRingChunkSize;
constexpr uint64_t kMaxRingBytes = uint64_t{1} << 30;

std::string_view Environment(const char* name) noexcept {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

// Nothing for a word that is none.
std::optional<Mode> ParseMode(std::string_view text) noexcept {
  if (text.empty() || text == "record") return Mode::kRecord;
  if (text == "replay") return Mode::kReplay;
  if (text == "off") return Mode::kOff;
  return std::nullopt;
}

std::string DefaultStore() {
  if (const std::string_view store = Environment("REENACT_STORE"); !store.empty()) {
    return std::string(store);
  }
  if (const std::string_view data = Environment("XDG_DATA_HOME"); !data.empty()) {
    return std::string(data) + "/reenact";
  }
  if (const std::string_view home = Environment("HOME"); !home.empty()) {
    return std::string(home) + "/.local/share/reenact";
  }
  return {};
}

// Written so that NaN fails.
bool IsRate(double rate) noexcept {
  return rate >= 0 && rate <= 1;
}

reenact_code ReadLimits(const reenact_options& in, Options* out, std::string* why) {
  if (in.ring_bytes != 0) {
    if (in.ring_bytes < kMinRingBytes || in.ring_bytes > kMaxRingBytes) {
      *why = "ring_bytes is " + std::to_string(in.ring_bytes) + ", not between " +
             std::to_string(kMinRingBytes) + " and " + std::to_string(kMaxRingBytes);
      return REENACT_INVALID_ARGUMENT;
    }
    out->log.ring_bytes = in.ring_bytes;
  }
  if (!IsRate(in.run_sample_rate) || !IsRate(in.logprob_rate)) {
    *why = "a sampling rate is not between 0 and 1";
    return REENACT_INVALID_ARGUMENT;
  }
  out->run_sample_rate = in.run_sample_rate == 0 ? 1 : in.run_sample_rate;
  out->logprob_rate = in.logprob_rate;
  if (in.body_budget_bytes != 0) out->log.spill_budget_bytes = in.body_budget_bytes;
  if (in.store_cap_bytes != 0) out->log.retention.max_store_bytes = in.store_cap_bytes;
  if (in.free_floor_bytes != 0) {
    out->log.retention.min_free_bytes = in.free_floor_bytes;
    out->log.retention.min_free_percent = 0;
  }
  out->body_limit_bytes = in.body_limit_bytes;
  return REENACT_OK;
}

}  // namespace

reenact_code ReadMode(const reenact_options* options, Mode* mode, std::string* why) {
  // `*mode` is settled before a word of an error is written: writing may fail for want of memory.
  const std::string_view text = Environment("REENACT_MODE");
  const std::optional<Mode> environment = ParseMode(text);
  const int32_t asked = options == nullptr ? REENACT_MODE_AUTO : options->mode;
  if (!environment) {
    // Whoever set it may have meant replay: then live would be the one thing that must not be.
    *mode = Mode::kReplay;
    *why = "REENACT_MODE is \"" + std::string(text) + "\", not off, record or replay";
    return REENACT_INVALID_ARGUMENT;
  }
  if (*environment == Mode::kReplay || asked == REENACT_MODE_REPLAY) {
    *mode = Mode::kReplay;
  } else if (asked == REENACT_MODE_AUTO) {
    *mode = *environment;
  } else if (asked == REENACT_MODE_OFF || asked == REENACT_MODE_RECORD) {
    *mode = static_cast<Mode>(asked);
  } else {
    *mode = Mode::kOff;
    *why = "mode is " + std::to_string(asked) + ", which is none";
    return REENACT_INVALID_ARGUMENT;
  }
  return REENACT_OK;
}

reenact_code ReadOptions(const reenact_options* options, Mode mode, Options* out,
                         std::string* why) {
  const reenact_options none{};
  const reenact_options& in = options == nullptr ? none : *options;
  out->mode = mode;
  out->service = View(in.service);
  if (out->service.empty()) out->service = program_invocation_short_name;
  out->service_version = View(in.service_version);
  out->disabled_boundaries = in.disabled_boundaries;
  out->require_pinned = in.require_pinned != 0;
  out->warn = in.warn;
  out->wall_clock = in.wall_clock;
  out->user = in.user;
  if (mode == Mode::kReplay) {
    out->replay_socket = View(in.replay_socket);
    if (out->replay_socket.empty()) out->replay_socket = Environment("REENACT_REPLAY_SOCKET");
    if (out->replay_socket.empty()) {
      *why =
          "replay mode without a replayer: neither replay_socket nor REENACT_REPLAY_SOCKET is set";
      return REENACT_UNAVAILABLE;
    }
    return REENACT_OK;
  }
  if (const reenact_code code = ReadLimits(in, out, why); code != REENACT_OK) return code;
  out->log.redaction.enabled = in.keep_secrets == 0;
  if (in.secrets == nullptr && in.secret_count != 0) {
    *why = "secrets is null, and secret_count is " + std::to_string(in.secret_count);
    return REENACT_INVALID_ARGUMENT;
  }
  for (size_t i = 0; i < in.secret_count; ++i) {
    out->log.redaction.secrets.emplace_back(View(in.secrets[i]));
  }
  out->log.store_path = View(in.store);
  if (out->log.store_path.empty()) out->log.store_path = DefaultStore();
  if (out->log.store_path.empty()) {
    *why = "no store: none of the option, REENACT_STORE, XDG_DATA_HOME and HOME is set";
    return REENACT_UNAVAILABLE;
  }
  return REENACT_OK;
}

}  // namespace reenact::recorder
