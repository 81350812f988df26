// The local engine as the target of a rerun, in process: a recorded request goes the way that
// `engine serve` would take it, without the sockets, and the answer has the same bytes.

#ifndef REENACT_TOOLS_ENGINE_SERVER_LOCAL_TARGET_H_
#define REENACT_TOOLS_ENGINE_SERVER_LOCAL_TARGET_H_

#include <functional>
#include <memory>

#include "local_engine/engine.h"
#include "replayer/rerun/target.h"

namespace reenact::engine_server {

struct LocalTargetOptions {
  // Asked now and then from the threads that ask: true ends what is under way.
  std::function<bool()> interrupted;
};

// Chat completions and completions, of whatever model name. Streams are answered whole. Gives
// logprobs, token ids, a fingerprint and forced tokens. In profile "stock" the bits follow what is
// asked at the same time, and an answer holds its schedule where token ids were asked for.
// A request that draws and names no seed draws with seed 0. `ledger` outlives it.
std::unique_ptr<rerun::Target> MakeLocalTarget(std::unique_ptr<local_engine::Engine> engine,
                                               const LocalTargetOptions& options,
                                               rerun::Ledger* ledger);

}  // namespace reenact::engine_server

#endif  // REENACT_TOOLS_ENGINE_SERVER_LOCAL_TARGET_H_
