// A run as text: what an engineer reads at 2 a.m. Pure functions; all recorded text is made
// printable.

#ifndef REENACT_TOOLS_REENACT_RUNS_RUN_TEXT_H_
#define REENACT_TOOLS_REENACT_RUNS_RUN_TEXT_H_

#include <string>
#include <vector>

#include "store/reader/store_reader.h"
#include "tools/reenact/io/terminal_text.h"
#include "tools/reenact/runs/run_view.h"

namespace reenact::tools {

inline constexpr size_t kTextWidth = 100;

// Header, what stands out, and one entry an event, in order of beginning.
std::string RenderRun(const RunView& view, const Style& style);

// One event whole: request, answer, headers, and each read with its time.
std::string RenderEvent(const RunView& view, const EventView& event, const Style& style);

// One line a run, newest last, at most kTextWidth columns.
std::string RenderRunList(const std::vector<store::RunSummary>& runs, const Style& style);

// The clock reading, the seed, or yes and no, of an event that is a reading.
std::string ReadingText(const schema::Event& event);
// "gpt-4o -> gpt-4o-2024-08-06"; one name where both are equal; "unknown" where none was named.
std::string AskedAndServed(const schema::ModelView& model);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_RUNS_RUN_TEXT_H_
