// The places where a re-execution differs from its tape, each with its kind.

#ifndef REENACT_REPLAYER_DIVERGENCE_H_
#define REENACT_REPLAYER_DIVERGENCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/canonical_json.h"
#include "schema/record.h"

namespace reenact::replayer {

enum class DivergenceKind : uint8_t {
  kNovelCall,     // A call whose address or request is not on the tape.
  kExhausted,     // Its request is, but every record of it has been used.
  kOmittedCall,   // A record that the program never asked for.
  kNovelReading,  // Clock, random, env: a name that was never read there, or read once more.
  kOmittedReading,
  kNovelRun,   // A run that is not the incident's: refused.
  kNoRun,      // The incident's run never began.
  kAmbiguous,  // Unequal records answer equally well: an error in the tape, ids listed.
  kUnusable,   // The record exists and must not be served: cut, damaged, incomplete.
  kComponent,  // A component has another version or content than recorded.
  kOutput,     // Same inputs, another outcome: unrecorded nondeterminism.
  kNotRead,    // The program stopped reading an answer earlier (or later) than when recorded.
  kNetwork,    // An outbound attempt was refused by the guard.
  kProcess,    // The program crashed or had to be stopped.
};

std::string_view ToString(DivergenceKind kind);  // "novel_call"

struct Divergence {
  DivergenceKind kind = DivergenceKind::kNovelCall;
  // The address of a call or a reading. `name` is empty, and the rest means nothing, for the kinds
  // that have none: runs, components, output, network, process.
  std::string scope;
  schema::Boundary boundary = schema::Boundary::kModel;
  std::string name;
  int64_t ordinal = 0;            // Which call or reading of this address, from 0.
  std::string key;                // The computed key, shortened.
  std::optional<size_t> closest;  // The event it should be compared with, see Tape::IndexOf.
  std::vector<schema::JsonDifference> differences;  // Closest record against the attempt.
  std::vector<size_t> candidates;                   // kAmbiguous: the events.
  // What is wrong, in words, without the address and the paths. Holds no secret, as nothing here.
  std::string summary;
};

// One paragraph for a person who sees nothing else: the address, the summary, the paths.
std::string MessageOf(const Divergence& divergence);

// What stands before the paths: "2 paths differ", "the only difference is a date or time". Empty
// when there are none.
std::string CountDifferences(const std::vector<schema::JsonDifference>& differences);

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_DIVERGENCE_H_
