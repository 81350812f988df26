// The experiment with what was recorded: the program runs again on a tape that is spliced of both
// runs, and the request that it comes to is asked of a model. Where there is no program, the
// recorded request is spliced of both instead.
//
// The replay never goes live: it ends at the first model call that no tape has, the call is asked
// from here, and where it was not yet the decisive one its answer joins the tape for another
// replay.

#ifndef REENACT_REPLAYER_EXPLAIN_RECORDED_EXPERIMENT_H_
#define REENACT_REPLAYER_EXPLAIN_RECORDED_EXPERIMENT_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "replayer/explain/experiment.h"
#include "replayer/explain/variable.h"
#include "replayer/replay_session.h"
#include "replayer/rerun/target.h"
#include "schema/record.h"

namespace reenact::explain {

// What a replay came to. Errors: Cancelled, and then nothing more is tried; others are the
// setting's.
using Replay = std::function<absl::StatusOr<replayer::ReplayReport>(
    const schema::RecordedRun& tape, const std::vector<replayer::Override>& overrides)>;

// What an answer is worth: one of both outcomes or another, and its text. An error: it cannot be
// judged.
struct Judgement {
  Outcome outcome = Outcome::kOther;
  std::string text;
};

using Judge = std::function<absl::StatusOr<Judgement>(const schema::ModelView& answer)>;

struct RecordedPair {
  const schema::RecordedRun* incident = nullptr;
  const schema::RecordedRun* reference = nullptr;
  DecisiveCalls calls;
};

struct ExperimentDoors {
  Replay replay;                       // Empty: there is no program.
  rerun::Target* target = nullptr;     // Asked.
  rerun::Target* reference = nullptr;  // Where the reference was served; null: there is none now.
  Judge judge;
};

// `variables`: DifferencesOf the pair. All that is given outlives it.
class RecordedExperiment final : public Experiment {
 public:
  RecordedExperiment(const RecordedPair& pair, const std::vector<Variable>& variables,
                     ExperimentDoors doors);

  bool CanSet(size_t variable, std::string* why_not) const override;
  Trial Run(const Setting& setting) override;

  // Whether the program, with nothing changed, came to the recorded request. Nothing: it did not
  // run, or there is none.
  std::optional<bool> comes_to_recorded_request() const { return comes_to_recorded_request_; }

 private:
  // A model call that no tape has, or why there is none.
  struct Step {
    std::optional<schema::Event> call;
    bool decisive = false;
    Trial trial;               // Without a call.
    schema::RecordedRun tape;  // On which the program came there.
  };

  bool IsOwn(VariableKind kind) const;
  std::vector<replayer::Override> OverridesOf(const Setting& setting) const;
  // The next call of the program on `tape`.
  Step Advance(const Setting& setting, schema::RecordedRun tape);
  // Reads it off a replay; false: the program ended before it made one.
  bool Read(const Setting& setting, const replayer::ReplayReport& report, Step* step) const;
  Step FirstStep(const Setting& setting);
  // The same without a program.
  Step RecordedStep(const Setting& setting) const;
  // A request with the settings of the one run or the other.
  std::string Compose(const Setting& setting, std::string request) const;
  rerun::Sample Ask(const Setting& setting, const schema::Event& call);
  Trial TrialOf(const rerun::Sample& sample) const;

  const RecordedPair pair_;
  const std::vector<Variable>& variables_;
  const ExperimentDoors doors_;
  std::map<Setting, Step> first_steps_;  // The way to the first call draws nothing.
  std::optional<bool> comes_to_recorded_request_;
};

// The tape of the incident up to its decisive call, with the values of the reference where
// `from_reference` (one a variable) says so, and what only the reference recorded besides.
schema::RecordedRun SpliceTape(const RecordedPair& pair, const std::vector<Variable>& variables,
                               const Setting& from_reference);

// What a replay did with a call or a reading that its tape did not have.
inline constexpr std::string_view kDivergedDetail = "diverged:";

// Scopes are keyed by ids that models make up: what a replay asked for in a scope of its own is
// given to it there, as the tape has it in another. Returns how many were; `unmatched` names a call
// that the tape has nowhere.
size_t AdoptScopes(const schema::RecordedRun& derived, schema::RecordedRun* tape,
                   std::string* unmatched);

void AppendTo(schema::RecordedRun* tape, schema::Event event);

}  // namespace reenact::explain

#endif  // REENACT_REPLAYER_EXPLAIN_RECORDED_EXPERIMENT_H_
