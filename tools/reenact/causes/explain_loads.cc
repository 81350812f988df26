#include "tools/reenact/causes/explain_loads.h"

#include <cstdint>
#include <utility>

#include "schema/model_view.h"
#include "tools/reenact/causes/scheduled_call.h"

namespace reenact::tools {
namespace {

absl::StatusOr<explain::LoadTrials> TryIt(const ModelFlags& flags, const Context& context,
                                          const schema::Event& call, const explain::Judge& judge) {
  const auto engine = LoadEngine(flags, context);
  if (!engine.ok()) return engine.status();
  const auto scheduled = ScheduledCall::Make(engine->get(), call);
  if (!scheduled.ok()) return scheduled.status();
  const schema::ModelView view = schema::ViewModelCall(call);
  const local_engine::Request& request = scheduled->request();
  auto trials = explain::TryLoads(
      {.prompt_tokens = static_cast<int32_t>(request.prompt.size()),
       .cached_tokens = static_cast<int32_t>(view.usage.cached_tokens.value_or(0)),
       .max_tokens = request.max_tokens,
       .recorded = ReadRecordedAnswer(call).schedule},
      [&](const local_engine::StockSchedule& schedule) { return scheduled->Answer(schedule); },
      [&](const explain::ScheduledAnswer& answer) -> absl::StatusOr<explain::Outcome> {
        const auto judgement = judge(scheduled->ViewOf(answer));
        if (!judgement.ok()) return judgement.status();
        return judgement->outcome;
      });
  if (!trials.ok()) return trials.status();
  trials->fingerprint = (*engine)->identity().Fingerprint();
  trials->same_engine = trials->fingerprint == view.system_fingerprint;
  return trials;
}

}  // namespace

std::function<absl::StatusOr<explain::LoadTrials>()> LoadsOf(const ModelFlags& flags,
                                                             const Context& context,
                                                             const schema::Event& call,
                                                             const explain::Judge& judge) {
  if (flags.path.empty()) return {};
  ModelFlags stock = flags;
  stock.profile = "stock";
  return [stock = std::move(stock), &context, &call, judge] {
    return TryIt(stock, context, call, judge);
  };
}

}  // namespace reenact::tools
