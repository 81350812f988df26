// The verbs of `reenact engine`, one file each.

#ifndef REENACT_TOOLS_REENACT_ENGINE_ENGINE_H_
#define REENACT_TOOLS_REENACT_ENGINE_ENGINE_H_

#include "tools/reenact/verb.h"

namespace reenact::tools {

void AddEngineGenerate(CLI::App* group, Context* context);
void AddEngineScore(CLI::App* group, Context* context);
void AddEngineServe(CLI::App* group, Context* context);
void AddEngineCheck(CLI::App* group, Context* context);
void AddEngineBench(CLI::App* group, Context* context);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_ENGINE_ENGINE_H_
