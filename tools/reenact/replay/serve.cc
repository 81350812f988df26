#include <poll.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "replayer/http/answer_server.h"
#include "replayer/replay_session.h"
#include "schema/recorded_command.h"
#include "store/reader/bundle.h"
#include "store/store_layout.h"
#include "tools/reenact/io/terminal_text.h"
#include "tools/reenact/open_store.h"
#include "tools/reenact/record/interruption.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

struct ServeOptions {
  std::vector<std::string> subjects;
  uint16_t port = 0;
  bool pace = false;
};

// A bundle's or fixture's runs, or one of the store's.
absl::StatusOr<std::vector<schema::RecordedRun>> Load(const std::string& subject,
                                                      const Context& context) {
  if (subject.find('/') != std::string::npos || subject.ends_with(".reenact")) {
    auto bundle = store::ReadBundle(subject);
    if (!bundle.ok()) return bundle.status();
    return std::move(bundle->runs);
  }
  auto reader = OpenStore(context);
  if (!reader.ok()) return reader.status();
  auto run = LoadRun(reader->get(), subject);
  if (!run.ok()) return run.status();
  return std::vector<schema::RecordedRun>{*std::move(run)};
}

void AddRoutes(const schema::Run& run, std::vector<schema::CommandRoute>* routes) {
  const std::optional<schema::RecordedCommand> command = schema::CommandOf(run);
  if (!command) return;
  for (const schema::CommandRoute& route : command->routes) {
    const bool known = std::any_of(routes->begin(), routes->end(),
                                   [&](const auto& other) { return other.prefix == route.prefix; });
    if (!known) routes->push_back(route);
  }
}

// One tape of all their events: those of the first run first.
schema::RecordedRun Join(std::vector<schema::RecordedRun> runs) {
  schema::RecordedRun joined = std::move(runs.front());
  uint64_t sequence = 0;
  for (const schema::Event& event : joined.events) {
    sequence = std::max({sequence, event.sequence, event.end_sequence});
  }
  for (size_t i = 1; i < runs.size(); ++i) {
    uint64_t last = sequence;
    for (schema::Event& event : runs[i].events) {
      event.sequence += sequence;
      if (event.end_sequence != 0) event.end_sequence += sequence;
      last = std::max({last, event.sequence, event.end_sequence});
      joined.events.push_back(std::move(event));
    }
    sequence = last;
  }
  // Readings are asked for by a program that is replayed, not over HTTP.
  std::erase_if(joined.events,
                [](const schema::Event& event) { return !replayer::IsCall(event.boundary); });
  joined.components.clear();
  joined.end.reset();
  return joined;
}

int ExitCode(const replayer::ReplayReport& report, int64_t asked) {
  if (asked == 0) return kExitInconclusive;
  return report.divergences.empty() ? kExitOk : kExitFinding;
}

void Report(const replayer::ReplayReport& report, int64_t asked, const Context& context) {
  if (context.json) {
    JsonWriter json = JsonWriter::Document("serve");
    json.IntField("requests", asked);
    json.IntField("calls_served", report.calls_served);
    json.IntField("calls_on_tape", report.calls_on_tape);
    json.Key("divergences");
    json.BeginArray();
    for (const replayer::Divergence& divergence : report.divergences) {
      json.BeginObject();
      json.TextField("kind", replayer::ToString(divergence.kind));
      json.TextField("text", replayer::MessageOf(divergence));
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
    return Print(json.Take());
  }
  Print(std::to_string(report.calls_served) + " of " + Counted(report.calls_on_tape, "call") +
        " served, " + Counted(static_cast<int64_t>(report.divergences.size()), "divergence") +
        "\n");
  for (const replayer::Divergence& divergence : report.divergences) {
    Print("  " + std::string(replayer::ToString(divergence.kind)) + ": " +
          Printable(replayer::MessageOf(divergence)) + "\n");
  }
  if (asked == 0) Print("inconclusive: nothing was asked\n");
}

int Serve(const ServeOptions& options, const Context& context) {
  std::vector<schema::RecordedRun> runs;
  std::vector<schema::CommandRoute> routes;
  for (const std::string& subject : options.subjects) {
    auto loaded = Load(subject, context);
    if (!loaded.ok()) return Fail(context, loaded.status());
    for (schema::RecordedRun& run : *loaded) {
      AddRoutes(run.run, &routes);
      runs.push_back(std::move(run));
    }
  }
  if (runs.empty()) return Refuse(context, "there is no run to serve");
  replayer::ReplaySession session(Join(std::move(runs)), {});
  const schema::Run& run = session.recorded_run();
  session.Answer(schema::BeginRun{run.entry, run.input.bytes, {}});
  Interruption interruption;
  using replayer::AnswerPace;
  // Several runs have no time in common, and a test asks for what it likes: there is no order.
  const AnswerPace pace = options.pace ? AnswerPace::kRecordedTime : AnswerPace::kAtOnce;
  auto server = replayer::AnswerServer::Start(
      &session, {.routes = routes, .pace = pace, .port = options.port});
  if (!server.ok()) return Fail(context, server.status());
  Note(context, "answering at " + (*server)->url() + " until SIGTERM or Ctrl-C");
  while (!Interruption::Happened()) {
    constexpr int kStepMs = 50;
    poll(nullptr, 0, kStepMs);
  }
  const int64_t asked = (*server)->asked();
  server->reset();
  const replayer::ReplayReport report =
      session.Finish({.wall_ns = store::WallNowNs(), .monotonic_ns = 0});
  Report(report, asked, context);
  return ExitCode(report, asked);
}

}  // namespace

void AddServeVerb(CLI::App* app, Context* context) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* verb = AddVerb(
      app, context,
      {.name = "serve",
       .summary = "Answers HTTP requests from recorded runs, for test suites in any language",
       .example =
           "  reenact serve last --port 4010\n"
           "  reenact serve tests/refund.reenact\n"
           "\n"
           "Its address is printed on standard error. Clients take it as their base URL, as it is\n"
           "or with the /NAME of a recorded route; what is not on the tape gets status 400 and is\n"
           "told what differs.\n"
           "GET /reenact/report tells the divergences so far. After SIGTERM: exit code 0 when all\n"
           "was asked for and answered, 1 when something differed, 3 when nothing was asked."},
      [options, context] { return Serve(*options, *context); });
  verb->add_option("RUN", options->subjects, "runs of the store, bundles or fixtures")->required();
  verb->add_option("--port", options->port, "port on 127.0.0.1; 0 takes any free one")
      ->type_name("PORT")
      ->capture_default_str();
  verb->add_flag("--pace", options->pace, "answers take as long as they took when recorded");
}

}  // namespace reenact::tools
