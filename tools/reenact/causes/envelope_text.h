// What load reaches of a recorded call: for a reader, and as JSON.

#ifndef REENACT_TOOLS_REENACT_CAUSES_ENVELOPE_TEXT_H_
#define REENACT_TOOLS_REENACT_CAUSES_ENVELOPE_TEXT_H_

#include <cstddef>
#include <optional>
#include <string>

#include "replayer/explain/envelope.h"
#include "tools/reenact/io/json_output.h"
#include "tools/reenact/io/terminal_text.h"

namespace reenact::tools {

// What became of the call.
struct EnvelopeReport {
  std::string run;
  size_t event = 0;
  std::string fingerprint;
  explain::Envelope envelope;
  std::optional<size_t> recorded;  // Index of the reached answer that is the recorded one.
  std::optional<size_t> n1;
  std::string n1_text;
  bool n1_is_recorded = false;
  bool has_schedule = false;         // The record tells its own,
  bool schedule_reproduces = false;  // which gives the recorded answer.
  bool draws = false;
};

// Sentence, what was measured, and the answers.
std::string RenderEnvelope(const EnvelopeReport& report, const Style& style);

// The fields "sentence" to "answers" of a document that is open.
void WriteEnvelope(const EnvelopeReport& report, JsonWriter* json);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_CAUSES_ENVELOPE_TEXT_H_
