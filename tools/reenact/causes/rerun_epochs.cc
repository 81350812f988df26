#include "tools/reenact/causes/rerun_epochs.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"

#include "replayer/identity/system_state.h"
#include "schema/model_view.h"
#include "store/reader/sighting.h"
#include "tools/reenact/io/terminal_text.h"
#include "tools/reenact/io/time_text.h"

namespace reenact::tools {
namespace {

// "https://api.openai.com".
std::string ServerOf(const std::string& url) {
  const size_t scheme_end = url.find("://");
  if (scheme_end == std::string::npos) return "";
  return url.substr(0, url.find_first_of("/?#", scheme_end + 3));
}

std::string FingerprintOf(const schema::ModelView& view) {
  return identity::FingerprintText(
      {.fingerprint_presence = view.fingerprint_presence, .fingerprint = view.system_fingerprint});
}

bool Knows(const identity::EndpointTimeline& timeline, const std::string& fingerprint) {
  return std::any_of(timeline.values.begin(), timeline.values.end(),
                     [&](const auto& value) { return value.value == fingerprint; });
}

}  // namespace

RerunEpochs::RerunEpochs(store::StoreReader* reader, const schema::RecordedRun& tape)
    : tape_(tape) {
  const auto seen = reader->Seen({.calls = true});
  timelines_ = identity::TimelinesOf(seen.ok() ? *seen : store::SightingsOf(tape), "");
}

const identity::EndpointTimeline* RerunEpochs::TimelineOf(const schema::Event& call) const {
  return identity::FindTimeline(timelines_, call.provider, call.endpoint,
                                schema::ViewModelCall(call).asked_model);
}

bool RerunEpochs::AsksTheSame(const TargetFlags& target, const schema::Event& call) const {
  if (!target.ask_for.empty() && target.ask_for != schema::ViewModelCall(call).asked_model)
    return false;
  return target.target == "api" ||
         (!ServerOf(target.target).empty() && ServerOf(target.target) == ServerOf(call.endpoint));
}

absl::Status RerunEpochs::MayAsk(const TargetFlags& target,
                                 const std::optional<size_t>& step) const {
  for (size_t i = 0; i < tape_.events.size(); ++i) {
    const schema::Event& call = tape_.events[i];
    if (call.boundary != schema::Boundary::kModel || (step && *step != i)) continue;
    const identity::EndpointTimeline* timeline = TimelineOf(call);
    if (timeline == nullptr || !AsksTheSame(target, call)) continue;
    if (timeline->EpochAt(call.started.wall_ns) ==
        timeline->EpochAt(std::numeric_limits<int64_t>::max()))
      continue;
    const auto since = std::find_if(
        timeline->changes.begin(), timeline->changes.end(), [&](const identity::Change& change) {
          return change.ends_epoch() && change.at.at_wall_ns > call.started.wall_ns;
        });
    return absl::FailedPreconditionError(
        absl::StrCat("what answered call #", i, " is gone: ", std::string(ToString(since->kind)),
                     " ", since->value, " at ", FormatSeconds(since->at.at_wall_ns),
                     "; --across-epochs compares with what is there now"));
  }
  return absl::OkStatus();
}

std::vector<Stratum> RerunEpochs::StrataOf(const TargetFlags& target,
                                           const rerun::CallRerun& call) const {
  const schema::Event& recorded = tape_.events[call.event_index];
  const identity::EndpointTimeline* timeline = TimelineOf(recorded);
  std::vector<Stratum> strata;
  if (timeline == nullptr || !AsksTheSame(target, recorded)) return strata;
  size_t next = 0;
  for (const rerun::Sample& sample : call.samples) {
    if (!sample.answered() || next >= call.comparisons.size()) continue;
    const bool agreed = call.comparisons[next++].equal;
    const std::string fingerprint = FingerprintOf(sample.view);
    auto there = std::find_if(strata.begin(), strata.end(), [&](const Stratum& stratum) {
      return stratum.fingerprint == fingerprint;
    });
    if (there == strata.end()) {
      strata.push_back({.fingerprint = fingerprint, .known = Knows(*timeline, fingerprint)});
      there = strata.end() - 1;
    }
    ++there->answers;
    there->agreed += agreed ? 1 : 0;
  }
  std::stable_partition(strata.begin(), strata.end(),
                        [](const Stratum& stratum) { return stratum.known; });
  return strata;
}

absl::Status RerunEpochs::MayCompare(const TargetFlags& target,
                                     const std::vector<rerun::CallRerun>& calls) const {
  for (const rerun::CallRerun& call : calls) {
    const std::vector<Stratum> strata = StrataOf(target, call);
    if (strata.empty() || strata.front().known) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("what answered call #", call.event_index, " is gone: ", call.answered(),
                     " answers, all of fingerprints that this endpoint never gave before (",
                     strata.front().fingerprint, "); --across-epochs compares them"));
  }
  return absl::OkStatus();
}

std::string RerunEpochs::Text(const TargetFlags& target,
                              const std::vector<rerun::CallRerun>& calls) const {
  std::string out;
  for (const rerun::CallRerun& call : calls) {
    const std::vector<Stratum> strata = StrataOf(target, call);
    if (strata.size() < 2 && (strata.empty() || strata.front().known)) continue;
    absl::StrAppend(&out, "  by fingerprint, call #", call.event_index, "\n");
    for (const Stratum& stratum : strata) {
      absl::StrAppend(&out, "    ", PadRight(Printable(stratum.fingerprint), 24), "  ",
                      stratum.agreed, " of ", stratum.answers, " as recorded",
                      stratum.known ? "" : "; new: another epoch", "\n");
    }
  }
  return out;
}

void RerunEpochs::Write(const TargetFlags& target, const std::vector<rerun::CallRerun>& calls,
                        JsonWriter* json) const {
  json->Key("strata");
  json->BeginArray();
  for (const rerun::CallRerun& call : calls) {
    for (const Stratum& stratum : StrataOf(target, call)) {
      json->BeginObject();
      json->IntField("call", static_cast<int64_t>(call.event_index));
      json->TextField("fingerprint", stratum.fingerprint);
      json->IntField("answers", stratum.answers);
      json->IntField("agreed", stratum.agreed);
      json->BoolField("known", stratum.known);
      json->EndObject();
    }
  }
  json->EndArray();
}

}  // namespace reenact::tools
