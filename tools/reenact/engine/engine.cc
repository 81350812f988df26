#include "tools/reenact/engine/engine.h"

#include <CLI/CLI.hpp>

#include "tools/reenact/verb.h"

namespace reenact::tools {

void AddEngineVerb(CLI::App* app, Context* context) {
  CLI::App* group = app->add_subcommand(
      "engine", "Open-weight models on this machine: the same bits, whatever else is running");
  group->require_subcommand(1);
  group->footer("Example:\n  reenact engine generate --model models/qwen3-0.6b --prompt 'Once'");
  AddEngineGenerate(group, context);
  AddEngineScore(group, context);
  AddEngineServe(group, context);
  AddEngineCheck(group, context);
  AddEngineBench(group, context);
}

}  // namespace reenact::tools
