#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "local_engine/cpu/isa.h"
#include "local_engine/engine/invariance_rows.h"
#include "local_engine/engine/invariance_trial.h"

namespace reenact::local_engine {
namespace {

// What a device could do otherwise: batches, long prompts over several splits of attention, decode.
Requests RequestsForDevices(const Trial& trial) {
  Requests requests = trial.Mixed(4);
  requests.push_back(trial.Greedy(trial.Text(60, 7 * trial.settings().prompt_tokens)));
  return requests;
}

}  // namespace

void TryThreads(Trial* trial) {
  const Requests requests = RequestsForDevices(*trial);
  const Answers expected = trial->RunAlone(requests);
  std::string counts;
  for (int32_t threads : trial->settings().thread_counts) {
    const std::unique_ptr<Engine> engine = trial->NewEngineOfBackend({.threads = threads});
    if (engine == nullptr) return;
    trial->Compare(expected, trial->RunTogether(engine.get(), requests),
                   std::to_string(threads) + " threads");
    counts += (counts.empty() ? "" : ", ") + std::to_string(threads);
  }
  trial->Prove(!counts.empty(), counts + " threads");
}

void TryIsa(Trial* trial) {
  std::vector<std::string> names = trial->settings().isas;
  if (names.empty()) {
    for (Isa isa : AvailableIsas()) names.emplace_back(IsaName(isa));
  }
  const Requests requests = RequestsForDevices(*trial);
  const Answers expected = trial->RunAlone(requests);
  std::string tried;
  for (const std::string& isa : names) {
    // In place, too: other kernels multiply weights where they lie.
    for (bool mmap : {false, true}) {
      const std::unique_ptr<Engine> engine = trial->NewEngineOfBackend({.isa = isa, .mmap = mmap});
      if (engine == nullptr) return;
      trial->Compare(expected, trial->RunTogether(engine.get(), requests),
                     isa + (mmap ? ", weights in place" : ""));
    }
    tried += (tried.empty() ? "" : ", ") + isa;
  }
  trial->Prove(!names.empty(), tried + "; weights packed and in place");
}

void TryDevice(Trial* trial) {
  const std::unique_ptr<Engine> first = trial->NewEngine(Trial::Plain());
  if (first == nullptr) return;
  std::string tried = first->device().name;
  const Requests requests = RequestsForDevices(*trial);
  const Answers expected = trial->RunAlone(requests);
  bool others = false;
  for (const BackendKind backend : trial->settings().other_backends) {
    const std::unique_ptr<Engine> engine = trial->NewEngineOfBackend({.backend = backend});
    if (engine == nullptr) return;
    const std::string& name = engine->device().name;
    trial->Compare(expected, trial->RunTogether(engine.get(), requests), name);
    others |= engine->device().backend != first->device().backend;
    tried += ", " + name;
  }
  trial->Prove(others, tried);
}

}  // namespace reenact::local_engine
