// Statics that outlive the recorder go on using what they hold: runs, children, and the closed
// handle itself. argv[1]: the store.

#include "reenact/reenact.hpp"

namespace {

void CallOnce(reenact_scope* scope) {
  auto info = reenact_call_info();
  info.struct_size = sizeof(info);
  info.boundary = REENACT_TOOL;
  info.name = {"late", 4};
  reenact_call* call = nullptr;
  if (reenact_call_begin(scope, &info, &call) != REENACT_LIVE) _Exit(9);
  reenact_call_chunk(call, {"x", 1});
  reenact_call_end(call, REENACT_END_COMPLETE, nullptr);
}

struct Late {
  reenact_recorder* stale = nullptr;
  reenact::Run run;

  ~Late() {
    CallOnce(run.handle());
    run.Child("child").Now("late");
    reenact_run_info info{};
    info.struct_size = sizeof(info);
    reenact_scope* scope = nullptr;
    reenact_run_begin(stale, &info, &scope);
    CallOnce(scope);
    reenact_close(stale, 0);
    reenact_run_end(run.handle() == nullptr ? nullptr : scope, REENACT_END_COMPLETE, {}, {});
  }
};

Late g_late;  // Made before the recorder, so destroyed after it.
reenact::Recorder g_recorder;

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  reenact::Options options;
  options.store = argv[1];
  options.close_deadline_ms = 30'000;
  g_recorder = reenact::Recorder(options);
  if (!g_recorder.on()) return 3;
  reenact::RunInfo info;
  info.entry = "main";
  g_late.run = g_recorder.StartRun(info);
  g_late.stale = g_recorder.handle();
  CallOnce(g_late.run.handle());
  return 0;
}
