#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "schema/redaction.h"
#include "tools/reenact/io/text_table.h"
#include "tools/reenact/open_store.h"
#include "tools/reenact/runs/run_view.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

struct SearchOptions {
  std::string text;
  int64_t limit = 50;
};

// From a hit's sequence number to the index that people and `show --event` use.
class EventIndexes {
 public:
  explicit EventIndexes(store::StoreReader* reader) : reader_(reader) {}

  std::optional<int64_t> Find(const schema::Ulid& run, uint64_t sequence) {
    auto [known, added] = by_run_.try_emplace(run);
    if (added) {
      auto recorded = reader_->LoadRun(run, {.bodies = false});
      if (recorded.ok()) {
        int64_t index = 0;
        for (const schema::Event& event : recorded->events) known->second[event.sequence] = index++;
      }
    }
    const auto event = known->second.find(sequence);
    if (event == known->second.end()) return std::nullopt;
    return event->second;
  }

 private:
  store::StoreReader* reader_;
  std::map<schema::Ulid, std::map<uint64_t, int64_t>> by_run_;
};

void PrintJson(const std::vector<store::SearchHit>& hits, bool more, EventIndexes* indexes) {
  JsonWriter json = JsonWriter::Document("search");
  json.BoolField("more", more);
  json.Key("hits");
  json.BeginArray();
  for (const store::SearchHit& hit : hits) {
    json.BeginObject();
    json.TextField("run", schema::ToString(hit.run));
    if (const auto index = indexes->Find(hit.run, hit.sequence)) {
      json.IntField("event", *index);
    } else {
      json.NullField("event");  // The hit is in the run's input or output.
    }
    json.TextField("where", hit.where);
    json.TextField("snippet", hit.snippet);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  Print(json.Take());
}

void PrintTable(const std::vector<store::SearchHit>& hits, const Context& context,
                EventIndexes* indexes) {
  Table table({{.title = "RUN"},
               {.title = "EVENT", .right = true},
               {.title = "WHERE"},
               {.title = "TEXT", .shrinks = true}},
              100);
  for (const store::SearchHit& hit : hits) {
    const auto index = indexes->Find(hit.run, hit.sequence);
    table.AddRow({schema::ToString(hit.run), index ? "#" + std::to_string(*index) : "-", hit.where,
                  hit.snippet});
  }
  Print(table.Render(context.style));
}

int Search(const SearchOptions& options, const Context& context) {
  auto reader = OpenStore(context);
  if (!reader.ok()) return Fail(context, reader.status());
  auto hits = (*reader)->Search(options.text, options.limit == 0 ? 0 : options.limit + 1);
  if (!hits.ok()) return Fail(context, hits.status());
  const bool more = options.limit != 0 && static_cast<int64_t>(hits->size()) > options.limit;
  if (more) hits->erase(hits->begin(), hits->end() - options.limit);
  EventIndexes indexes(reader->get());
  if (context.json) {
    PrintJson(*hits, more, &indexes);
  } else if (hits->empty()) {
    // Who looks for a key that leaked does not want it in a log.
    Note(context, "not found: \"" + schema::RedactBody(options.text, {}).bytes + "\"");
  } else {
    PrintTable(*hits, context, &indexes);
  }
  NoteProblems(context, (*reader)->problems());
  if (more) Note(context, "there are more hits; --limit 0 shows all of them");
  return kExitOk;
}

}  // namespace

void AddSearchVerb(CLI::App* app, Context* context) {
  auto options = std::make_shared<SearchOptions>();
  CLI::App* verb =
      AddVerb(app, context,
              {.name = "search",
               .summary = "Text in messages, answers, tools, retrievals, inputs and outputs",
               .example = "  reenact search 'refund of 1,200'\n  reenact search A-1009 --json"},
              [options, context] { return Search(*options, *context); });
  verb->add_option("TEXT", options->text, "the words to look for")->required();
  verb->add_option("--limit", options->limit, "at most so many hits, the newest; 0: all")
      ->check(NonNegative())
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace reenact::tools
