// What may have made one run answer otherwise than another: each thing in which their records
// differ, with the two values as the proof that it changed. That a thing changed does not say that
// it changed the answer: that is for an experiment to find.

#ifndef REENACT_REPLAYER_EXPLAIN_VARIABLE_H_
#define REENACT_REPLAYER_EXPLAIN_VARIABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schema/record.h"

namespace reenact::explain {

enum class VariableKind : uint8_t {
  kInput,          // What started the run.
  kClock,          // One name that the clock was read under, or the clock of a recorded command.
  kRandom,         // A seed that the program drew.
  kEnvironment,    // A switch that the program asked for.
  kToolAnswer,     // The answers of one tool to equal requests.
  kRetrieval,      // The same of one retrieval.
  kComponent,      // Prompt template, tool schema, guardrail...
  kMessage,        // A part of the request, where no program can say what it is made of.
  kRequestMember,  // A setting of the model call: temperature, max_tokens.
  kSamplingSeed,   // Its seed.
  kAskedModel,     // The name that it asks for.
  kServedModel,    // The model that an equal name came to: the alias moved.
  kBackend,        // Who served it: the epoch of the fingerprint.
  kServiceTier,    // The tier that it was served with.
  kNumerics,       // Weights, precision, profile or version of our own engine.
  kCache,          // Tokens that came from the prefix cache.
  kLoad,           // What ran beside it.
  kOwnCode,        // The commit or the version of the program.
};
// "clock", "tool answer", "alias moved": the label of a cause.
std::string_view ToString(VariableKind kind);

// Whether the record proves that the value differs.
enum class Changed : uint8_t {
  kProved,
  kPossible,  // One side does not tell: no proof.
};

struct Variable {
  VariableKind kind = VariableKind::kInput;
  std::string name;      // "today", "lookup_order", "prompt_template refund"; empty: only one.
  std::string incident;  // The two values, or what is known of them.
  std::string reference;
  Changed changed = Changed::kProved;

  bool operator==(const Variable&) const = default;
};

// "clock today", "tool answer lookup_order"
std::string NameOf(const Variable& variable);

// Whether a fingerprint is one of our own engine: it names weights, precision and profile.
bool IsOwnEngine(std::string_view fingerprint);

// The model calls whose answers are to be explained.
struct DecisiveCalls {
  size_t incident = 0;  // Indexes of events.
  size_t reference = 0;
  size_t ordinal = 0;  // So many model calls came before, in both runs.
};

// What the two runs differ in, as far as it was there before the answers to the decisive calls:
// what came later cannot be their cause. `parts`: parts of their requests too, since there is no
// program that would make them anew. Each name once; in the order of VariableKind, then by name.
std::vector<Variable> DifferencesOf(const schema::RecordedRun& incident,
                                    const schema::RecordedRun& reference,
                                    const DecisiveCalls& calls, bool parts);

}  // namespace reenact::explain

#endif  // REENACT_REPLAYER_EXPLAIN_VARIABLE_H_
