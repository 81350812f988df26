// Runs as JSON. Bodies of events are left out unless asked for: they can be large, and
// `show --raw` and `export` give them exactly.

#ifndef REENACT_TOOLS_REENACT_RUNS_RUN_JSON_H_
#define REENACT_TOOLS_REENACT_RUNS_RUN_JSON_H_

#include <string_view>

#include "store/reader/store_reader.h"
#include "tools/reenact/io/json_output.h"
#include "tools/reenact/runs/run_view.h"

namespace reenact::tools {

// Each writes one JSON object.
void WriteRunSummary(const store::RunSummary& run, JsonWriter* json);
void WriteRun(const RunView& view, JsonWriter* json);
// With `bodies`, also request, answer, headers and reads.
void WriteEvent(const EventView& event, bool bodies, JsonWriter* json);

// A field with an object: size, marks, and the bytes where asked for.
void WriteBody(std::string_view name, const schema::Body& body, bool bytes, JsonWriter* json);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_RUNS_RUN_JSON_H_
