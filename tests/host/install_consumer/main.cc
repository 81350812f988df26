#include <reenact/reenact.hpp>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  reenact::Options options;
  options.store = argv[1];
  reenact::Recorder recorder(options);
  if (!recorder.on()) return 3;
  reenact::RunInfo info;
  info.entry = "main";
  reenact::Run run = recorder.StartRun(info);
  run.CallTool("echo", argc > 2 ? argv[2] : "ping", [] { return "pong"; });
  run.Finish();
  return recorder.Close(30'000) == REENACT_OK ? 0 : 4;
}
