// The state of a replay session. Its member functions stand in the file of the boundary that they
// answer for: replay_call.cc, replay_clock.cc, replay_random.cc; replay_session.cc has the run, and
// internal/session_report.cc the end.

#ifndef REENACT_REPLAYER_INTERNAL_SESSION_STATE_H_
#define REENACT_REPLAYER_INTERNAL_SESSION_STATE_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replayer/replay_session.h"
#include "replayer/tape.h"

namespace reenact::replayer {

// A program that tries again for ever must not fill the memory: what comes after these is counted.
inline constexpr size_t kKeptDivergences = 1000;

// A call as this replay made it.
struct MadeCall {
  Address address;
  std::string provider;
  std::string endpoint;
  ComparableRequest request;
  uint64_t sequence = 0;
  uint64_t end_sequence = 0;
  const TapeCall* record = nullptr;       // Null: it diverged.
  size_t record_index = 0;                // Within the address.
  std::optional<std::string> overridden;  // The answer that was served instead of the record's.
  DivergenceKind refused_as = DivergenceKind::kNovelCall;  // Where there is no record.
  bool ended = false;
  schema::EndState state = schema::EndState::kIncomplete;
  uint64_t consumed_bytes = 0;
};

// A reading as this replay made it.
struct MadeReading {
  Address address;
  size_t position = 0;
  uint64_t value = 0;
  uint64_t sequence = 0;
  const schema::Event* record = nullptr;  // Null: it diverged.
};

struct SessionState {
  SessionState(schema::RecordedRun recorded, ReplayOptions replay_options);

  // --- replay_session.cc ---
  schema::Message Answer(const schema::Hello& request);
  schema::Message Answer(const schema::BeginRun& request);
  schema::Message Answer(const schema::AddComponent& request);
  schema::Message Answer(const schema::UseComponent& request);
  schema::Message Answer(const schema::FinishRun& request);
  schema::Message Answer(const schema::ReadValue& request);
  void CompareComponent(const schema::Component& component);
  // `now` redacted, with what `recorded` tells about secrets that no pattern finds.
  std::string RedactLike(std::string_view recorded, std::string_view now) const;
  void Diverge(Divergence divergence);
  // No R2 where a part only of the recorded `what` is there to compare with.
  void RelaxAsCut(std::string_view what, const schema::Body& body);
  // The override that a person gave for this name, which is then used; null when there is none.
  const Override* FindOverride(Override::Target target, const std::string& name);
  // Its index, without using it.
  std::optional<size_t> IndexOfOverride(Override::Target target, const std::string& name) const;

  // --- replay_call.cc ---
  schema::Message Answer(const schema::BeginCall& request);
  schema::Message Answer(const schema::EndCall& request);
  // The unused record that answers the call. May learn a secret, and redact the call's request
  // again.
  std::optional<size_t> FindRecord(const schema::BeginCall& request, MadeCall* call);
  schema::Message Refuse(MadeCall call, Divergence divergence);
  AnswerSource SourceOf(const schema::BeginCall& request, const ForkPoint& fork);
  // Each call of the first `step` events was asked for. `mutex` is held.
  bool Reached(size_t step) const;

  // --- replay_clock.cc ---
  schema::Message ReadClock(const Address& address);

  // --- replay_random.cc ---
  schema::Message ReadRandom(const Address& address);
  schema::Message ReadEnv(const Address& address);

  // --- replay_session.cc: what all readings share ---
  struct Taken {
    const schema::Event* record = nullptr;  // Null: nothing was recorded at this position.
    size_t position = 0;
    size_t recorded_count = 0;  // At this address.
    uint64_t sequence = 0;
  };

  Taken TakeReading(const Address& address);
  void KeepReading(const Address& address, const Taken& taken, uint64_t value);
  schema::Message RefuseReading(const Address& address, const Taken& taken, uint64_t fallback);

  // --- internal/session_report.cc ---
  ReplayReport Report(schema::Moment now);

  const Tape tape;
  const ReplayOptions options;
  std::vector<bool> override_used;  // By index of `options.overrides`.

  std::mutex mutex;  // Guards all that follows.
  uint64_t last_sequence = 0;
  bool bound = false;
  std::optional<schema::FinishRun> finish;  // Redacted.
  bool output_redacted = false;
  std::map<Address, std::vector<bool>> call_used;  // By index within the address.
  std::map<Address, size_t> calls_made;
  std::map<Address, size_t> readings_made;
  std::vector<MadeCall> calls;  // call_token is the index plus one.
  std::vector<MadeReading> readings;
  std::optional<uint64_t> last_clock_value;   // That was served, under whatever name.
  std::vector<schema::Component> components;  // As the program announced them.
  std::map<std::pair<std::string, std::string>, size_t> components_seen;  // By (kind, name).
  int64_t interchangeable = 0;
  int64_t refused_runs = 0;
  std::vector<Divergence> refusals;  // The first refused runs, for when the run itself never began.
  std::vector<Divergence> divergences;
  int64_t divergences_left_out = 0;
  std::vector<std::pair<std::string, FidelityLevel>> relaxed;
  std::vector<std::string> notes;
  int64_t other_readings_on_tape = 0;  // See ReplaySession::NoteReadings.
  int64_t other_readings_served = 0;
  std::string interrupted_by;        // Empty: it was not.
  std::string inconclusive_because;  // Empty: nothing stands against a verdict.
};

// Answers for what is not on the tape.
schema::Diverged ToDiverged(const Divergence& divergence, uint64_t value = 0);
schema::Message NotThisRun();

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_INTERNAL_SESSION_STATE_H_
