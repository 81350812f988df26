#include "replayer/replay_session.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "replayer/internal/message_text.h"
#include "replayer/internal/session_state.h"

namespace reenact::replayer {
namespace {

using schema::Boundary;
using schema::Message;

constexpr size_t kKeptRefusals = 10;

// One incident is replayed at a time: whatever else the program starts stays without answers.
Divergence RefuseRun(const Tape& tape, const std::string& entry, const std::string& input,
                     bool already_bound) {
  const schema::Run& recorded = tape.run().run;
  Divergence divergence;
  divergence.kind = DivergenceKind::kNovelRun;
  divergence.summary = "a run of entry " + Quote(entry) + " was refused: ";
  if (recorded.input.cut) {
    divergence.kind = DivergenceKind::kUnusable;
    divergence.summary +=
        CutText("recorded input", recorded.input) + ", so that no run can be told to be this one";
  } else if (already_bound) {
    divergence.summary += "the incident's run has begun already, and runs once in a replay";
  } else if (entry != recorded.entry) {
    divergence.summary += "the incident's run has entry " + Quote(recorded.entry);
  } else {
    divergence.differences =
        schema::DiffRequests(Boundary::kTool, "", tape.Redact(recorded.input.bytes), input);
    HideSecrets(&divergence.differences);
    divergence.summary += "its input is not the incident's";
  }
  return divergence;
}

// Nothing: equal.
std::optional<Divergence> Compare(const Tape& tape, const schema::Component* recorded,
                                  const schema::Component& now) {
  Divergence divergence;
  divergence.kind = DivergenceKind::kComponent;
  divergence.summary = "component " + now.kind + ' ' + Quote(now.name) + ": ";
  if (recorded == nullptr) {
    divergence.summary += "version " + Quote(now.version) + " is new: it was not recorded";
    return divergence;
  }
  const std::string expected = tape.Redact(recorded->content.bytes);
  const bool version_differs = recorded->version != now.version;
  const std::string_view actual = ComparablePart(recorded->content, expected, now.content.bytes);
  const bool content_differs = !EqualContent(expected, actual);
  if (!version_differs && !content_differs) return std::nullopt;
  if (version_differs) {
    divergence.summary +=
        "recorded version " + Quote(recorded->version) + ", now " + Quote(now.version);
  }
  if (content_differs) {
    divergence.differences = schema::DiffRequests(Boundary::kTool, "", expected, actual);
    HideSecrets(&divergence.differences);
    divergence.summary += version_differs
                              ? ", other content"
                              : "same version " + Quote(now.version) + ", other content";
  } else {
    divergence.summary += ", same content";
  }
  return divergence;
}

}  // namespace

std::string_view ToString(FidelityLevel level) {
  switch (level) {
    case FidelityLevel::kR0:
      return "R0";
    case FidelityLevel::kR1:
      return "R1";
    case FidelityLevel::kR2:
      return "R2";
  }
  return "R0";
}

std::string_view ToString(Verdict verdict) {
  switch (verdict) {
    case Verdict::kReproduced:
      return "reproduced";
    case Verdict::kDiverged:
      return "diverged";
    case Verdict::kInconclusive:
      return "inconclusive";
  }
  return "inconclusive";
}

Message NotThisRun() {
  return schema::Diverged{"this run is not the one that is replayed: nothing is answered for it",
                          0};
}

schema::Diverged ToDiverged(const Divergence& divergence, uint64_t value) {
  return {std::string(ToString(divergence.kind)) + ": " + MessageOf(divergence), value};
}

SessionState::SessionState(schema::RecordedRun recorded, ReplayOptions replay_options)
    : tape(std::move(recorded)),
      options(std::move(replay_options)),
      override_used(options.overrides.size(), false) {
  for (const auto& [address, calls_there] : tape.calls()) {
    call_used[address].assign(calls_there.size(), false);
  }
}

Message SessionState::Answer(const schema::Hello& request) {
  if (request.protocol_version != schema::kReplayProtocolVersion) {
    return schema::Diverged{"the program speaks version " +
                                std::to_string(request.protocol_version) +
                                " of the replay protocol, this replayer version " +
                                std::to_string(schema::kReplayProtocolVersion),
                            0};
  }
  const schema::Run& run = tape.run().run;
  return schema::Welcome{schema::kReplayProtocolVersion, schema::ToString(run.id), run.entry};
}

Message SessionState::Answer(const schema::BeginRun& request) {
  const schema::Run& recorded = tape.run().run;
  const std::string input = RedactLike(recorded.input.bytes, request.input);
  const bool is_the_run = request.entry == recorded.entry && !recorded.input.cut &&
                          EqualContent(tape.Redact(recorded.input.bytes), input);
  const std::lock_guard<std::mutex> lock(mutex);
  if (!is_the_run || bound) {
    ++refused_runs;
    Divergence refusal = RefuseRun(tape, request.entry, input, bound);
    Message answer = ToDiverged(refusal);
    if (refusals.size() < kKeptRefusals) refusals.push_back(std::move(refusal));
    return answer;
  }
  bound = true;
  for (const schema::Component& component : request.components) CompareComponent(component);
  return schema::RunBound{kRunToken};
}

Message SessionState::Answer(const schema::AddComponent& request) {
  if (request.run_token != kRunToken) return NotThisRun();
  const std::lock_guard<std::mutex> lock(mutex);
  CompareComponent(request.component);
  return schema::Done{};
}

Message SessionState::Answer(const schema::UseComponent& request) {
  if (request.run_token != kRunToken) return NotThisRun();
  const std::lock_guard<std::mutex> lock(mutex);
  const Override* given = FindOverride(Override::Target::kComponent, request.name);
  if (given == nullptr) return schema::ComponentContent{};
  return schema::ComponentContent{true, given->value};
}

Message SessionState::Answer(const schema::FinishRun& request) {
  if (request.run_token != kRunToken) return NotThisRun();
  const std::lock_guard<std::mutex> lock(mutex);
  if (!finish) {
    finish = request;
    const std::optional<schema::RunEnd>& end = tape.run().end;
    finish->output = RedactLike(end ? end->output.bytes : std::string_view(), request.output);
    finish->detail = tape.Redact(request.detail);
    output_redacted = finish->output != request.output;
  }
  return schema::Done{};
}

std::string SessionState::RedactLike(std::string_view recorded, std::string_view now) const {
  std::string redacted = tape.Redact(now);
  return tape.LearnSecrets(recorded, redacted) ? tape.Redact(now) : redacted;
}

// The nth component of a kind and name is compared with the nth recorded one; an overridden one
// differs on purpose.
void SessionState::CompareComponent(const schema::Component& component) {
  schema::Component redacted = component;
  if (IndexOfOverride(Override::Target::kComponent, component.name)) {
    redacted.content.bytes = tape.Redact(component.content.bytes);
    redacted.content.redacted = redacted.content.bytes != component.content.bytes;
    components.push_back(std::move(redacted));
    return;
  }
  size_t ordinal = components_seen[{component.kind, component.name}]++;
  const schema::Component* recorded = nullptr;
  for (const schema::Component& candidate : tape.run().components) {
    if (candidate.kind != component.kind || candidate.name != component.name) continue;
    recorded = &candidate;
    if (ordinal-- == 0) break;
  }
  redacted.content.bytes = RedactLike(
      recorded != nullptr ? recorded->content.bytes : std::string_view(), component.content.bytes);
  redacted.content.redacted = redacted.content.bytes != component.content.bytes;
  if (recorded != nullptr && recorded->content.cut) {
    RelaxAsCut("content of " + component.kind + ' ' + Quote(component.name), recorded->content);
  }
  if (std::optional<Divergence> difference = Compare(tape, recorded, redacted)) {
    Diverge(*std::move(difference));
  }
  components.push_back(std::move(redacted));
}

void SessionState::RelaxAsCut(std::string_view what, const schema::Body& body) {
  relaxed.emplace_back(CutText(what, body) + " when it was recorded: the rest is not compared",
                       FidelityLevel::kR1);
}

void SessionState::Diverge(Divergence divergence) {
  if (divergences.size() < kKeptDivergences) {
    divergences.push_back(std::move(divergence));
  } else {
    ++divergences_left_out;
  }
}

const Override* SessionState::FindOverride(Override::Target target, const std::string& name) {
  const std::optional<size_t> index = IndexOfOverride(target, name);
  if (!index) return nullptr;
  override_used[*index] = true;
  return &options.overrides[*index];
}

std::optional<size_t> SessionState::IndexOfOverride(Override::Target target,
                                                    const std::string& name) const {
  std::optional<size_t> every_clock;
  for (size_t i = 0; i < options.overrides.size(); ++i) {
    const Override& candidate = options.overrides[i];
    if (candidate.target != target) continue;
    if (candidate.name == name) return i;
    if (target == Override::Target::kClock && candidate.name.empty()) every_clock = i;
  }
  return every_clock;
}

Message SessionState::Answer(const schema::ReadValue& request) {
  if (request.run_token != kRunToken) return NotThisRun();
  const Address address = tape.AddressOf(request.scope, request.boundary, request.name);
  const std::lock_guard<std::mutex> lock(mutex);
  switch (request.boundary) {
    case Boundary::kClock:
      return ReadClock(address);
    case Boundary::kRandom:
      return ReadRandom(address);
    default:
      return ReadEnv(address);
  }
}

SessionState::Taken SessionState::TakeReading(const Address& address) {
  const std::vector<const schema::Event*>& recorded = tape.ReadingsAt(address);
  Taken taken;
  taken.position = readings_made[address]++;
  taken.recorded_count = recorded.size();
  taken.sequence = ++last_sequence;
  if (taken.position < recorded.size()) taken.record = recorded[taken.position];
  return taken;
}

void SessionState::KeepReading(const Address& address, const Taken& taken, uint64_t value) {
  readings.push_back({address, taken.position, value, taken.sequence, taken.record});
}

Message SessionState::RefuseReading(const Address& address, const Taken& taken, uint64_t fallback) {
  Divergence divergence;
  divergence.kind = DivergenceKind::kNovelReading;
  divergence.scope = address.scope;
  divergence.boundary = address.boundary;
  divergence.name = address.name;
  divergence.ordinal = static_cast<int64_t>(taken.position);
  divergence.summary =
      taken.recorded_count == 0
          ? "nothing of this name was read when it was recorded"
          : "it was read " + std::to_string(taken.recorded_count) + " times when it was recorded";
  if (divergences.size() < kKeptDivergences) KeepReading(address, taken, fallback);
  Message answer = ToDiverged(divergence, fallback);
  Diverge(std::move(divergence));
  return answer;
}

ReplaySession::ReplaySession(schema::RecordedRun tape, ReplayOptions options)
    : state_(std::make_unique<SessionState>(std::move(tape), std::move(options))) {}

ReplaySession::~ReplaySession() = default;

const schema::Run& ReplaySession::recorded_run() const {
  return state_->tape.run().run;
}

Message ReplaySession::Answer(const Message& request) {
  return std::visit(
      [this](const auto& message) -> Message {
        if constexpr (requires { state_->Answer(message); }) {
          return state_->Answer(message);
        } else if constexpr (std::is_same_v<std::decay_t<decltype(message)>, schema::HandlerDone>) {
          return schema::Done{};
        } else {
          return schema::Diverged{"this is no question for a replay session", 0};
        }
      },
      request);
}

void ReplaySession::NoteDivergence(Divergence divergence) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->Diverge(std::move(divergence));
}

void ReplaySession::NoteRelaxed(std::string reason, FidelityLevel at_most) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->relaxed.emplace_back(std::move(reason), at_most);
}

void ReplaySession::NoteFact(std::string note) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->notes.push_back(std::move(note));
}

void ReplaySession::NoteReadings(int64_t on_tape, int64_t served) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->other_readings_on_tape += on_tape;
  state_->other_readings_served += served;
}

void ReplaySession::NoteInterrupted(std::string why) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->interrupted_by = std::move(why);
}

void ReplaySession::NoteInconclusive(std::string why) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (state_->inconclusive_because.empty()) state_->inconclusive_because = std::move(why);
}

const Tape& ReplaySession::tape() const {
  return state_->tape;
}

std::vector<Divergence> ReplaySession::divergences() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->divergences;
}

AnswerSource ReplaySession::SourceOf(const schema::BeginCall& call, const ForkPoint& fork) {
  return state_->SourceOf(call, fork);
}

int64_t ReplaySession::calls_served() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return std::count_if(state_->calls.begin(), state_->calls.end(),
                       [](const MadeCall& call) { return call.record != nullptr; });
}

std::optional<size_t> ReplaySession::EventOf(uint64_t call_token) const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (call_token == 0 || call_token > state_->calls.size()) return std::nullopt;
  const TapeCall* const record = state_->calls[call_token - 1].record;
  if (record == nullptr) return std::nullopt;
  return state_->tape.IndexOf(*record->event);
}

Divergence ReplaySession::DivergenceOf(const schema::Diverged& answer) const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  const auto found = std::find_if(state_->divergences.rbegin(), state_->divergences.rend(),
                                  [&](const Divergence& divergence) {
                                    return ToDiverged(divergence).message == answer.message;
                                  });
  if (found != state_->divergences.rend()) return *found;
  Divergence divergence;
  divergence.summary = answer.message;
  return divergence;
}

bool ReplaySession::bound() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->bound;
}

bool ReplaySession::finished() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->finish.has_value();
}

ReplayReport ReplaySession::Finish(schema::Moment now) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->Report(now);
}

}  // namespace reenact::replayer
