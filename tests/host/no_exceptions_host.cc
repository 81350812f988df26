// A C++17 host built with -fno-exceptions -fno-rtti. argv[1]: the store.

#include <string>

#include "reenact/reenact.hpp"
#include "reenact/reenact_curl.hpp"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  reenact::Options options;
  options.store = argv[1];
  options.service = "no-exceptions";
  options.close_deadline_ms = 30'000;
  reenact::Recorder recorder(options);
  if (!recorder.on()) return 3;
  reenact::RunInfo info;
  info.entry = "main";
  info.components = {reenact::Application("host", "1.0")};
  reenact::Run run = recorder.StartRun(info);
  reenact::Scope turn = run.Child("turn-1");
  const reenact::Result tool = turn.CallTool("echo", "ping", [] { return std::string("pong"); });
  reenact::ModelCall call;
  call.provider = "openai";
  call.request = "{}";
  std::string seen;
  const reenact::Result model = turn.CallModel(
      call,
      [](reenact::Sink& sink) {
        sink.Head(200);
        sink.Bytes("hello");
      },
      [&](std::string_view bytes) { seen += bytes; });
  run.Now("today");
  run.Random("draw")();
  run.Finish(model.text());
  return tool.ok() && seen == "hello" ? 0 : 4;
}
