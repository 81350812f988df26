#include "tools/reenact/replay/replay_text.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tools/reenact/io/text_table.h"
#include "tools/reenact/io/time_text.h"
#include "tools/reenact/replay/replay_command.h"
#include "tools/reenact/runs/run_diff_text.h"
#include "tools/reenact/runs/run_text.h"

namespace reenact::tools {
namespace {

using replayer::Divergence;
using replayer::DivergenceKind;
using replayer::FidelityLevel;
using replayer::Verdict;

std::string ReplayLine(std::string_view label, const std::string& value) {
  return "  " + PadRight(label, 12) + value + "\n";
}

std::string LevelMeaning(const replayer::ReplayReport& report) {
  if (LevelText(report) == "none") return "nothing was served from the tape";
  switch (report.level) {
    case FidelityLevel::kR0:
      return "recorded bytes were served";
    case FidelityLevel::kR1:
      return "the same requests were made";
    case FidelityLevel::kR2:
      return "the same answers and readings were consumed in order";
  }
  return "";
}

std::string ExitText(int status) {
  if (WIFSIGNALED(status)) return "ended by signal " + std::to_string(WTERMSIG(status));
  return "exit status " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : status);
}

std::string NetworkText(const replayer::GuardReport& network) {
  if (!network.guarded) {
    return "not guarded" + (network.why_not.empty() ? "" : ": " + Printable(network.why_not));
  }
  std::string out = Counted(network.refused, "outbound attempt") + " refused";
  for (size_t i = 0; i < network.attempts.size() && i < 5; ++i) {
    const replayer::NetworkAttempt& attempt = network.attempts[i];
    out += (i == 0 ? ": " : ", ") + Printable(attempt.call + " " + attempt.address) + " (pid " +
           std::to_string(attempt.pid) + ")";
  }
  if (network.loopback > 0) {
    out += "; " + Counted(network.loopback, "connection") + " to loopback allowed";
  }
  return out;
}

std::string ServedText(const replayer::ReplayReport& report) {
  std::string out =
      std::to_string(report.calls_served) + " of " + Counted(report.calls_on_tape, "call") + ", " +
      std::to_string(report.readings_served) + " of " + Counted(report.readings_on_tape, "reading");
  if (report.interchangeable > 0) {
    out += "; " + std::to_string(report.interchangeable) +
           " interchangeable (equal requests that overlapped)";
  }
  return out;
}

std::string DivergenceText(const Divergence& divergence, size_t number, const Style& style) {
  std::string address;
  if (!divergence.name.empty()) {
    if (!divergence.scope.empty()) address = divergence.scope + "/";
    address += std::string(schema::ToString(divergence.boundary)) + " " + divergence.name + " [" +
               std::to_string(divergence.ordinal) + "]";
  }
  std::string out = PadLeft(std::to_string(number), 3) + ". " +
                    style(Ink::kRed, std::string(replayer::ToString(divergence.kind))) + "  " +
                    style(Ink::kBold, Printable(address));
  if (!divergence.key.empty()) out += "  key " + Printable(divergence.key);
  out.erase(out.find_last_not_of(' ') + 1);
  // There may be one for every record of a run: a line each.
  const bool omission = divergence.kind == DivergenceKind::kOmittedCall ||
                        divergence.kind == DivergenceKind::kOmittedReading;
  out += omission ? "  " : "\n     ";
  const std::string count = replayer::CountDifferences(divergence.differences);
  out += Printable(divergence.summary + (count.empty() ? "" : "; " + count)) + "\n";
  return out + RenderPaths(divergence.differences, {"recorded", "attempted"}, 7, style);
}

}  // namespace

std::string VerdictText(const replayer::RunnerResult& result) {
  if (result.verdict == Verdict::kReproduced && ComparedNothing(result)) return "inconclusive";
  return std::string(replayer::ToString(result.verdict));
}

std::string LevelText(const replayer::ReplayReport& report) {
  const bool served = report.calls_served + report.readings_served > 0;
  return served ? std::string(replayer::ToString(report.level)) : "none";
}

std::string InconclusiveReason(const replayer::RunnerResult& result) {
  if (VerdictText(result) != "inconclusive") return "";
  if (!result.note.empty()) return result.note;
  if (!result.report.inconclusive_because.empty()) return result.report.inconclusive_because;
  return "nothing was compared";
}

std::string RenderReplay(const schema::RecordedRun& tape, const replayer::RunnerResult& result,
                         const Style& style) {
  const replayer::ReplayReport& report = result.report;
  std::string verdict = VerdictText(result);
  const Ink ink = verdict == "reproduced" ? Ink::kGreen
                  : verdict == "diverged" ? Ink::kRed
                                          : Ink::kYellow;
  const std::string because = InconclusiveReason(result);
  std::string out = style(Ink::kBold, "Replay of " + schema::ToString(tape.run.id)) + "  " +
                    Printable(tape.run.service + " " + tape.run.entry) + "\n";
  out += ReplayLine("verdict",
                    style(ink, verdict) + (because.empty() ? "" : ": " + Printable(because)));
  out += ReplayLine("level", LevelText(report) + ", " + LevelMeaning(report));
  for (const std::string& reason : report.relaxed_by)
    out += ReplayLine("", "- " + Printable(reason));
  out += ReplayLine("served", ServedText(report));
  out += ReplayLine("network", NetworkText(result.network));
  if (report.refused_runs > 0) {
    out += ReplayLine("refused", Counted(report.refused_runs, "other run") + " of the program");
  }
  if (report.finished) {
    out += ReplayLine("output", report.output_equal ? "equal to the recorded one"
                                                    : "differs from the recorded one");
  }
  out += ReplayLine("program",
                    ExitText(result.exit_status) + ", " + FormatDuration(result.elapsed_ns));
  if (report.bound) out += ReplayLine("fingerprint", Printable(report.fingerprint));
  if (!report.derived.run.id.IsZero()) {
    out += ReplayLine("kept as", schema::ToString(report.derived.run.id));
  }
  for (const std::string& note : report.notes) out += ReplayLine("note", Printable(note));
  if (report.divergences.empty()) return out;
  out += "\n" + style(Ink::kBold, "Divergences, in order") + "\n";
  for (size_t i = 0; i < report.divergences.size(); ++i) {
    out += DivergenceText(report.divergences[i], i + 1, style);
  }
  return out;
}

bool AddOutcome(replayer::RunnerResult result, std::vector<ReplayOutcome>* outcomes) {
  const auto first_message = [](const replayer::RunnerResult& of) {
    return of.report.divergences.empty() ? std::string() : MessageOf(of.report.divergences.front());
  };
  for (ReplayOutcome& outcome : *outcomes) {
    const replayer::RunnerResult& other = outcome.first;
    if (VerdictText(other) == VerdictText(result) && other.report.level == result.report.level &&
        other.report.fingerprint == result.report.fingerprint &&
        first_message(other) == first_message(result)) {
      ++outcome.count;
      return false;
    }
  }
  outcomes->push_back({1, std::move(result)});
  return true;
}

std::string RenderOutcomes(const std::vector<ReplayOutcome>& outcomes, const Style& style) {
  Table table({{.title = "RUNS", .right = true},
               {.title = "VERDICT"},
               {.title = "LEVEL"},
               {.title = "REFUSED", .right = true},
               {.title = "FINGERPRINT"},
               {.title = "FIRST DIVERGENCE", .shrinks = true}},
              kTextWidth);
  for (const ReplayOutcome& outcome : outcomes) {
    const replayer::ReplayReport& report = outcome.first.report;
    const std::string verdict = VerdictText(outcome.first);
    std::string first = InconclusiveReason(outcome.first);
    if (!report.divergences.empty()) {
      first = std::string(replayer::ToString(report.divergences.front().kind)) + " " +
              report.divergences.front().name;
    }
    table.AddRow(
        {std::to_string(outcome.count), verdict, LevelText(report),
         std::to_string(outcome.first.network.refused), report.fingerprint.substr(0, 16), first},
        verdict == "reproduced" ? Ink::kGreen
        : verdict == "diverged" ? Ink::kRed
                                : Ink::kYellow);
  }
  return table.Render(style);
}

}  // namespace reenact::tools
