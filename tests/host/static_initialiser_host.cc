// Statics that use the library before main, and before anything was opened: live and harmless. The
// last one opens a recorder, still before main, in the store $REENACT_STORE.

#include <chrono>
#include <string>
#include <string_view>

#include "reenact/reenact.hpp"

namespace {

std::string CallTool(reenact::Seam& seam) {
  return seam.CallTool("early", "{}", [] { return std::string("live"); }).text();
}

// Uses a recorder that was never opened, and one that was not even constructed: a null handle.
struct Early {
  bool live = false;

  explicit Early(reenact::Recorder& recorder) {
    reenact::Run run = recorder.StartRun({});
    reenact::Scope child = run.Child("c");
    const bool called = CallTool(run) == "live" && CallTool(child) == "live";
    const bool read = run.Now("today").time_since_epoch().count() > 0 && !run.WantLogprobs();
    run.Random("draw")();
    run.Tag("a", "b");
    run.AddComponent({});
    run.MarkIncident({});
    run.Sleep(std::chrono::nanoseconds(1));
    run.Finish("done");
    recorder.OnReplay("main", [](std::string_view) {});
    reenact_recorder* const never_opened = nullptr;
    reenact_set_enabled(never_opened, 1);
    live = called && read && !recorder.on() && reenact_flush(never_opened, 0) == REENACT_OK &&
           reenact_close(never_opened, 0) == REENACT_OK;
  }
};

reenact::Recorder& NeverOpened() {
  static reenact::Recorder recorder;
  return recorder;
}

// Before every other static of the program.
__attribute__((init_priority(101))) Early g_first(NeverOpened());
reenact::Recorder g_never_opened;
Early g_early(g_never_opened);

struct Recording {
  reenact::Recorder recorder{reenact::Options()};
  bool recorded = false;

  Recording() {
    reenact::RunInfo info;
    info.entry = "before main";
    reenact::Run run = recorder.StartRun(info);
    recorded = recorder.on() && CallTool(run) == "live";
    run.Finish("done");
  }
};

Recording g_recording;

}  // namespace

int main() {
  if (!g_first.live) return 3;
  if (!g_early.live) return 4;
  if (!g_recording.recorded) return 5;
  return g_recording.recorder.Close(30'000) == REENACT_OK ? 0 : 6;
}
