// What free runs of a conversation came to: for a reader, and as JSON.

#ifndef REENACT_TOOLS_REENACT_CAUSES_FREE_RUN_TEXT_H_
#define REENACT_TOOLS_REENACT_CAUSES_FREE_RUN_TEXT_H_

#include <string>

#include "replayer/rerun/free_run.h"
#include "replayer/rerun/target.h"
#include "tools/reenact/io/json_output.h"
#include "tools/reenact/io/terminal_text.h"

namespace reenact::tools {

// The verdict in one sentence.
std::string FreeSentence(const rerun::FreeReport& report);

// Sentence, the conversation, the runs by what they did, and the calls they share with the record.
std::string RenderFree(const std::string& run_id, const rerun::Target& target,
                       const rerun::FreeReport& report, const Style& style);

// The fields "verdict" to "calls" of a document that is open.
void WriteFree(const rerun::FreeReport& report, JsonWriter* json);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_CAUSES_FREE_RUN_TEXT_H_
