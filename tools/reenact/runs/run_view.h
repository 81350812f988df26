// A recorded run together with what its model calls say: computed once, read by the timeline, the
// JSON, the diff and the list of concerns. Pure.

#ifndef REENACT_TOOLS_REENACT_RUNS_RUN_VIEW_H_
#define REENACT_TOOLS_REENACT_RUNS_RUN_VIEW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schema/model_view.h"
#include "schema/record.h"

namespace reenact::tools {

struct EventView {
  const schema::Event* event = nullptr;
  int64_t index = 0;        // In the run, from 0: what people and commands call the event.
  schema::ModelView model;  // Model calls only.
  std::vector<schema::NearTie> near_ties;
  int64_t tokens_without_alternatives = 0;  // Of `near_ties`: unknown, not certain.
  // As it must be reported: for model calls corrected by what the bytes say.
  schema::EndState end_state = schema::EndState::kIncomplete;
  std::string end_detail;
  bool running = false;  // The run goes on, and this has not ended.

  bool is_model() const { return event->boundary == schema::Boundary::kModel; }

  // Model, tool and retrieval calls; the rest are readings.
  bool is_call() const { return event->boundary <= schema::Boundary::kRetrieval; }
};

struct RunView {
  const schema::RecordedRun* recorded = nullptr;
  std::vector<EventView> events;  // Same order as recorded->events.

  const schema::Run& run() const { return recorded->run; }
};

// `recorded` must outlive the view.
RunView ViewRun(const schema::RecordedRun& recorded);
EventView ViewEvent(const schema::Event& event, int64_t index);

// "model chat", "tool lookup_order" with the scope where there is one: "turn-2/model chat".
std::string AddressOf(const schema::Event& event);
// The value of a tag, or "".
std::string TagValue(const schema::Tags& tags, std::string_view name);

// What is worth knowing before reading the rest.
struct Concern {
  bool wrong = false;            // Something failed or is missing; false: be careful.
  std::optional<int64_t> event;  // Index.
  std::string text;              // Recorded text in it is not yet printable.
};

// Wrong ones first, each group in the order of events.
std::vector<Concern> FindConcerns(const RunView& view);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_RUNS_RUN_VIEW_H_
