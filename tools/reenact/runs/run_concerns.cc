#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "schema/model_name.h"
#include "tools/reenact/io/terminal_text.h"
#include "tools/reenact/runs/run_view.h"

namespace reenact::tools {
namespace {

using schema::EndState;
using schema::Presence;

class ConcernFinder {
 public:
  explicit ConcernFinder(const RunView& view) : view_(view) {}

  std::vector<Concern> Find() {
    LookAtRun();
    for (const EventView& event : view_.events) LookAtEvent(event);
    LookAtModelNames();
    LookAtFingerprints();
    LookAtNearTies();
    LookAtCredentials();
    std::stable_partition(concerns_.begin(), concerns_.end(),
                          [](const Concern& concern) { return concern.wrong; });
    return std::move(concerns_);
  }

 private:
  void Wrong(std::optional<int64_t> event, std::string text) {
    concerns_.push_back({true, event, std::move(text)});
  }

  void Careful(std::optional<int64_t> event, std::string text) {
    concerns_.push_back({false, event, std::move(text)});
  }

  void LookAtRun() {
    const schema::RecordedRun& recorded = *view_.recorded;
    if (recorded.in_progress) {
      Careful({}, "the run is still going on: this is what it has recorded so far");
    } else if (!recorded.end) {
      Wrong({}, "the run never ended: its process died, or lost the end");
    } else if (recorded.end->state != EndState::kComplete) {
      Wrong({}, "the run ended " + schema::DescribeEnd(recorded.end->state, recorded.end->detail));
    }
    for (const schema::Gap& gap : recorded.gaps) {
      std::string text = Counted(static_cast<int64_t>(gap.count), "event") +
                         " of this process lost (" + gap.reason + ")";
      const auto after = LastIndexUpTo(gap.first_sequence);
      if (gap.first_sequence != 0 && after) text += ", about event " + std::to_string(*after);
      Wrong({}, text + ": what is not here may have happened all the same");
    }
    LookAtContents(recorded);
  }

  void LookAtContents(const schema::RecordedRun& recorded) {
    constexpr std::string_view kPartly = "a replay compares no more than that";
    LookAtBody({}, recorded.run.input, "the run's input", "it cannot be replayed");
    if (recorded.end) LookAtBody({}, recorded.end->output, "the run's output", kPartly);
    for (const schema::Component& component : recorded.components) {
      const std::string what = component.kind + " " + component.name;
      LookAtBody({}, component.content, "the content of " + what, kPartly);
    }
  }

  std::optional<int64_t> LastIndexUpTo(uint64_t sequence) const {
    std::optional<int64_t> last;
    for (const EventView& event : view_.events) {
      if (event.event->sequence <= sequence) last = event.index;
    }
    return last;
  }

  void LookAtEvent(const EventView& event) {
    const std::string what = AddressOf(*event.event);
    if (event.end_state != EndState::kComplete && !event.running) {
      std::string text = what + " ended " + schema::DescribeEnd(event.end_state, event.end_detail);
      if (event.is_model() && !event.model.error_message.empty()) {
        text += ": " + event.model.error_message;
      }
      Wrong(event.index, std::move(text));
    }
    constexpr std::string_view kNever = "it cannot be replayed";
    LookAtBody(event.index, event.event->request, what + ": the request", kNever);
    LookAtBody(event.index, event.event->response, what + ": the answer", kNever);
    if (!event.is_model()) return;
    const int64_t attempts = schema::AttemptCount(event.event->exchange);
    if (attempts > 1) Careful(event.index, what + " took " + Counted(attempts, "attempt"));
    if (!event.model.anomalies.empty()) {
      std::string text = what + " reads oddly: ";
      for (size_t i = 0; i < event.model.anomalies.size(); ++i) {
        if (i > 0) text += ", ";
        text += event.model.anomalies[i];
      }
      Careful(event.index, std::move(text));
    }
  }

  void LookAtBody(std::optional<int64_t> event, const schema::Body& body, const std::string& what,
                  std::string_view consequence) {
    if (!body.cut) return;
    Wrong(event, what + " was cut by a limit, " + FormatSize(body.bytes.size()) + " of " +
                     FormatSize(body.original_size) + " are here; " + std::string(consequence));
  }

  void LookAtModelNames() {
    std::map<std::string, std::set<std::string>> served_by_asked;
    std::map<std::string, std::pair<int64_t, std::string>> first_use;  // Index and provider.
    std::set<std::string> unnamed;
    for (const EventView& event : view_.events) {
      if (!event.is_model() || event.model.asked_model.empty()) continue;
      const std::string& asked = event.model.asked_model;
      first_use.try_emplace(asked, event.index, event.event->provider);
      if (!event.model.served_model.empty()) {
        served_by_asked[asked].insert(event.model.served_model);
      } else if (event.end_state == EndState::kComplete) {
        unnamed.insert(asked);
      }
    }
    for (const auto& [asked, use] : first_use) {
      const schema::ModelNameClass name = schema::ClassifyModelName(use.second, asked);
      const std::set<std::string>& served = served_by_asked[asked];
      std::string by;
      for (const std::string& model : served) by += (by.empty() ? "" : ", ") + model;
      if (name.pinning == schema::Pinning::kFloating) {
        Careful(use.first, "model " + asked + " is a floating alias (" + name.evidence + "); " +
                               (by.empty() ? "which model served is unknown" : by + " served"));
      }
      if (served.size() > 1) {
        Wrong(use.first, "model " + asked + " was served by different models in this run: " + by);
      }
      if (unnamed.count(asked) != 0) {
        Careful(use.first,
                "model " + asked + ": an answer named no model, which served is unknown");
      }
    }
  }

  void LookAtFingerprints() {
    std::map<std::string, std::string> last_by_model;
    int64_t calls = 0;
    int64_t silent = 0;
    for (const EventView& event : view_.events) {
      if (!event.is_model() || event.model.dialect == schema::ModelDialect::kUnknown) continue;
      if (event.model.http_status >= 400) continue;
      ++calls;
      if (event.model.fingerprint_presence != Presence::kValue) {
        ++silent;
        continue;
      }
      const std::string& now = event.model.system_fingerprint;
      std::string& last = last_by_model[event.model.asked_model];
      if (!last.empty() && last != now) {
        Careful(event.index, "system fingerprint of " + event.model.asked_model + " changed from " +
                                 last + " to " + now + " within the run");
      }
      last = now;
    }
    if (silent == 0) return;
    Careful({}, "system fingerprint not provided by " + std::to_string(silent) + " of " +
                    Counted(calls, "model call") +
                    ": changes of the back end would not show there");
  }

  void LookAtNearTies() {
    int64_t count = 0;
    const EventView* where = nullptr;
    const schema::NearTie* closest = nullptr;
    for (const EventView& event : view_.events) {
      for (const schema::NearTie& tie : event.near_ties) {
        ++count;
        if (closest != nullptr && tie.margin_nats >= closest->margin_nats) continue;
        closest = &tie;
        where = &event;
      }
    }
    if (closest == nullptr) return;
    Careful(where->index, Counted(count, "near-tie token") + "; the closest is token " +
                              std::to_string(closest->token_index) +
                              ": other load on the server could have turned it");
  }

  void LookAtCredentials() {
    const auto redacted =
        std::count_if(view_.events.begin(), view_.events.end(), [](const EventView& event) {
          return event.event->request.redacted || event.event->response.redacted;
        });
    if (redacted == 0) return;
    Careful({}, "credentials were removed from " + Counted(redacted, "event") +
                    ": their bytes are not claimed to be exact");
  }

  const RunView& view_;
  std::vector<Concern> concerns_;
};

}  // namespace

std::vector<Concern> FindConcerns(const RunView& view) {
  return ConcernFinder(view).Find();
}

}  // namespace reenact::tools
