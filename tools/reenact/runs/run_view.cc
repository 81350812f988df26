#include "tools/reenact/runs/run_view.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace reenact::tools {

EventView ViewEvent(const schema::Event& event, int64_t index) {
  EventView view;
  view.event = &event;
  view.index = index;
  view.end_state = event.end_state;
  view.end_detail = event.end_detail;
  if (event.boundary != schema::Boundary::kModel) return view;
  view.model = schema::ViewModelCall(event);
  view.end_state = view.model.end_state;
  view.end_detail = view.model.end_detail;
  for (const schema::Choice& choice : view.model.choices) {
    int64_t unknown = 0;
    std::vector<schema::NearTie> ties =
        schema::FindNearTies(choice.logprobs, schema::kNearTieNats, &unknown);
    view.tokens_without_alternatives += unknown;
    std::move(ties.begin(), ties.end(), std::back_inserter(view.near_ties));
  }
  return view;
}

RunView ViewRun(const schema::RecordedRun& recorded) {
  RunView view;
  view.recorded = &recorded;
  view.events.reserve(recorded.events.size());
  for (const schema::Event& event : recorded.events) {
    view.events.push_back(ViewEvent(event, static_cast<int64_t>(view.events.size())));
    EventView& event_view = view.events.back();
    event_view.running =
        recorded.in_progress && event_view.end_state == schema::EndState::kIncomplete;
  }
  return view;
}

std::string AddressOf(const schema::Event& event) {
  std::string out = event.scope.empty() ? "" : event.scope + "/";
  out += schema::ToString(event.boundary);
  return out + " " + event.name;
}

std::string TagValue(const schema::Tags& tags, std::string_view name) {
  for (const auto& [tag, value] : tags) {
    if (tag == name) return value;
  }
  return "";
}

}  // namespace reenact::tools
