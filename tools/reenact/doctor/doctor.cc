#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "store/writer/drain.h"
#include "tools/reenact/doctor/doctor_checks.h"
#include "tools/reenact/open_store.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

std::vector<std::string> Environment() {
  std::vector<std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    out.emplace_back(*entry);
  }
  return out;
}

bool IsFolder(const std::string& path) {
  struct stat info {};

  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// Opening a store writes down what dead processes left in memory, so this is asked before and
// after: what was found and is gone now is told, and no longer a finding.
Check RingsAfterOpening(const StorePlace& place, Check before) {
  if (before.health != Health::kFinding) return before;
  Check after = CheckLeftoverRings(place);
  if (after.health == Health::kFinding) return after;
  after.health = Health::kNote;
  after.text += "; what a dead process had left in memory has just been written down";
  return after;
}

std::vector<Check> Examine(const StorePlace& place) {
  std::vector<Check> checks;
  checks.push_back(CheckStorePlace(place));
  const Check rings = CheckLeftoverRings(place);
  auto reader = store::StoreReader::Open(place.path);
  if (IsFolder(place.path)) {
    checks.push_back(CheckSpace(place));
    checks.push_back(RingsAfterOpening(place, rings));
    checks.push_back(CheckCatalog(place));
  }
  if (reader.ok()) {
    checks.push_back(CheckSegments(place, reader->get()));
    checks.push_back(CheckClockReads(reader->get()));
  } else if (checks.front().health != Health::kFinding) {
    checks.push_back({.name = "segments",
                      .health = Health::kFinding,
                      .text = std::string(reader.status().message())});
  }
  checks.push_back(CheckRing());
  checks.push_back(CheckSqlite());
  checks.push_back(CheckNetworkGuard());
  checks.push_back(CheckPreload([](const char* name) -> const char* { return std::getenv(name); }));
  checks.push_back(CheckEnvironment(Environment()));
  return checks;
}

void PrintJson(const std::vector<Check>& checks) {
  JsonWriter json = JsonWriter::Document("doctor");
  json.Key("checks");
  json.BeginArray();
  for (const Check& check : checks) {
    json.BeginObject();
    json.TextField("name", check.name);
    json.TextField("health", ToString(check.health));
    json.TextField("text", check.text);
    json.TextField("way_out", check.way_out);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  Print(json.Take());
}

void PrintText(const std::vector<Check>& checks, const Style& style) {
  static constexpr Ink kInks[] = {Ink::kGreen, Ink::kYellow, Ink::kRed};
  for (const Check& check : checks) {
    const Ink ink = kInks[static_cast<size_t>(check.health)];
    Print(style(ink, PadRight(ToString(check.health), 8)) + PadRight(check.name, 15) +
          Printable(check.text) + "\n");
    if (!check.way_out.empty()) {
      Print(std::string(23, ' ') + "-> " + Printable(check.way_out) + "\n");
    }
  }
}

// Writes down what dead processes left. False: something could not be recovered.
bool Recover(const StorePlace& place, const Context& context) {
  const store::RecoveryResult result = store::RecoverStore(place.path);
  Note(context, "recovered " + Counted(result.rings, "ring") + ": " +
                    Counted(result.records, "record") + ", " +
                    Counted(result.incomplete_calls, "call") + " left incomplete");
  for (const std::string& problem : result.problems) Note(context, problem);
  return result.problems.empty();
}

struct DoctorOptions {
  std::string run;  // Empty: the machine and the store.
  bool recover = false;
};

bool Report(const std::vector<Check>& checks, const Context& context) {
  if (context.json) {
    PrintJson(checks);
  } else {
    PrintText(checks, context.style);
  }
  return std::any_of(checks.begin(), checks.end(),
                     [](const Check& check) { return check.health == Health::kFinding; });
}

int ExamineRun(const DoctorOptions& options, const Context& context) {
  auto reader = OpenStore(context);
  if (!reader.ok()) return Fail(context, reader.status());
  const auto run = LoadRun(reader->get(), options.run);
  if (!run.ok()) return FailReading(context, **reader, run.status());
  return Report(CheckRun(*run), context) ? kExitFinding : kExitOk;
}

int Doctor(const DoctorOptions& options, const Context& context) {
  if (!options.run.empty()) return ExamineRun(options, context);
  absl::StatusOr<StorePlace> place = FindStore(context);
  if (!place.ok()) return Fail(context, place.status());
  bool finding = false;
  if (options.recover) {
    if (!IsFolder(place->path)) return Refuse(context, place->path + " is no store folder");
    finding = !Recover(*place, context);
  }
  return Report(Examine(*place), context) || finding ? kExitFinding : kExitOk;
}

}  // namespace

void AddDoctorVerb(CLI::App* app, Context* context) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* verb = AddVerb(
      app, context,
      {.name = "doctor",
       .summary = "Can this machine record and replay well? What could not be seen of a run?",
       .example = "  reenact doctor\n"
                  "  reenact doctor --recover\n"
                  "  reenact doctor last\n"
                  "\n"
                  "Of a run: hosts that it reached past the record, programs that could not be\n"
                  "watched, tools without a record, variables without effect; exit code 1 when\n"
                  "there were such hosts or programs."},
      [options, context] { return Doctor(*options, *context); });
  auto* run = verb->add_option("RUN", options->run, "what this run does not hold, instead");
  verb->add_flag("--recover", options->recover,
                 "write down what processes that died left in memory")
      ->excludes(run);
}

}  // namespace reenact::tools
