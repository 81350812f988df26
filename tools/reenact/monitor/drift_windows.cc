#include "tools/reenact/monitor/drift_windows.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "schema/model_view.h"
#include "store/reader/store_reader.h"
#include "tools/reenact/io/progress.h"
#include "tools/reenact/open_store.h"
#include "tools/reenact/record/interruption.h"

namespace reenact::tools {
namespace {

using Clock = std::chrono::steady_clock;

// False: it was interrupted.
bool WaitUntil(Clock::time_point time) {
  constexpr auto kStep = std::chrono::milliseconds(100);
  while (Clock::now() < time) {
    if (Interruption::Happened()) return false;
    std::this_thread::sleep_for(std::min<Clock::duration>(kStep, time - Clock::now()));
  }
  return !Interruption::Happened();
}

}  // namespace

Windows ProbeWindows(rerun::Target* target, const drift::ProbePlan& plan, int64_t count,
                     int64_t interval_ns, const Context& context) {
  Windows result;
  Progress progress(context.progress, "probing");
  const Clock::time_point begin = Clock::now();
  for (int64_t i = 0; i < count && !result.stopped; ++i) {
    progress.Show(i, count);
    if (!WaitUntil(begin + std::chrono::nanoseconds(i * interval_ns))) {
      result.stopped = true;
      break;
    }
    drift::ProbedWindow probed = drift::ProbeOnce(target, plan);
    std::move(probed.calls.begin(), probed.calls.end(), std::back_inserter(result.calls));
    result.stopped = probed.stopped;
    if (!probed.failure_example.empty()) result.failure_example = probed.failure_example;
    if (!probed.stopped) result.windows.push_back(std::move(probed.window));
  }
  return result;
}

absl::StatusOr<Windows> ReadWindows(const RecordedCalls& wanted, const Context& context,
                                    std::string* model) {
  auto reader = OpenStore(context);
  if (!reader.ok()) return reader.status();
  store::RunFilter filter;
  filter.service = wanted.service;
  filter.since_wall_ns = wanted.since_wall_ns;
  filter.until_wall_ns = wanted.until_wall_ns;
  const auto runs = (*reader)->ListRuns(filter);
  if (!runs.ok()) return runs.status();
  *model = wanted.model;
  std::vector<drift::RecordedProbe> probes;
  for (const store::RunSummary& summary : *runs) {
    const auto run = (*reader)->LoadRun(summary.id, {});
    if (!run.ok()) return run.status();
    for (const schema::Event& event : run->events) {
      if (event.boundary != schema::Boundary::kModel) continue;
      const schema::ModelView view = schema::ViewModelCall(event);
      if (!wanted.model.empty() && view.asked_model != wanted.model) continue;
      std::optional<drift::Probe> probe = drift::ProbeOf(event, view);
      if (!probe) continue;
      if (model->empty()) *model = view.asked_model;
      if (view.asked_model != *model) {
        return absl::FailedPreconditionError(absl::StrCat(
            wanted.service, " asks ", *model, " and ", view.asked_model, ": --as MODEL names one"));
      }
      probes.push_back({event.started.wall_ns, *std::move(probe)});
    }
  }
  NoteProblems(context, (*reader)->problems());
  Windows result;
  result.windows = drift::WindowsOf(std::move(probes), wanted.window_ns, &result.left_out);
  return result;
}

}  // namespace reenact::tools
