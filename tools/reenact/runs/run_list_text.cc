#include <algorithm>
#include <string>
#include <vector>

#include "tools/reenact/io/text_table.h"
#include "tools/reenact/io/time_text.h"
#include "tools/reenact/runs/run_text.h"

namespace reenact::tools {
namespace {

// The first twelve characters hold the time and ten bits of randomness: enough for most lists.
constexpr size_t kShortestId = 12;

// The length at which no two of these ids share a beginning.
size_t UniquePrefixLength(std::vector<std::string> ids) {
  std::sort(ids.begin(), ids.end());
  size_t length = kShortestId;
  for (size_t i = 1; i < ids.size(); ++i) {
    const auto mismatch = std::mismatch(ids[i - 1].begin(), ids[i - 1].end(), ids[i].begin());
    length = std::max(length, static_cast<size_t>(mismatch.first - ids[i - 1].begin()) + 1);
  }
  return length;
}

std::string Models(const store::RunSummary& run) {
  std::string out;
  for (const std::string& model : run.asked_models) out += (out.empty() ? "" : ", ") + model;
  std::string served;
  for (std::string model : run.served_models) {
    if (std::find(run.asked_models.begin(), run.asked_models.end(), model) !=
        run.asked_models.end())
      continue;
    // "gpt-4o -> …-2024-11-20": what the alias came to is the part that tells.
    if (run.asked_models.size() == 1 && model.rfind(run.asked_models[0] + "-", 0) == 0) {
      model = "…" + model.substr(run.asked_models[0].size());
    }
    served += (served.empty() ? "" : ", ") + model;
  }
  return served.empty() ? out : out + " -> " + served;
}

// On disk: a call of it cannot be read, which says nothing of how the call ended.
bool IsDamaged(const store::RunSummary& run) {
  return std::find(run.errors.begin(), run.errors.end(), store::kDamagedError) != run.errors.end();
}

std::string State(const store::RunSummary& run) {
  if (run.in_progress) return "running";
  std::string out = schema::DescribeEnd(run.state, run.state_detail);
  if (IsDamaged(run)) out += ", damaged";
  if (run.state == schema::EndState::kComplete && run.error_calls > 0) {
    out += ", " + Counted(run.error_calls, "call") + " failed";
  }
  if (run.lost_events > 0) out += ", events lost";
  return out;
}

Ink InkOf(const store::RunSummary& run) {
  if (run.in_progress) return Ink::kPlain;
  if (run.state != schema::EndState::kComplete) return Ink::kRed;
  return run.error_calls > 0 || run.lost_events > 0 ? Ink::kYellow : Ink::kPlain;
}

}  // namespace

std::string RenderRunList(const std::vector<store::RunSummary>& runs, const Style& style) {
  std::vector<std::string> ids;
  for (const store::RunSummary& run : runs) ids.push_back(schema::ToString(run.id));
  const size_t id_length = UniquePrefixLength(ids);
  Table table({{.title = ""},
               {.title = "RUN"},
               {.title = "STARTED"},
               {.title = "SERVICE", .shrinks = true},
               {.title = "ENTRY", .shrinks = true},
               {.title = "MODELS", .shrinks = true},
               {.title = "CALLS", .right = true},
               {.title = "STATE", .shrinks = true}},
              kTextWidth);
  for (size_t i = 0; i < runs.size(); ++i) {
    const store::RunSummary& run = runs[i];
    const std::string calls = std::to_string(run.model_calls + run.tool_calls + run.retrievals);
    std::string mark = run.incidents.empty() ? "" : "!";
    if (run.origin == schema::RunOrigin::kReplay) mark += "r";
    table.AddRow({mark, ids[i].substr(0, id_length), FormatSeconds(run.started_wall_ns),
                  run.service, run.entry, Models(run), calls, State(run)},
                 InkOf(run));
  }
  return table.Render(style);
}

}  // namespace reenact::tools
