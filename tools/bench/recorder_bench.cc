// What recording costs the caller: events of 2 kB (a tool call with a 1 kB request and a 1 kB
// answer) at a steady rate, each measured from the beginning of reenact_call_begin to the end of
// reenact_call_end, and the cost of a call site that is switched off.
//
//   recorder_bench --store DIR [--seconds N] [--rate EVENTS_PER_SECOND] [--threads N]
//                  [--disturb none|fsync|freeze] [--json]
//
// fsync: another thread writes and syncs on the same file system as fast as it can.
// freeze: the file system is frozen (FIFREEZE; needs root and a mount of its own) for half of each
// second, except for the last two seconds.
// Exit code 3 when events were dropped: such a run is no result.

#include <fcntl.h>
#include <linux/fs.h>
#include <reenact/reenact.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

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
  uint64_t refused = 0;
};

void Load(reenact_recorder* recorder, const Settings& settings, int thread, Samples* samples) {
  reenact_run_info info{};
  info.struct_size = sizeof info;
  info.entry = Bytes("bench");
  reenact_scope* run = nullptr;
  reenact_run_begin(recorder, &info, &run);
  std::vector<std::string> requests;
  std::vector<std::string> answers;
  for (uint64_t i = 0; i < 256; ++i) {
    requests.push_back(SomeJson(1024, i * 977 + static_cast<uint64_t>(thread)));
    answers.push_back(SomeJson(1024, i * 1013 + 7));
  }
  const auto interval_ns = static_cast<int64_t>(1e9 * settings.threads / settings.rate);
  const int64_t begin_ns = NowNs();
  const int64_t end_ns = begin_ns + static_cast<int64_t>(settings.seconds * 1e9);
  int64_t next_ns = begin_ns;
  for (size_t i = 0; next_ns < end_ns; ++i, next_ns += interval_ns) {
    while (NowNs() < next_ns) {
    }
    const int64_t before_ns = NowNs();
    if (!RecordEvent(run, requests[i % 256], answers[(i * 7) % 256])) ++samples->refused;
    samples->ns.push_back(
        static_cast<uint32_t>(std::min<int64_t>(NowNs() - before_ns, UINT32_MAX)));
  }
  reenact_run_end(run, REENACT_END_COMPLETE, Bytes(""), Bytes(""));
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

void FsyncStorm(const std::string& folder, const std::atomic<bool>& stop) {
  const std::string path = folder + "/storm";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  const std::vector<char> block(1 << 20, 'x');
  for (int i = 0; file >= 0 && !stop; ++i) {
    if (pwrite(file, block.data(), block.size(), static_cast<off_t>(i % 64) << 20) < 0) break;
    if (i % 4 == 3) fsync(file);
  }
  if (file >= 0) close(file);
  unlink(path.c_str());
}

bool FreezeInTurns(const std::string& folder, double seconds, const std::atomic<bool>& stop) {
  const int mount = open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  if (mount < 0) return false;
  const int64_t end_ns = NowNs() + static_cast<int64_t>((seconds - 2) * 1e9);
  bool worked = true;
  while (worked && !stop && NowNs() < end_ns) {
    worked = ioctl(mount, FIFREEZE, 0) == 0;
    if (!worked) break;
    usleep(500'000);
    ioctl(mount, FITHAW, 0);
    usleep(500'000);
  }
  close(mount);
  return worked;
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
    } else if (name == "--disturb") {
      settings->disturb = value;
    } else {
      return false;
    }
  }
  return !settings->store.empty() && settings->seconds > 0 && settings->rate > 0 &&
         settings->threads > 0;
}

void Print(const Settings& settings, const Samples& all, const reenact_metrics& metrics,
           double disabled_ns) {
  const uint64_t dropped = metrics.dropped_ring_full + metrics.dropped_disk_full +
                           metrics.dropped_oversize + metrics.dropped_store_error +
                           metrics.dropped_memory + metrics.lost;
  const char* form =
      settings.json
          ? "{\"disturb\":\"%s\",\"events\":%zu,\"per_second\":%.0f,\"dropped\":%" PRIu64
            ",\"p50_us\":%.3f,\"p99_us\":%.3f,\"p999_us\":%.3f,\"max_us\":%.1f,"
            "\"ring_high_water_mib\":%.2f,\"max_commit_ms\":%.1f,\"disabled_call_site_ns\":%.2f}\n"
          : "disturb %-6s  %zu events, %.0f/s, dropped %" PRIu64
            "\n  caller, us: p50 %.3f  p99 %.3f  p99.9 %.3f  max %.1f\n"
            "  ring high water %.2f MiB, longest commit %.1f ms\n"
            "  disabled call site %.2f ns\n";
  std::printf(form, settings.disturb.c_str(), all.ns.size(),
              static_cast<double>(all.ns.size()) / settings.seconds, dropped,
              AtPercentile(all.ns, 50) / 1e3, AtPercentile(all.ns, 99) / 1e3,
              AtPercentile(all.ns, 99.9) / 1e3, all.ns.empty() ? 0.0 : all.ns.back() / 1e3,
              static_cast<double>(metrics.ring_high_water_bytes) / (1 << 20),
              static_cast<double>(metrics.max_commit_ns) / 1e6, disabled_ns);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  if (!ParseSettings(argc, argv, &settings)) {
    std::fprintf(stderr,
                 "usage: recorder_bench --store DIR [--seconds N] [--rate R] [--threads N]\n"
                 "                      [--disturb none|fsync|freeze] [--json]\n");
    return 2;
  }
  reenact_options options{};
  options.struct_size = sizeof options;
  options.store = Bytes(settings.store);
  options.service = Bytes("bench");
  options.mode = REENACT_MODE_RECORD;
  options.free_floor_bytes = 64 << 20;
  reenact_recorder* recorder = nullptr;
  if (reenact_open(&options, &recorder) != REENACT_OK) {
    char why[512];
    reenact_error(nullptr, why, sizeof why);
    std::fprintf(stderr, "recorder_bench: %s\n", why);
    return 2;
  }
  const double disabled_ns = DisabledCallSiteNs();

  std::atomic<bool> stop{false};
  std::atomic<bool> disturbed{true};
  std::thread disturbance([&] {
    if (settings.disturb == "fsync") FsyncStorm(settings.store, stop);
    if (settings.disturb == "freeze") {
      disturbed = FreezeInTurns(settings.store, settings.seconds, stop);
    }
  });
  std::vector<Samples> samples(static_cast<size_t>(settings.threads));
  std::vector<std::thread> threads;
  for (int i = 0; i < settings.threads; ++i) {
    samples[i].ns.reserve(static_cast<size_t>(settings.rate * settings.seconds) + 16);
    threads.emplace_back(Load, recorder, std::cref(settings), i, &samples[i]);
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  disturbance.join();
  if (!disturbed) {
    std::fprintf(stderr,
                 "recorder_bench: %s cannot be frozen (needs root and a mount of its own)\n",
                 settings.store.c_str());
    return 3;
  }
  const bool flushed = reenact_flush(recorder, 30'000) == REENACT_OK;
  reenact_metrics metrics{};
  metrics.struct_size = sizeof metrics;
  reenact_get_metrics(recorder, &metrics);
  reenact_close(recorder, 30'000);

  Samples all;
  for (const Samples& one : samples) {
    all.ns.insert(all.ns.end(), one.ns.begin(), one.ns.end());
    all.refused += one.refused;
  }
  std::sort(all.ns.begin(), all.ns.end());
  Print(settings, all, metrics, disabled_ns);
  if (all.refused != 0 || !flushed || metrics.stored != metrics.accepted) {
    std::fprintf(stderr, "recorder_bench: %" PRIu64 " events refused, flushed %d: no result\n",
                 all.refused, flushed);
    return 3;
  }
  return 0;
}
