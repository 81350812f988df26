// What recording costs the caller: events of 2 kB (a tool call with a 1 kB request and a 1 kB
// answer) at a steady rate, each measured from the beginning of reenact_call_begin to the end of
// reenact_call_end, and the cost of a call site that is switched off.
//
//   recorder_bench --store DIR [--seconds N] [--rate EVENTS_PER_SECOND] [--threads N]
//                  [--ring-mib N] [--buffers cold|warm] [--disturb none|fsync|freeze|full] [--json]
//
// Buffers are cold (256 of each kind, used in turns: by the time one is used again, its bytes have
// left the processor's cache) or warm (written just before, as by a host that has just built its
// request). Beside the result stands the floor: what the two clock reads of the measurement and two
// memcpy of 1 kB cost in the same thread, in the same moments, between as cold or as warm buffers.
//
// Exit code 3 when events were dropped: such a run is no result. Except with a full disk, where
// they have to be dropped: what is measured then is the caller, dropped events included.

#include <reenact/reenact.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tools/bench/disturbance.h"

namespace {

constexpr size_t kBodySize = 1024;
constexpr size_t kBufferCount = 256;
// One floor for so many events. Its buffers are fewer by as much, so that they are as cold.
constexpr size_t kFloorInterval = 16;

int64_t NowNs() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

reenact_bytes Bytes(std::string_view text) {
  return {text.data(), text.size()};
}

struct Settings {
  std::string store;
  double seconds = 5;
  double rate = 20'000;
  int threads = 1;
  int ring_mib = 0;  // 0: the recorder's default.
  bool warm = false;
  std::string disturb = "none";
  bool json = false;
};

// JSON of `size` bytes as agents send it: words, numbers and keys, different for every event.
std::string SomeJson(size_t size, uint64_t seed) {
  static constexpr const char* kWords[] = {"order",  "refund", "customer", "delivered", "damaged",
                                           "amount", "policy", "within",   "days",      "please"};
  std::string text = R"({"order_id":)" + std::to_string(seed) + R"(,"note":")";
  while (text.size() + 2 < size) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    text += kWords[(seed >> 33) % 10];
    text += (seed >> 40) % 7 == 0 ? ", " : " ";
  }
  text.resize(size - 2);
  return text + "\"}";
}

// One event, as a host records it. Returns false when it was not acknowledged.
bool RecordEvent(reenact_scope* scope, std::string_view request, std::string_view answer) {
  reenact_call_info info{};
  info.struct_size = sizeof info;
  info.boundary = REENACT_TOOL;
  info.name = Bytes("lookup_order");
  info.request = Bytes(request);
  reenact_call* call = nullptr;
  reenact_call_begin(scope, &info, &call);
  const reenact_code taken = reenact_call_chunk(call, Bytes(answer));
  const reenact_code ended = reenact_call_end(call, REENACT_END_COMPLETE, nullptr);
  return taken == REENACT_OK && ended == REENACT_OK;
}

struct Samples {
  std::vector<uint32_t> ns;
  std::vector<uint32_t> floor_ns;
  uint64_t refused = 0;
};

// The bodies of one thread's calls.
class Bodies {
 public:
  Bodies(size_t count, uint64_t seed, bool warm) : warm_(warm) {
    for (uint64_t i = 0; i < count; ++i) {
      requests_.push_back(SomeJson(kBodySize, i * 977 + seed));
      answers_.push_back(SomeJson(kBodySize, i * 1013 + 7 + seed));
    }
  }

  std::string_view Request(size_t i) { return Given(requests_[i % requests_.size()], &request_); }

  std::string_view Answer(size_t i) { return Given(answers_[i * 7 % answers_.size()], &answer_); }

 private:
  std::string_view Given(const std::string& body, std::string* written) const {
    if (!warm_) return body;
    return written->assign(body);
  }

  const bool warm_;
  std::vector<std::string> requests_;
  std::vector<std::string> answers_;
  std::string request_;
  std::string answer_;
};

uint32_t ElapsedNs(int64_t since_ns) {
  return static_cast<uint32_t>(std::min<int64_t>(NowNs() - since_ns, UINT32_MAX));
}

// Both bodies copied once, and the two clock reads.
uint32_t FloorNs(Bodies* bodies, size_t i, std::vector<char>* memory) {
  const std::string_view request = bodies->Request(i);
  const std::string_view answer = bodies->Answer(i);
  char* const out = memory->data() + i * 2 * kBodySize % memory->size();
  const int64_t before_ns = NowNs();
  std::memcpy(out, request.data(), kBodySize);
  std::memcpy(out + kBodySize, answer.data(), kBodySize);
  return ElapsedNs(before_ns);
}

void WaitUntil(int64_t time_ns) {
  while (NowNs() < time_ns) {
  }
}

void Load(reenact_recorder* recorder, const Settings& settings, int thread, Samples* samples) {
  reenact_run_info info{};
  info.struct_size = sizeof info;
  info.entry = Bytes("bench");
  reenact_scope* run = nullptr;
  reenact_run_begin(recorder, &info, &run);
  Bodies bodies(kBufferCount, static_cast<uint64_t>(thread), settings.warm);
  constexpr size_t kFloorCount = kBufferCount / kFloorInterval;
  Bodies floor_bodies(kFloorCount, 31, settings.warm);
  std::vector<char> floor_memory(kFloorCount * 2 * kBodySize);
  const auto interval_ns = static_cast<int64_t>(1e9 * settings.threads / settings.rate);
  int64_t next_ns = NowNs();
  const int64_t end_ns = next_ns + static_cast<int64_t>(settings.seconds * 1e9);
  for (size_t i = 0; next_ns < end_ns; ++i, next_ns += interval_ns) {
    WaitUntil(next_ns);
    const std::string_view request = bodies.Request(i);
    const std::string_view answer = bodies.Answer(i);
    const int64_t before_ns = NowNs();
    if (!RecordEvent(run, request, answer)) ++samples->refused;
    samples->ns.push_back(ElapsedNs(before_ns));
    if (i % kFloorInterval != 0) continue;
    WaitUntil(next_ns + interval_ns / 2);
    samples->floor_ns.push_back(FloorNs(&floor_bodies, i / kFloorInterval, &floor_memory));
  }
  reenact_run_end(run, REENACT_END_COMPLETE, Bytes(""), Bytes(""));
}

// Nanoseconds of one clock read, of which every measurement holds one: the second half of the first
// read, and the first half of the second.
double ClockReadNs() {
  constexpr int kRounds = 200'000;
  const int64_t before_ns = NowNs();
  for (int i = 1; i < kRounds; ++i) NowNs();
  return static_cast<double>(NowNs() - before_ns) / kRounds;
}

// Nanoseconds of a call site whose recorder is off: call_begin, chunk and call_end, divided by
// three.
double DisabledCallSiteNs() {
  constexpr int kRounds = 2'000'000;
  reenact_call_info info{};
  info.struct_size = sizeof info;
  const int64_t before_ns = NowNs();
  for (int i = 0; i < kRounds; ++i) {
    reenact_call* call = nullptr;
    if (reenact_call_begin(nullptr, &info, &call) != REENACT_LIVE) std::abort();
    reenact_call_chunk(call, Bytes(""));
    reenact_call_end(call, REENACT_END_COMPLETE, nullptr);
  }
  return static_cast<double>(NowNs() - before_ns) / kRounds / 3;
}

double AtPercentile(const std::vector<uint32_t>& sorted, double percentile) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<size_t>(percentile / 100 * static_cast<double>(sorted.size() - 1))];
}

bool ParseSettings(int argc, char** argv, Settings* settings) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--json") {
      settings->json = true;
      continue;
    }
    if (i + 1 == argc) return false;
    const char* value = argv[++i];
    if (name == "--store") {
      settings->store = value;
    } else if (name == "--seconds") {
      settings->seconds = std::atof(value);
    } else if (name == "--rate") {
      settings->rate = std::atof(value);
    } else if (name == "--threads") {
      settings->threads = std::atoi(value);
    } else if (name == "--ring-mib") {
      settings->ring_mib = std::atoi(value);
    } else if (name == "--buffers") {
      settings->warm = value == std::string_view("warm");
      if (!settings->warm && value != std::string_view("cold")) return false;
    } else if (name == "--disturb") {
      settings->disturb = value;
      if (!reenact::bench::Disturbance::IsKnown(value)) return false;
    } else {
      return false;
    }
  }
  return !settings->store.empty() && settings->seconds > 0 && settings->rate > 0 &&
         settings->threads > 0;
}

struct Result {
  Samples samples;  // Sorted.
  reenact_metrics metrics{};
  double disabled_ns = 0;
  double clock_ns = 0;
  bool flushed = false;
};

uint64_t Dropped(const reenact_metrics& metrics) {
  return metrics.dropped_ring_full + metrics.dropped_disk_full + metrics.dropped_oversize +
         metrics.dropped_store_error + metrics.dropped_memory + metrics.lost;
}

void Print(const Settings& settings, const Result& result) {
  const Samples& all = result.samples;
  const char* form =
      settings.json
          ? "{\"disturb\":\"%s\",\"buffers\":\"%s\",\"events\":%zu,\"per_second\":%.0f,"
            "\"refused\":%" PRIu64 ",\"dropped_records\":%" PRIu64
            ",\"p50_us\":%.3f,\"p99_us\":%.3f,\"p999_us\":%.3f,\"max_us\":%.1f,"
            "\"floor_p50_us\":%.3f,\"floor_p99_us\":%.3f,\"clock_read_ns\":%.1f,"
            "\"ring_high_water_mib\":%.2f,\"max_commit_ms\":%.1f,\"disabled_call_site_ns\":%.2f}\n"
          : "disturb %s, buffers %s: %zu events, %.0f/s, refused %" PRIu64
            ", dropped records %" PRIu64
            "\n  caller, us: p50 %.3f  p99 %.3f  p99.9 %.3f  max %.1f\n"
            "  floor, us:  p50 %.3f  p99 %.3f (two copies of 1 kB; one clock read of %.1f ns)\n"
            "  ring high water %.2f MiB, longest commit %.1f ms\n"
            "  disabled call site %.2f ns\n";
  std::printf(form, settings.disturb.c_str(), settings.warm ? "warm" : "cold", all.ns.size(),
              static_cast<double>(all.ns.size()) / settings.seconds, all.refused,
              Dropped(result.metrics), AtPercentile(all.ns, 50) / 1e3,
              AtPercentile(all.ns, 99) / 1e3, AtPercentile(all.ns, 99.9) / 1e3,
              all.ns.empty() ? 0.0 : all.ns.back() / 1e3, AtPercentile(all.floor_ns, 50) / 1e3,
              AtPercentile(all.floor_ns, 99) / 1e3, result.clock_ns,
              static_cast<double>(result.metrics.ring_high_water_bytes) / (1 << 20),
              static_cast<double>(result.metrics.max_commit_ns) / 1e6, result.disabled_ns);
}

reenact_recorder* Open(const Settings& settings) {
  reenact_options options{};
  options.struct_size = sizeof options;
  options.store = Bytes(settings.store);
  options.service = Bytes("bench");
  options.mode = REENACT_MODE_RECORD;
  options.ring_bytes = static_cast<uint64_t>(settings.ring_mib) << 20;
  // Full is when the disk says so, not when its last bytes are spared.
  options.free_floor_bytes = settings.disturb == "full" ? 1 : 64 << 20;
  reenact_recorder* recorder = nullptr;
  if (reenact_open(&options, &recorder) != REENACT_OK) {
    char why[512];
    reenact_error(nullptr, why, sizeof why);
    std::fprintf(stderr, "recorder_bench: %s\n", why);
    return nullptr;
  }
  return recorder;
}

// False: the disturbance could not be made.
bool Measure(reenact_recorder* recorder, const Settings& settings, Samples* all) {
  reenact::bench::Disturbance disturbance(settings.disturb, settings.store, settings.seconds);
  std::vector<Samples> samples(static_cast<size_t>(settings.threads));
  std::vector<std::thread> threads;
  for (int i = 0; i < settings.threads; ++i) {
    const auto expected = static_cast<size_t>(settings.rate * settings.seconds) + 16;
    samples[i].ns.reserve(expected);
    samples[i].floor_ns.reserve(expected / kFloorInterval + 1);
    threads.emplace_back(Load, recorder, std::cref(settings), i, &samples[i]);
  }
  for (std::thread& thread : threads) thread.join();
  for (const Samples& one : samples) {
    all->ns.insert(all->ns.end(), one.ns.begin(), one.ns.end());
    all->floor_ns.insert(all->floor_ns.end(), one.floor_ns.begin(), one.floor_ns.end());
    all->refused += one.refused;
  }
  std::sort(all->ns.begin(), all->ns.end());
  std::sort(all->floor_ns.begin(), all->floor_ns.end());
  return disturbance.Stop();
}

// Whether the run says what it was made to say.
bool IsResult(const Settings& settings, const Result& result) {
  if (!result.flushed || result.metrics.stored != result.metrics.accepted) return false;
  return (result.samples.refused != 0) == (settings.disturb == "full");
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  if (!ParseSettings(argc, argv, &settings)) {
    std::fprintf(stderr,
                 "usage: recorder_bench --store DIR [--seconds N] [--rate R] [--threads N]\n"
                 "                      [--ring-mib N] [--buffers cold|warm]\n"
                 "                      [--disturb %s] [--json]\n",
                 std::string(reenact::bench::kDisturbances).c_str());
    return 2;
  }
  reenact_recorder* const recorder = Open(settings);
  if (recorder == nullptr) return 2;
  Result result;
  result.clock_ns = ClockReadNs();
  result.disabled_ns = DisabledCallSiteNs();
  if (!Measure(recorder, settings, &result.samples)) {
    std::fprintf(stderr, "recorder_bench: %s cannot be disturbed so (root? a mount of its own?)\n",
                 settings.store.c_str());
    return 3;
  }
  result.flushed = reenact_flush(recorder, 30'000) == REENACT_OK;
  result.metrics.struct_size = sizeof result.metrics;
  reenact_get_metrics(recorder, &result.metrics);
  reenact_close(recorder, 30'000);
  Print(settings, result);
  if (!IsResult(settings, result)) {
    std::fprintf(stderr, "recorder_bench: %" PRIu64 " events refused, flushed %d: no result\n",
                 result.samples.refused, result.flushed);
    return 3;
  }
  return 0;
}
