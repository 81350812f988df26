#include "replayer/rerun/recorded_path.h"

#include <algorithm>

#include "absl/status/status.h"

#include "replayer/rerun/action.h"
#include "replayer/rerun/call_rerun.h"
#include "schema/request_edit.h"
#include "schema/request_key.h"

namespace reenact::rerun {
namespace {

using schema::Boundary;
using schema::Event;
using schema::ModelView;
using schema::RecordedRun;

// The askable calls of a run, and what they say.
struct Calls {
  std::vector<size_t> events;
  std::vector<ModelView> views;

  explicit Calls(const RecordedRun& tape) {
    for (size_t i = 0; i < tape.events.size(); ++i) {
      if (!IsAskable(tape.events[i])) continue;
      events.push_back(i);
      views.push_back(schema::ViewModelCall(tape.events[i]));
    }
  }
};

bool IsTriedAgain(const RecordedRun& tape, const Calls& calls, size_t first, size_t next) {
  const Event& a = tape.events[calls.events[first]];
  const Event& b = tape.events[calls.events[next]];
  if (!ActionOf(calls.views[first]).empty()) return false;
  return schema::KeyOf(a.boundary, a.provider, a.request.bytes) ==
         schema::KeyOf(b.boundary, b.provider, b.request.bytes);
}

// Ordinals among `calls`, from `start` on; `*seen` gets all that belong to it, retries too.
std::vector<size_t> ChainFrom(const RecordedRun& tape, const Calls& calls, size_t start,
                              std::vector<bool>* seen) {
  std::vector<size_t> chain = {start};
  (*seen)[start] = true;
  for (size_t i = start + 1; i < calls.events.size(); ++i) {
    const size_t last = chain.back();
    if (IsTriedAgain(tape, calls, last, i)) {
      chain.back() = i;
    } else if (Continues(calls.views[last], calls.views[i])) {
      chain.push_back(i);
    } else {
      continue;
    }
    (*seen)[i] = true;
  }
  return chain;
}

absl::StatusOr<size_t> OrdinalOf(const Calls& calls, size_t step) {
  const auto found = std::find(calls.events.begin(), calls.events.end(), step);
  if (found != calls.events.end()) return static_cast<size_t>(found - calls.events.begin());
  return absl::InvalidArgumentError("event #" + std::to_string(step) +
                                    " is no model call that can be asked again");
}

// "turn-2" holds "turn-2/call_a7"; "" holds everything.
bool Holds(const std::string& scope, const std::string& inner) {
  return scope.empty() || inner == scope || inner.starts_with(scope + "/");
}

bool IsUsable(const Event& event) {
  return event.end_state == schema::EndState::kComplete && !event.request.cut &&
         !event.response.cut;
}

}  // namespace

absl::StatusOr<RecordedPath> RecordedPath::Of(const RecordedRun& tape,
                                              const std::optional<size_t>& step) {
  const Calls calls(tape);
  if (calls.events.empty()) {
    return absl::NotFoundError("the run has no model call that can be asked again");
  }
  std::vector<size_t> longest;
  std::vector<bool> of_longest;
  std::vector<bool> seen(calls.events.size(), false);
  size_t start = 0;
  if (step) {
    const absl::StatusOr<size_t> ordinal = OrdinalOf(calls, *step);
    if (!ordinal.ok()) return ordinal.status();
    start = *ordinal;
  }
  for (; start < calls.events.size(); ++start) {
    if (seen[start]) continue;
    std::vector<bool> mine(calls.events.size(), false);
    std::vector<size_t> chain = ChainFrom(tape, calls, start, &mine);
    for (size_t i = 0; i < mine.size(); ++i) seen[i] = seen[i] || mine[i];
    if (chain.size() > longest.size()) {
      longest = std::move(chain);
      of_longest = std::move(mine);
    }
    if (step) break;
  }
  RecordedPath path;
  for (const size_t ordinal : longest) {
    path.calls_.push_back(calls.events[ordinal]);
    path.actions_.push_back(ActionOf(calls.views[ordinal]));
  }
  for (size_t i = 0; i < calls.events.size(); ++i) {
    if (!of_longest[i]) path.others_.push_back(calls.events[i]);
  }
  return path;
}

ToolTape::ToolTape(const RecordedRun& tape, const RecordedPath& path) {
  AddTold(tape, path);
  AddAnswered(tape, path);
}

void ToolTape::AddTold(const RecordedRun& tape, const RecordedPath& path) {
  for (size_t i = 0; i + 1 < path.calls().size(); ++i) {
    const Event& event = tape.events[path.calls()[i]];
    const Event& next = tape.events[path.calls()[i + 1]];
    const ModelView view = schema::ViewModelCall(event);
    if (view.choices.empty()) continue;
    std::vector<ToolMessage> messages =
        NewToolMessages(view.dialect, event.request.bytes, next.request.bytes);
    for (const schema::ToolCall& call : view.choices.front().tool_calls) {
      const auto told =
          std::find_if(messages.begin(), messages.end(),
                       [&](const ToolMessage& message) { return message.call_id == call.id; });
      if (told == messages.end()) continue;
      told_[{call.name, CanonicalArguments(call.arguments)}].push_back(
          {.message = {.content = told->content, .is_error = told->is_error},
           .event = path.calls()[i + 1]});
      messages.erase(told);
    }
  }
}

void ToolTape::AddAnswered(const RecordedRun& tape, const RecordedPath& path) {
  for (const bool inside : {true, false}) {
    for (size_t i = 0; i < tape.events.size(); ++i) {
      const Event& event = tape.events[i];
      if (event.boundary != Boundary::kTool && event.boundary != Boundary::kRetrieval) continue;
      const bool held = std::any_of(path.calls().begin(), path.calls().end(), [&](size_t call) {
        return Holds(tape.events[call].scope, event.scope);
      });
      if (held != inside || !IsUsable(event)) continue;
      answered_[{event.name, CanonicalArguments(event.request.bytes)}].push_back(
          {.message = {.content = schema::QuotedJson(event.response.bytes)}, .event = i});
    }
  }
}

const TapedAnswer* ToolTape::Find(const schema::ToolCall& call, size_t occurrence,
                                  size_t* recorded) const {
  const Key key(call.name, CanonicalArguments(call.arguments));
  *recorded = 0;
  for (const auto* answers : {&told_, &answered_}) {
    const auto found = answers->find(key);
    if (found == answers->end()) continue;
    if (occurrence < found->second.size()) return &found->second[occurrence];
    *recorded = std::max(*recorded, found->second.size());
  }
  return nullptr;
}

}  // namespace reenact::rerun
