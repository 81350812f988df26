#include "tools/reenact/engine/engine_check.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "local_engine/engine/invariance_matrix.h"
#include "tools/reenact/engine/engine.h"
#include "tools/reenact/engine/engine_model.h"
#include "tools/reenact/io/progress.h"
#include "tools/reenact/io/text_table.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

using local_engine::BackendKind;
using local_engine::Engine;
using local_engine::Invariance;
using local_engine::InvarianceName;
using local_engine::MatrixRow;
using local_engine::MatrixSettings;

constexpr size_t kCheckTableWidth = 120;

struct CheckOptions {
  std::string model;
  std::vector<std::string> only;
  std::vector<std::string> devices = {"cpu"};
  bool quick = false;
};

struct CheckedRow {
  Invariance invariance;
  MatrixRow row;
};

std::vector<Invariance> AllInvariances() {
  std::vector<Invariance> all(std::begin(local_engine::kInvariances),
                              std::end(local_engine::kInvariances));
  all.push_back(Invariance::kDevice);
  return all;
}

std::string NameList() {
  std::string names;
  for (const Invariance invariance : AllInvariances()) {
    names += (names.empty() ? "" : ", ") + std::string(InvarianceName(invariance));
  }
  return names;
}

// Without names all, of which DEVICE takes more than one device.
absl::StatusOr<std::vector<Invariance>> Chosen(const std::vector<std::string>& names,
                                               size_t device_count) {
  const std::vector<Invariance> all = AllInvariances();
  std::vector<Invariance> chosen;
  for (std::string name : names) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    const auto found = std::find_if(all.begin(), all.end(), [&name](Invariance invariance) {
      return name == InvarianceName(invariance);
    });
    if (found == all.end()) {
      return absl::InvalidArgumentError("there is no invariance " + name + "; there are " +
                                        NameList());
    }
    if (*found == Invariance::kDevice && device_count < 2) {
      return absl::InvalidArgumentError("DEVICE compares devices: name two, as --devices cpu,cuda");
    }
    chosen.push_back(*found);
  }
  if (names.empty()) {
    chosen = all;
    if (device_count < 2) chosen.pop_back();
  }
  return chosen;
}

BackendKind BackendNamed(const std::string& device) {
  return device == "cuda" ? BackendKind::kCuda : BackendKind::kCpu;
}

// A minute or so for a model of a billion parameters, in place of many.
MatrixSettings QuickSettings() {
  MatrixSettings settings;
  settings.batch_sizes = {2, 5};
  settings.chunk_sizes = {3, 32};
  settings.lengths = {2, 9, 31, 32, 33, 65};
  settings.prompt_tokens = 20;
  settings.output_tokens = 6;
  settings.residue_step = 8;
  settings.orders = 4;
  settings.thread_counts = {1, 2};
  return settings;
}

void PrintJson(const std::string& model, const local_engine::EngineIdentity& identity,
               const std::vector<CheckedRow>& rows) {
  JsonWriter json = JsonWriter::Document("engine check");
  json.TextField("model", model);
  WriteIdentity(identity, &json);
  json.Key("rows");
  json.BeginArray();
  for (const CheckedRow& checked : rows) {
    json.BeginObject();
    json.TextField("invariance", InvarianceName(checked.invariance));
    json.TextField("verdict", InvarianceVerdict(checked.row));
    json.IntField("comparisons", checked.row.comparisons);
    json.IntField("differences", checked.row.differences);
    json.GivenTextField("first_difference", checked.row.first_difference);
    json.BoolField("path_ran", checked.row.path_ran);
    json.TextField("proof", checked.row.proof);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  Print(json.Take());
}

void PrintText(const local_engine::EngineIdentity& identity, const std::vector<CheckedRow>& rows,
               const Style& style) {
  Table table({{.title = "invariance"},
               {.title = "verdict"},
               {.title = "comparisons", .right = true},
               {.title = "differences", .right = true},
               {.title = "that it was tried", .shrinks = true}},
              kCheckTableWidth);
  int64_t comparisons = 0;
  for (const CheckedRow& checked : rows) {
    const MatrixRow& row = checked.row;
    comparisons += row.comparisons;
    const bool holds = row.differences == 0 && row.path_ran;
    table.AddRow({InvarianceName(checked.invariance), InvarianceVerdict(row),
                  WithThousands(row.comparisons), WithThousands(row.differences), row.proof},
                 row.differences > 0 ? Ink::kRed : (holds ? Ink::kPlain : Ink::kYellow));
  }
  Print(table.Render(style));
  for (const CheckedRow& checked : rows) {
    if (checked.row.differences == 0) continue;
    Print(std::string(InvarianceName(checked.invariance)) + ": " +
          Printable(checked.row.first_difference) + "\n");
  }
  Print(WithThousands(comparisons) + " comparisons of 32 bits on " + identity.Fingerprint() + "\n");
}

int CheckEngine(const CheckOptions& options, const Context& context) {
  const absl::StatusOr<std::vector<Invariance>> chosen =
      Chosen(options.only, options.devices.size());
  if (!chosen.ok()) return Fail(context, chosen.status());
  MatrixSettings settings = options.quick ? QuickSettings() : MatrixSettings();
  settings.model_path = options.model;
  settings.backend = BackendNamed(options.devices[0]);
  local_engine::EngineIdentity identity;
  for (const std::string& device : options.devices) {
    // What cannot be loaded is said before anything is tried.
    const absl::StatusOr<std::unique_ptr<Engine>> engine =
        LoadEngine({.path = options.model, .device = BackendNamed(device)}, context);
    if (!engine.ok()) return Fail(context, engine.status());
    identity = (*engine)->identity();
    if (&device != &options.devices[0]) settings.other_backends.push_back(BackendNamed(device));
  }
  std::vector<CheckedRow> rows;
  {
    Progress progress(context.progress, "checking");
    for (const Invariance invariance : *chosen) {
      progress.Show(static_cast<int64_t>(rows.size()), static_cast<int64_t>(chosen->size()));
      absl::StatusOr<MatrixRow> row = RunInvariance(invariance, settings);
      if (!row.ok()) {
        const std::string what =
            std::string(InvarianceName(invariance)) + ": " + std::string(row.status().message());
        return FailWith(context, absl::Status(row.status().code(), what), kExitInconclusive);
      }
      rows.push_back({invariance, *std::move(row)});
    }
  }
  if (context.json) {
    PrintJson(options.model, identity, rows);
  } else {
    PrintText(identity, rows, context.style);
  }
  std::vector<MatrixRow> bare;
  for (const CheckedRow& checked : rows) bare.push_back(checked.row);
  return InvarianceExitCode(bare);
}

}  // namespace

const char* InvarianceVerdict(const MatrixRow& row) {
  if (row.differences > 0) return "differs";
  return row.path_ran && row.comparisons > 0 ? "holds" : "not tried";
}

ExitCode InvarianceExitCode(const std::vector<MatrixRow>& rows) {
  ExitCode code = rows.empty() ? kExitInconclusive : kExitOk;
  for (const MatrixRow& row : rows) {
    if (row.differences > 0) return kExitFinding;
    if (!row.path_ran || row.comparisons == 0) code = kExitInconclusive;
  }
  return code;
}

void AddEngineCheck(CLI::App* group, Context* context) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* verb = AddVerb(
      group, context,
      {.name = "check",
       .summary =
           "Does this model give the same bits in any company? Compares, and proves it tried",
       .example = "  reenact engine check --model models/qwen3-0.6b --quick\n"
                  "  reenact engine check --model model.gguf --only BATCH --only CACHE --json\n"
                  "  reenact engine check --model model.gguf --devices cpu,cuda",
       .takes_store = false},
      [options, context] { return CheckEngine(*options, *context); });
  verb->add_option("--model", options->model, "a Hugging Face folder, or a .gguf file")
      ->required()
      ->type_name("DIR|FILE");
  verb->add_option("--only", options->only, "this invariance; repeat it for more. " + NameList())
      ->type_name("NAME")
      ->allow_extra_args(false);
  verb->add_option("--devices", options->devices,
                   "cpu, cuda: of the rows the first; DEVICE compares the others with it")
      ->delimiter(',')
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->type_name("NAME,NAME")
      ->default_str("cpu");
  verb->add_flag("--quick", options->quick, "fewer sizes of everything, for large models");
}

}  // namespace reenact::tools
