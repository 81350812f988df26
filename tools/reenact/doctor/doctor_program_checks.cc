// The checks that look at this machine and at recorded programs, not at the store's files.

#include <cstring>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/time/time.h"

#include "replayer/guarded_process.h"
#include "tools/reenact/doctor/doctor_checks.h"
#include "tools/reenact/io/terminal_text.h"
#include "tools/reenact/io/time_text.h"

namespace reenact::tools {
namespace {

constexpr int64_t kDayNs = int64_t{86'400} * 1'000'000'000;
constexpr int64_t kRunsLookedAt = 20;

bool IsKnownVariable(std::string_view name, std::string_view value) {
  if (name == "REENACT_STORE" || name == "REENACT_REPLAY_SOCKET") return true;
  if (name == "REENACT_MODE") return value == "off" || value == "record" || value == "replay";
  return false;
}

// The date as prompts write it: "2026-03-01", "March 1, 2026", "1 March 2026".
bool HoldsDate(std::string_view text, int64_t wall_ns) {
  const absl::Time time = absl::FromUnixNanos(wall_ns);
  for (const char* format : {"%Y-%m-%d", "%B %e, %Y", "%e %B %Y", "%b %e, %Y", "%d.%m.%Y"}) {
    std::string date = absl::FormatTime(format, time, absl::UTCTimeZone());
    absl::RemoveExtraAsciiWhitespace(&date);  // %e pads days below ten with a space.
    if (text.find(date) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

Check CheckNetworkGuard() {
  Check check{.name = "network_guard"};
  replayer::CommandOptions options;
  options.argv = {"/bin/true"};
  auto process = replayer::GuardedProcess::Start(options, false);
  if (!process.ok()) {
    check.health = Health::kFinding;
    check.text = std::string(process.status().message());
    return check;
  }
  if (!(*process)->Wait(10'000)) (*process)->Stop(0);
  const replayer::GuardReport report = (*process)->report();
  if (report.guarded) {
    check.text = "outbound attempts of replayed programs are refused and counted";
    return check;
  }
  check.health = Health::kFinding;
  check.text = "replays run unguarded here (" + report.why_not + "): their level is at most R1";
  check.way_out =
      "allow seccomp user notification: kernel 5.5 or later, no filter against seccomp(2)";
  return check;
}

Check CheckPreload(const ReadVariable& variable) {
  Check check{.name = "preload", .text = "no clock shim is preloaded"};
  const char* preload = variable("LD_PRELOAD");
  if (preload == nullptr || std::strstr(preload, "faketime") == nullptr) return check;
  check.health = Health::kFinding;
  check.text =
      "LD_PRELOAD holds libfaketime: C++ programs that wait on condition variables hang "
      "under it";
  check.way_out = "unset LD_PRELOAD: a replay freezes the clock in the SDK and needs no shim";
  return check;
}

Check CheckEnvironment(const std::vector<std::string>& environment) {
  Check check{.name = "environment", .text = "no unknown REENACT_ variable"};
  std::string unknown;
  for (const std::string& entry : environment) {
    const size_t equals = entry.find('=');
    if (entry.rfind("REENACT_", 0) != 0 || equals == std::string::npos) continue;
    if (IsKnownVariable(std::string_view(entry).substr(0, equals),
                        std::string_view(entry).substr(equals + 1))) {
      continue;
    }
    unknown += (unknown.empty() ? "" : ", ") + entry;
  }
  if (unknown.empty()) return check;
  check.health = Health::kFinding;
  check.text = "set, and not understood: " + unknown;
  check.way_out =
      "there are REENACT_STORE, REENACT_MODE (off, record, replay) and REENACT_REPLAY_SOCKET";
  return check;
}

bool HoldsUnsealedDate(const schema::RecordedRun& run) {
  for (const schema::Event& event : run.events) {
    if (event.boundary == schema::Boundary::kClock) return false;
    if (event.boundary != schema::Boundary::kModel) continue;
    for (const int64_t shift : {int64_t{0}, -kDayNs, kDayNs}) {
      const int64_t day = Elapsed(-shift, run.run.started.wall_ns);
      if (HoldsDate(event.request.bytes, day) && !HoldsDate(run.run.input.bytes, day)) return true;
    }
  }
  return false;
}

Check CheckClockReads(store::StoreReader* reader) {
  Check check{.name = "clock_reads"};
  store::RunFilter newest;
  newest.limit = kRunsLookedAt;
  auto runs = reader->ListRuns(newest);
  if (!runs.ok()) {
    check.health = Health::kNote;
    check.text = "not looked at: " + std::string(runs.status().message());
    return check;
  }
  int64_t unsealed = 0;
  std::string example;
  for (const store::RunSummary& summary : *runs) {
    auto run = reader->LoadRun(summary.id, {.bodies = true});
    if (!run.ok() || !HoldsUnsealedDate(*run)) continue;
    ++unsealed;
    example = schema::ToString(summary.id);
  }
  const auto looked_at = static_cast<int64_t>(runs->size());
  check.text = "no sign of unrecorded clock reads in the newest " + Counted(looked_at, "run");
  if (unsealed == 0) return check;
  check.health = Health::kNote;
  check.text = std::to_string(unsealed) + " of the newest " + Counted(looked_at, "run") +
               " put the date into a prompt and recorded no clock reading before it, such as " +
               example + ": a replay on another day will differ there";
  check.way_out = "read the time with Run::Now (reenact_now)";
  return check;
}

}  // namespace reenact::tools
