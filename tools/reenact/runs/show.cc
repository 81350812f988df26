#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "tools/reenact/open_store.h"
#include "tools/reenact/runs/run_json.h"
#include "tools/reenact/runs/run_text.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

struct ShowOptions {
  std::string run = "last";
  int64_t event = -1;
  std::string raw;
};

// What of event `index` cannot be read; null: nothing.
const store::DamagedBody* DamageOf(int64_t index, const schema::RecordedRun& run,
                                   const std::vector<store::DamagedBody>& damaged) {
  if (index < 0 || index >= static_cast<int64_t>(run.events.size())) return nullptr;
  const uint64_t sequence = run.events[static_cast<size_t>(index)].sequence;
  for (const store::DamagedBody& body : damaged) {
    if (body.sequence == sequence) return &body;
  }
  return nullptr;
}

void NoteDamage(const Context& context, const schema::RecordedRun& run,
                const std::vector<store::DamagedBody>& damaged) {
  for (size_t i = 0; i < run.events.size(); ++i) {
    if (const auto* body = DamageOf(static_cast<int64_t>(i), run, damaged)) {
      Note(context, "#" + std::to_string(i) + " is shown without what is damaged: " + body->why);
    }
  }
  for (const store::DamagedBody& body : damaged) {
    if (body.sequence == 0) Note(context, "shown without what is damaged: " + body.why);
  }
  if (!damaged.empty()) Note(context, "`reenact verify` says more; a replay needs the whole run");
}

int ShowEvent(const ShowOptions& options, const Context& context, const RunView& view) {
  const auto count = static_cast<int64_t>(view.events.size());
  if (options.event >= count) {
    return Refuse(context, "run " + schema::ToString(view.run().id) + " has " +
                               Counted(count, "event") + ", counted from 0; there is no event " +
                               std::to_string(options.event));
  }
  const EventView& event = view.events[static_cast<size_t>(options.event)];
  if (options.raw == "request") {
    Print(event.event->request.bytes);
  } else if (options.raw == "response") {
    Print(event.event->response.bytes);
  } else if (context.json) {
    JsonWriter json = JsonWriter::Document("show");
    json.TextField("run", schema::ToString(view.run().id));
    json.Key("event");
    WriteEvent(event, true, &json);
    json.EndObject();
    Print(json.Take());
  } else {
    Print(RenderEvent(view, event, context.style));
  }
  return kExitOk;
}

int Show(const ShowOptions& options, const Context& context) {
  if (!options.raw.empty() && options.event < 0) {
    return Refuse(context, "--raw writes the bytes of one event: add --event N");
  }
  auto reader = OpenStore(context);
  if (!reader.ok()) return Fail(context, reader.status());
  std::vector<store::DamagedBody> damaged;
  auto recorded = LoadRun(reader->get(), options.run, &damaged);
  if (!recorded.ok()) return FailReading(context, **reader, recorded.status());
  // "last", above all, may be one that cannot be read.
  NoteProblems(context, (*reader)->problems());
  if (!options.raw.empty()) {
    if (const store::DamagedBody* const body = DamageOf(options.event, *recorded, damaged)) {
      return Fail(context, absl::DataLossError(body->why));
    }
  }
  NoteDamage(context, *recorded, damaged);
  const RunView view = ViewRun(*recorded);
  if (options.event >= 0) return ShowEvent(options, context, view);
  if (context.json) {
    JsonWriter json = JsonWriter::Document("show");
    json.Key("run");
    WriteRun(view, &json);
    json.EndObject();
    Print(json.Take());
  } else {
    Print(RenderRun(view, context.style));
  }
  return kExitOk;
}

}  // namespace

void AddShowVerb(CLI::App* app, Context* context) {
  auto options = std::make_shared<ShowOptions>();
  CLI::App* verb =
      AddVerb(app, context,
              {.name = "show",
               .summary = "One run as a timeline, what stands out first; or one event, whole",
               .example = "  reenact show last\n"
                          "  reenact show 01JNXW --event 3\n"
                          "  reenact show 01JNXW --event 3 --raw response > answer.sse"},
              [options, context] { return Show(*options, *context); });
  verb->add_option("RUN", options->run, "an id, a unique prefix of one, or last")
      ->capture_default_str();
  verb->add_option("--event", options->event, "this event, counted from 0")
      ->check(NonNegative())
      ->type_name("N");
  verb->add_option("--raw", options->raw, "only these bytes of the event, exactly as recorded")
      ->check(CLI::IsMember({"request", "response"}));
}

}  // namespace reenact::tools
