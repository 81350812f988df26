#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "tools/reenact/open_store.h"
#include "tools/reenact/runs/run_diff.h"
#include "tools/reenact/runs/run_diff_text.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

struct DiffOptions {
  std::string a;
  std::string b;
  bool ignore_readings = false;
};

int Diff(const DiffOptions& options, const Context& context) {
  auto reader = OpenStore(context);
  if (!reader.ok()) return Fail(context, reader.status());
  auto a = LoadRun(reader->get(), options.a);
  if (!a.ok()) return FailReading(context, **reader, a.status());
  auto b = LoadRun(reader->get(), options.b);
  if (!b.ok()) return FailReading(context, **reader, b.status());
  NoteProblems(context, (*reader)->problems());
  const RunView view_a = ViewRun(*a);
  const RunView view_b = ViewRun(*b);
  RunDiff diff = DiffRuns(view_a, view_b);
  if (options.ignore_readings) {
    diff.equal_pairs += static_cast<int64_t>(diff.readings.size());
    diff.readings.clear();
  }
  const bool equal = diff.differences.empty() && diff.readings.empty();
  if (context.json) {
    JsonWriter json = JsonWriter::Document("diff");
    json.TextField("a", schema::ToString(view_a.run().id));
    json.TextField("b", schema::ToString(view_b.run().id));
    json.TextField("result", diff.nothing_to_compare ? "nothing_to_compare"
                             : equal                 ? "equal"
                                                     : "different");
    WriteDiff(diff, &json);
    json.EndObject();
    Print(json.Take());
  } else {
    Print(RenderDiff(view_a, view_b, diff, context.style));
  }
  if (diff.nothing_to_compare) return kExitInconclusive;
  return equal ? kExitOk : kExitFinding;
}

}  // namespace

void AddDiffVerb(CLI::App* app, Context* context) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App* verb = AddVerb(app, context,
                           {.name = "diff",
                            .summary = "Two runs side by side, the first difference first",
                            .example = "  reenact diff 01JNXW 01JP0A\n"
                                       "  reenact diff 01JNXW last --ignore-readings --json"},
                           [options, context] { return Diff(*options, *context); });
  verb->add_option("A", options->a, "the run to compare with: yesterday's good one")->required();
  verb->add_option("B", options->b, "the run in question")->required();
  verb->add_flag("--ignore-readings", options->ignore_readings,
                 "clock, random and env readings do not count: those of two runs always differ");
}

}  // namespace reenact::tools
