// `--target`: whom a verb asks, what that may cost, and the keys, which come from the environment.

#ifndef REENACT_TOOLS_REENACT_CAUSES_TARGET_FLAGS_H_
#define REENACT_TOOLS_REENACT_CAUSES_TARGET_FLAGS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

#include "replayer/rerun/target.h"
#include "schema/record.h"
#include "tools/reenact/engine/engine_model.h"
#include "tools/reenact/verb.h"

namespace CLI {
class App;
}

namespace reenact::tools {

struct TargetFlags {
  std::string target;   // "api", "local", or a URL.
  ModelFlags model;     // Of "local".
  std::string ask_for;  // The model's name, instead of the recorded one.
  std::string key_env;  // The variable that holds the key.
  bool token_ids = false;
  std::string timeout = "600s";
  std::optional<int64_t> max_requests;
  std::optional<int64_t> max_tokens;
};

void AddTargetFlags(CLI::App* verb, TargetFlags* flags);

rerun::Budget BudgetOf(const TargetFlags& flags);

// "api" is where `call` was recorded, or its provider's own address where that is not known; null:
// OpenAI's. The key is that of --key-env; else OPENAI_API_KEY or ANTHROPIC_API_KEY, but only to
// their owner's hosts, so that no record can send a key elsewhere. What is under way ends with
// Interruption::Happened. `ledger` outlives it. Errors: InvalidArgument; those of LoadEngine.
absl::StatusOr<std::unique_ptr<rerun::Target>> MakeTarget(const TargetFlags& flags,
                                                          const schema::Event* call,
                                                          const Context& context,
                                                          rerun::Ledger* ledger);

// The fields "target", "abilities" and "cost" of a document, and the line of text.
void WriteTarget(const rerun::Target& target, JsonWriter* json);
void WriteCost(const rerun::Cost& cost, double seconds, JsonWriter* json);
std::string CostText(const rerun::Cost& cost, double seconds);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_CAUSES_TARGET_FLAGS_H_
