#include "tools/reenact/replay/fixture_bundle.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include "tools/reenact/exit_code.h"
#include "tools/reenact/io/terminal_text.h"
#include "tools/reenact/io/time_text.h"
#include "tools/reenact/replay/replay_command.h"
#include "tools/reenact/replay/replay_text.h"
#include "tools/reenact/runs/run_view.h"

namespace reenact::tools {
namespace {

using replayer::Divergence;
using replayer::DivergenceKind;

constexpr int64_t kSecond = 1'000'000'000;
constexpr char kName[] = "fixture.name";
constexpr char kReviewed[] = "fixture.reviewed";
constexpr char kMaxAge[] = "fixture.max_age_s";
constexpr char kFingerprint[] = "fixture.fingerprint";

bool IsOmission(const Divergence& divergence) {
  return divergence.kind == DivergenceKind::kOmittedCall ||
         divergence.kind == DivergenceKind::kOmittedReading;
}

// The program asked for nothing that the tape does not have, and got through.
bool IsAcceptable(const Divergence& divergence) {
  return IsOmission(divergence) || divergence.kind == DivergenceKind::kComponent ||
         divergence.kind == DivergenceKind::kOutput || divergence.kind == DivergenceKind::kNotRead;
}

std::string AgeText(int64_t age_ns) {
  constexpr int64_t kDay = 86400 * kSecond;
  return age_ns % kDay == 0 ? Counted(age_ns / kDay, "day") : FormatDuration(age_ns);
}

absl::Status Unreadable(const std::string& path, const char* key, const std::string& value) {
  return absl::DataLossError(absl::StrCat(path, ": ", key, " \"", value, "\" cannot be read"));
}

}  // namespace

absl::Status CheckFixtureTape(const schema::RecordedRun& run) {
  const std::string id = schema::ToString(run.run.id);
  if (run.in_progress) {
    return absl::FailedPreconditionError(absl::StrCat("run ", id, " is still going on"));
  }
  if (!run.end) {
    return absl::FailedPreconditionError(
        absl::StrCat("run ", id, " never ended: a replay of it would prove nothing"));
  }
  if (run.events.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("run ", id, " has no events: there would be nothing to compare"));
  }
  if (run.run.input.cut) {
    return absl::FailedPreconditionError(
        absl::StrCat("the input of run ", id,
                     " was cut by a limit while it was recorded: it cannot be replayed"));
  }
  int64_t index = 0;
  for (const schema::Event& event : run.events) {
    if (event.request.cut || event.response.cut) {
      return absl::FailedPreconditionError(
          absl::StrCat("event #", index, " of run ", id,
                       " was cut by a limit while it was recorded: it cannot be replayed"));
    }
    ++index;
  }
  return absl::OkStatus();
}

store::Bundle ToBundle(const Fixture& fixture) {
  store::Bundle bundle;
  bundle.runs.push_back(fixture.tape);
  bundle.runs.insert(bundle.runs.end(), fixture.other_runs.begin(), fixture.other_runs.end());
  bundle.meta = fixture.other_meta;
  bundle.meta.emplace_back(kName, fixture.name);
  bundle.meta.emplace_back(kReviewed, FormatSeconds(fixture.reviewed_wall_ns));
  if (fixture.max_age_ns) {
    bundle.meta.emplace_back(kMaxAge, std::to_string(*fixture.max_age_ns / kSecond));
  }
  if (!fixture.fingerprint.empty()) bundle.meta.emplace_back(kFingerprint, fixture.fingerprint);
  return bundle;
}

absl::StatusOr<Fixture> FromBundle(store::Bundle bundle, const std::string& path) {
  Fixture fixture;
  fixture.name = TagValue(bundle.meta, kName);
  const std::string reviewed = TagValue(bundle.meta, kReviewed);
  if (bundle.runs.empty() || reviewed.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, " is a bundle and no fixture; `reenact fixture add RUN --out FILE` makes one"));
  }
  absl::Time time;
  if (!absl::ParseTime(absl::RFC3339_full, reviewed, &time, nullptr)) {
    return Unreadable(path, kReviewed, reviewed);
  }
  fixture.reviewed_wall_ns = absl::ToUnixNanos(time);
  const std::string max_age = TagValue(bundle.meta, kMaxAge);
  if (!max_age.empty()) {
    int64_t seconds = 0;
    if (!absl::SimpleAtoi(max_age, &seconds) || seconds < 0 || seconds > INT64_MAX / kSecond) {
      return Unreadable(path, kMaxAge, max_age);
    }
    fixture.max_age_ns = seconds * kSecond;
  }
  fixture.fingerprint = TagValue(bundle.meta, kFingerprint);
  for (auto& tag : bundle.meta) {
    if (tag.first.rfind("fixture.", 0) != 0) fixture.other_meta.push_back(std::move(tag));
  }
  fixture.tape = std::move(bundle.runs.front());
  std::move(bundle.runs.begin() + 1, bundle.runs.end(), std::back_inserter(fixture.other_runs));
  return fixture;
}

std::string_view ToString(FixtureProblem::Kind kind) {
  static constexpr std::string_view kNames[] = {"stale", "empty", "inconclusive", "unused",
                                                "diverged"};
  return kNames[static_cast<size_t>(kind)];
}

std::vector<FixtureProblem> JudgeFixture(const Fixture& fixture,
                                         const replayer::RunnerResult& result,
                                         int64_t now_wall_ns) {
  using Kind = FixtureProblem::Kind;
  std::vector<FixtureProblem> problems;
  const int64_t age_ns = Elapsed(fixture.reviewed_wall_ns, now_wall_ns);
  if (fixture.max_age_ns && age_ns > *fixture.max_age_ns) {
    problems.push_back({Kind::kStale, "last reviewed " + FormatSeconds(fixture.reviewed_wall_ns) +
                                          ", which is longer ago than its max age of " +
                                          AgeText(*fixture.max_age_ns)});
  }
  const replayer::ReplayReport& report = result.report;
  // A program that ended before its run began, or never began it, diverged from nothing.
  const bool never_began = result.verdict == replayer::Verdict::kInconclusive && !report.bound;
  if (ComparedNothing(result) || never_began) {
    problems.push_back({Kind::kEmpty, "nothing was compared: " + InconclusiveReason(result)});
    return problems;
  }
  const auto unused =
      std::count_if(report.divergences.begin(), report.divergences.end(), IsOmission);
  const auto other = static_cast<int64_t>(report.divergences.size()) - unused;
  if (unused > 0) {
    problems.push_back(
        {Kind::kUnused,
         Counted(unused, "of its records was", "of its records were") + " never asked for"});
  }
  if (other > 0) {
    problems.push_back({Kind::kDiverged, Counted(other, "divergence")});
  } else if (report.divergences.empty() && !fixture.fingerprint.empty() &&
             fixture.fingerprint != report.fingerprint) {
    problems.push_back({Kind::kDiverged, "the fingerprint is not the accepted one"});
  }
  if (result.verdict == replayer::Verdict::kInconclusive && other == 0) {
    problems.push_back({Kind::kInconclusive, InconclusiveReason(result)});
  }
  return problems;
}

int ExitCodeOf(const std::vector<FixtureProblem>& problems) {
  using Kind = FixtureProblem::Kind;
  int code = kExitOk;
  for (const FixtureProblem& problem : problems) {
    const bool unmeasured = problem.kind == Kind::kEmpty || problem.kind == Kind::kInconclusive;
    if (!unmeasured) return kExitFinding;
    code = kExitInconclusive;
  }
  return code;
}

absl::Status AcceptReplay(const replayer::RunnerResult& result, int64_t now_wall_ns,
                          Fixture* fixture) {
  const replayer::ReplayReport& report = result.report;
  if (!report.finished || result.verdict == replayer::Verdict::kInconclusive) {
    return absl::FailedPreconditionError(
        absl::StrCat("not accepted: the replay is inconclusive, ", InconclusiveReason(result)));
  }
  std::set<size_t> omitted;
  for (const Divergence& divergence : report.divergences) {
    if (!IsAcceptable(divergence)) {
      Divergence without_values = divergence;  // They are for the report, which lays them out.
      without_values.differences.clear();
      return absl::FailedPreconditionError(
          absl::StrCat("not accepted: the tape has no answer for what the program does now (",
                       MessageOf(without_values), "); record it again and add that run"));
    }
    if (IsOmission(divergence) && divergence.closest) omitted.insert(*divergence.closest);
  }
  schema::RecordedRun& tape = fixture->tape;
  for (auto index = omitted.rbegin(); index != omitted.rend(); ++index) {
    tape.events.erase(tape.events.begin() + static_cast<ptrdiff_t>(*index));
  }
  if (tape.events.empty()) {
    return absl::FailedPreconditionError(
        "not accepted: the program asks for nothing of the tape any more; delete the fixture");
  }
  tape.components = report.derived.components;
  for (schema::Component& component : tape.components) component.at = tape.run.started;
  if (tape.end && report.derived.end) {
    tape.end->state = report.derived.end->state;
    tape.end->detail = report.derived.end->detail;
    if (!report.output_equal) {
      tape.end->output = {};
      tape.end->output.bytes = report.output;
    }
  }
  // The fingerprint covers what was consumed, and a changed expectation changes it: the next run
  // against this fixture is the first that could confirm it.
  fixture->fingerprint = report.divergences.empty() ? report.fingerprint : "";
  fixture->reviewed_wall_ns = now_wall_ns;
  return absl::OkStatus();
}

}  // namespace reenact::tools
