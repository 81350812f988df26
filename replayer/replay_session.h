// One replay of one run: the tape, what has been taken from it, and what went differently. All
// mouths (socket server, GoogleTest fixture) speak to this; it does no I/O and reads no clock.
//
// Addresses: within (scope, boundary, name) a call is matched by request key, then by occurrence
// among equal keys, in order of beginning; of records with equal keys one whose request is equal in
// every member comes first. Equal requests that overlapped when recorded are one bag: served in
// start order, reported as interchangeable. Clock, random and env go by (scope, boundary, name) and
// position.
//
// Threads: all functions may be called from any thread.

#ifndef REENACT_REPLAYER_REPLAY_SESSION_H_
#define REENACT_REPLAYER_REPLAY_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "replayer/divergence.h"
#include "replayer/tape.h"
#include "schema/record.h"
#include "schema/replay_protocol.h"

namespace reenact::replayer {

// What the person replaying changed on purpose. Each lowers what the level can claim, and is named.
struct Override {
  enum class Target : uint8_t { kClock, kTool, kRetrieval, kComponent } target = Target::kClock;
  std::string name;   // Tool, retrieval or component; clock: "" for every reading, or one name.
  std::string value;  // RFC 3339 time (clock), or the answer's bytes.
};

// "clock=2026-03-01T12:00:00Z", "tool:lookup_order={...}", "retrieval:kb=@file" is read by the
// caller. Errors: InvalidArgument, naming the text and the forms there are.
absl::StatusOr<Override> ParseOverride(const std::string& text);

struct ReplayOptions {
  std::vector<Override> overrides;
};

// Where a fork leaves the tape.
struct ForkPoint {
  size_t step = 0;          // Events are the tape's up to this one, counted from 0.
  bool only_model = false;  // Tools and retrievals stay the tape's.
};

// Where the answer to a call comes from in a fork.
enum class AnswerSource : uint8_t {
  kTape,
  kLive,
  kNowhere,  // The tape does not have it, and it may not go live (yet).
};

// R0 .. R2 of the architecture: what this replay can claim.
enum class FidelityLevel : uint8_t { kR0 = 0, kR1 = 1, kR2 = 2 };
std::string_view ToString(FidelityLevel level);  // "R2"

enum class Verdict : uint8_t { kReproduced, kDiverged, kInconclusive };
std::string_view ToString(Verdict verdict);  // "reproduced"

struct ReplayReport {
  schema::Ulid run;
  bool bound = false;     // The incident's run began.
  bool finished = false;  // And it ended.
  Verdict verdict = Verdict::kInconclusive;
  std::string inconclusive_because;  // "the run never began", "the tape is empty".
  FidelityLevel level = FidelityLevel::kR0;
  std::vector<std::string>
      relaxed_by;  // Why the level is not higher, or what was changed on purpose.
  std::vector<Divergence> divergences;  // In order of occurrence; omitted records last.
  // What a reader should know and nobody should fail for: texts of errors that differ only in
  // addresses or times, events that were lost while recording.
  std::vector<std::string> notes;
  int64_t calls_on_tape = 0;
  int64_t calls_served = 0;
  int64_t readings_on_tape = 0;
  int64_t readings_served = 0;
  int64_t interchangeable = 0;  // Calls served from a bag of overlapping equal requests.
  int64_t refused_runs = 0;
  int64_t attempts_on_tape = 0;  // Of model calls, retries included.
  std::string output;            // What the re-executed run answered.
  bool output_equal = true;
  // SHA-256 over what was consumed, in order of address: equal for equal replays whatever the
  // schedule or the date.
  std::string fingerprint;
  schema::RecordedRun derived;  // The run as re-executed, with the original as parent.
};

struct SessionState;

// The one run of a session.
inline constexpr uint64_t kRunToken = 1;

class ReplaySession {
 public:
  ReplaySession(schema::RecordedRun tape, ReplayOptions options);
  ~ReplaySession();

  // The entry and input that a driver should start again.
  const schema::Run& recorded_run() const;

  // Answers one message of the SDK (any request but AwaitDrive). Never fails: what is not on the
  // tape is a Diverged.
  schema::Message Answer(const schema::Message& request);

  // Before Answer, which never says that something may go live. A call of the tape's first `step`
  // events is the tape's. Others go live once each call of those was asked for, and a record past
  // them at once: it is what stands there.
  AnswerSource SourceOf(const schema::BeginCall& call, const ForkPoint& fork);

  // Facts from outside: refused network attempts, a missing guard, a crash of the program.
  void NoteDivergence(Divergence divergence);
  void NoteRelaxed(std::string reason, FidelityLevel at_most);
  void NoteFact(std::string note);  // Joins the report's notes.
  // Readings that are no events: of a program's clock, on its tape and given back.
  void NoteReadings(int64_t on_tape, int64_t served);
  // The replay was stopped from outside before the run ended (`why`: "timeout"): what was not asked
  // for by then is no divergence, and without one the replay is inconclusive.
  void NoteInterrupted(std::string why);

  // The replay cannot tell (`why`: "clock not frozen: …"): without a divergence it is inconclusive.
  void NoteInconclusive(std::string why);

  const Tape& tape() const;
  // So far.
  std::vector<Divergence> divergences() const;
  int64_t calls_served() const;
  // The record that was served under this token, by its index among the tape's events.
  std::optional<size_t> EventOf(uint64_t call_token) const;
  // What an answer speaks of, in parts. One of divergences(), or just its words when there were too
  // many to keep.
  Divergence DivergenceOf(const schema::Diverged& answer) const;

  // True when the incident's run has begun (BeginRun was answered with RunBound).
  bool bound() const;
  // True when the run has ended (FinishRun was answered).
  bool finished() const;
  // Ends the session: unused records become divergences. Call once. `now` stamps the derived run.
  ReplayReport Finish(schema::Moment now);

 private:
  std::unique_ptr<SessionState> state_;
};

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_REPLAY_SESSION_H_
