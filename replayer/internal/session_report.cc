#include "replayer/internal/session_report.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "replayer/internal/message_text.h"
#include "replayer/internal/session_state.h"

namespace reenact::replayer {
namespace {

using schema::EndState;
using schema::Event;

// An event that nobody asked for.
Divergence Omitted(const Tape& tape, const Event& event, size_t ordinal) {
  const bool call = IsCall(event.boundary);
  Divergence divergence;
  divergence.kind = call ? DivergenceKind::kOmittedCall : DivergenceKind::kOmittedReading;
  divergence.scope = event.scope;
  divergence.boundary = event.boundary;
  divergence.name = event.name;
  divergence.ordinal = static_cast<int64_t>(ordinal);
  divergence.closest = tape.IndexOf(event);
  divergence.summary = EventText(*divergence.closest) + " was never asked for";
  return divergence;
}

bool AnswersMayDiffer(DivergenceKind kind) {
  switch (kind) {
    case DivergenceKind::kOutput:
    case DivergenceKind::kNetwork:
    case DivergenceKind::kProcess:
    case DivergenceKind::kNovelRun:
      return false;
    default:
      return true;
  }
}

bool RequestsDiffer(DivergenceKind kind) {
  switch (kind) {
    case DivergenceKind::kNovelCall:
    case DivergenceKind::kExhausted:
    case DivergenceKind::kOmittedCall:
    case DivergenceKind::kNoRun:
    case DivergenceKind::kAmbiguous:
    case DivergenceKind::kUnusable:
      return true;
    default:
      return false;
  }
}

std::string OverrideText(const Override& override) {
  switch (override.target) {
    case Override::Target::kClock:
      return override.name.empty() ? "clock" : "clock " + Quote(override.name);
    case Override::Target::kTool:
      return "tool " + Quote(override.name);
    case Override::Target::kRetrieval:
      return "retrieval " + Quote(override.name);
    case Override::Target::kComponent:
      return "component " + Quote(override.name);
  }
  return "";
}

std::string WhyUnused(const Override& override) {
  return override.target == Override::Target::kComponent
             ? "the program did not ask for its content, and went on with its own"
             : "nothing asked for it";
}

bool IsFailure(EndState state) {
  return state != EndState::kComplete;
}

// Fills the report from the session, one subject a function.
class Reporter {
 public:
  explicit Reporter(SessionState* session) : session_(*session) {}

  ReplayReport Run(schema::Moment now) {
    report_.run = session_.tape.run().run.id;
    report_.bound = session_.bound;
    report_.finished = session_.finish.has_value();
    report_.divergences = std::move(session_.divergences);
    session_.divergences.clear();
    Count();
    NoteRecording();
    interrupted_ = !session_.interrupted_by.empty() && !session_.finish;
    if (interrupted_) {
      session_.relaxed.emplace_back("stopped: " + session_.interrupted_by, FidelityLevel::kR0);
    } else if (session_.bound) {
      ListOmitted();
      CompareEnd();
    } else {
      ListRefusals();
    }
    Relax();
    Judge();
    report_.fingerprint = Fingerprint(session_);
    report_.derived = DeriveRun(session_, report_, now);
    return std::move(report_);
  }

 private:
  void Count() {
    report_.calls_on_tape = session_.tape.call_count();
    report_.readings_on_tape = session_.tape.reading_count() + session_.other_readings_on_tape;
    report_.attempts_on_tape = session_.tape.model_attempt_count();
    report_.interchangeable = session_.interchangeable;
    report_.refused_runs = session_.refused_runs;
    report_.calls_served =
        std::count_if(session_.calls.begin(), session_.calls.end(),
                      [](const MadeCall& call) { return call.record != nullptr; });
    report_.readings_served =
        std::count_if(session_.readings.begin(), session_.readings.end(),
                      [](const MadeReading& reading) { return reading.record != nullptr; }) +
        session_.other_readings_served;
  }

  void NoteRecording() {
    report_.notes = session_.notes;
    for (const schema::Gap& gap : session_.tape.run().gaps) {
      report_.notes.push_back(std::to_string(gap.count) +
                              " records were lost while the run was recorded (" + gap.reason + ")");
    }
    if (session_.divergences_left_out > 0) {
      report_.notes.push_back(std::to_string(session_.divergences_left_out) +
                              " further divergences are not listed");
    }
  }

  void ListOmitted() {
    std::map<size_t, Divergence> omitted;  // In the order of the tape, whatever the address.
    const auto add = [&](const Event& event, size_t ordinal) {
      Divergence divergence = Omitted(session_.tape, event, ordinal);
      omitted.emplace(*divergence.closest, std::move(divergence));
    };
    for (const auto& [address, records] : session_.tape.calls()) {
      const std::vector<bool>& used = session_.call_used[address];
      for (size_t i = 0; i < records.size(); ++i) {
        if (!used[i]) add(*records[i].event, i);
      }
    }
    for (const auto& [address, records] : session_.tape.readings()) {
      for (size_t i = session_.readings_made[address]; i < records.size(); ++i) {
        add(*records[i], i);
      }
    }
    for (auto& [index, divergence] : omitted) Add(std::move(divergence));
    ListUnended();
  }

  void ListUnended() {
    for (const MadeCall& call : session_.calls) {
      if (call.record == nullptr || call.ended || !session_.finish) continue;
      Divergence divergence;
      divergence.kind = DivergenceKind::kNotRead;
      divergence.scope = call.address.scope;
      divergence.boundary = call.address.boundary;
      divergence.name = call.address.name;
      divergence.ordinal = static_cast<int64_t>(call.record_index);
      divergence.key = schema::Shorten(call.request.key);
      divergence.closest = session_.tape.IndexOf(*call.record->event);
      divergence.summary = EventText(*divergence.closest) + ": the program never ended this call";
      Add(std::move(divergence));
    }
  }

  void ListRefusals() {
    for (Divergence& refusal : session_.refusals) Add(std::move(refusal));
    session_.refusals.clear();
    Divergence divergence;
    divergence.kind = DivergenceKind::kNoRun;
    divergence.summary =
        "the run of entry " + Quote(session_.tape.run().run.entry) + " never began";
    if (report_.refused_runs > 0) {
      divergence.summary +=
          "; " + std::to_string(report_.refused_runs) + " other runs began and were refused";
    }
    Add(std::move(divergence));
  }

  void CompareEnd() {
    const schema::RecordedRun& tape = session_.tape.run();
    if (!session_.finish) {
      if (tape.end) AddUnfinished();
      return;
    }
    report_.output = session_.finish->output;
    if (!tape.end) {
      report_.notes.push_back("the recorded run never ended: there is no output to compare with");
      return;
    }
    const schema::RunEnd& expected = *tape.end;
    const schema::FinishRun& actual = *session_.finish;
    const std::string expected_output = session_.tape.Redact(expected.output.bytes);
    const std::string expected_detail = session_.tape.Redact(expected.detail);
    const std::string_view actual_output =
        ComparablePart(expected.output, expected_output, actual.output);
    if (expected.output.cut) session_.RelaxAsCut("output", expected.output);
    compared_output_ = !expected.output.cut || !expected_output.empty();
    const bool same_state = expected.state == actual.state;
    const bool same_output = EqualContent(expected_output, actual_output);
    if (same_state && same_output && expected_detail == actual.detail) return;
    // An error's text may name addresses and times; an answer's must be what it was.
    const bool cosmetic =
        same_state && IsFailure(expected.state) &&
        WithoutAddressesAndTimes(expected_output) == WithoutAddressesAndTimes(actual_output) &&
        WithoutAddressesAndTimes(expected_detail) == WithoutAddressesAndTimes(actual.detail);
    if (cosmetic) {
      report_.notes.push_back("the text of the run's error differs in addresses or times only");
      return;
    }
    report_.output_equal = false;
    AddOutput(expected_output, actual_output, expected_detail);
  }

  void AddUnfinished() {
    const bool known =
        std::any_of(report_.divergences.begin(), report_.divergences.end(),
                    [](const Divergence& d) { return d.kind == DivergenceKind::kProcess; });
    if (known) return;
    Divergence divergence;
    divergence.kind = DivergenceKind::kProcess;
    divergence.summary = "the run began, and the program never ended it";
    Add(std::move(divergence));
  }

  void AddOutput(std::string_view expected_output, std::string_view actual_output,
                 const std::string& expected_detail) {
    const schema::RunEnd& expected = *session_.tape.run().end;
    const schema::FinishRun& actual = *session_.finish;
    const bool inputs_differ =
        std::any_of(report_.divergences.begin(), report_.divergences.end(),
                    [](const Divergence& d) { return AnswersMayDiffer(d.kind); });
    if (inputs_differ) return;  // Something else comes first, and explains it.
    Divergence divergence;
    divergence.kind = DivergenceKind::kOutput;
    divergence.summary = WhyOutputDiffers();
    if (expected.state != actual.state || expected_detail != actual.detail) {
      divergence.summary +=
          "; the run ended " + Quote(schema::DescribeEnd(actual.state, actual.detail)) +
          ", recorded " + Quote(schema::DescribeEnd(expected.state, expected_detail));
    }
    divergence.differences =
        schema::DiffRequests(schema::Boundary::kTool, "", expected_output, actual_output);
    HideSecrets(&divergence.differences);
    Add(std::move(divergence));
  }

  std::string WhyOutputDiffers() const {
    if (!session_.options.overrides.empty()) {
      return "the output differs, with what was overridden as the only change";
    }
    if (!session_.inconclusive_because.empty()) {
      return "the output differs, and not all that the program read was given back: " +
             session_.inconclusive_because;
    }
    return "decision differs with identical recorded inputs: unrecorded nondeterminism";
  }

  void Relax() {
    for (size_t i = 0; i < session_.options.overrides.size(); ++i) {
      const Override& override = session_.options.overrides[i];
      std::string reason = OverrideText(override) + " was overridden";
      if (!session_.override_used[i]) reason += ", which had no effect: " + WhyUnused(override);
      session_.relaxed.emplace_back(std::move(reason), FidelityLevel::kR1);
    }
    std::map<DivergenceKind, int64_t> counts;
    for (const Divergence& divergence : report_.divergences) ++counts[divergence.kind];
    for (const auto& [kind, count] : counts) {
      session_.relaxed.emplace_back(std::to_string(count) + ' ' + std::string(ToString(kind)),
                                    RequestsDiffer(kind) ? FidelityLevel::kR0 : FidelityLevel::kR1);
    }
    report_.level = session_.bound ? FidelityLevel::kR2 : FidelityLevel::kR0;
    for (const auto& [reason, at_most] : session_.relaxed) {
      report_.relaxed_by.push_back(reason);
      report_.level = std::min(report_.level, at_most);
    }
  }

  void Judge() {
    const bool empty = report_.calls_on_tape == 0 && report_.readings_on_tape == 0;
    if (!report_.bound) {
      report_.verdict = Verdict::kInconclusive;
      report_.inconclusive_because =
          interrupted_ ? session_.interrupted_by + ": the run never began" : "the run never began";
    } else if (!report_.divergences.empty() && !OutputCannotTell()) {
      report_.verdict = Verdict::kDiverged;
    } else if (interrupted_) {
      report_.verdict = Verdict::kInconclusive;
      report_.inconclusive_because = session_.interrupted_by + ": the run did not end";
    } else if (const Override* unused = FirstUnused()) {
      report_.verdict = Verdict::kInconclusive;
      report_.inconclusive_because =
          "the override of " + OverrideText(*unused) + " had no effect: " + WhyUnused(*unused);
    } else if (!session_.inconclusive_because.empty()) {
      report_.verdict = Verdict::kInconclusive;
      report_.inconclusive_because = session_.inconclusive_because;
    } else if (empty && !compared_output_) {
      report_.verdict = Verdict::kInconclusive;
      report_.inconclusive_because = "nothing was compared: the tape is empty";
      report_.level = FidelityLevel::kR0;
    } else {
      report_.verdict = Verdict::kReproduced;
    }
  }

  // The output alone differs, and the program may have printed what it was not given back.
  bool OutputCannotTell() const {
    return !session_.inconclusive_because.empty() &&
           std::all_of(report_.divergences.begin(), report_.divergences.end(),
                       [](const Divergence& d) { return d.kind == DivergenceKind::kOutput; });
  }

  // What was to be tried was not: a replay that is equal for that says nothing.
  const Override* FirstUnused() const {
    for (size_t i = 0; i < session_.options.overrides.size(); ++i) {
      if (!session_.override_used[i]) return &session_.options.overrides[i];
    }
    return nullptr;
  }

  void Add(Divergence divergence) { report_.divergences.push_back(std::move(divergence)); }

  SessionState& session_;
  ReplayReport report_;
  bool compared_output_ = false;
  bool interrupted_ = false;
};

}  // namespace

ReplayReport SessionState::Report(schema::Moment now) {
  return Reporter(this).Run(now);
}

}  // namespace reenact::replayer
