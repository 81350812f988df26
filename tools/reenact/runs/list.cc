#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "schema/trace_context.h"
#include "tools/reenact/io/time_option.h"
#include "tools/reenact/open_store.h"
#include "tools/reenact/runs/run_json.h"
#include "tools/reenact/runs/run_text.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

struct ListOptions {
  std::string since;
  std::string until;
  std::vector<std::string> tags;
  int64_t limit = 50;
  store::RunFilter filter;
};

absl::Status ReadOptionalTime(const Context& context, const std::string& text,
                              std::optional<int64_t>* wall_ns) {
  if (text.empty()) return absl::OkStatus();
  const absl::StatusOr<int64_t> read = ReadTime(context, text);
  if (read.ok()) *wall_ns = *read;
  return read.status();
}

// "00-TRACE-PARENT-FLAGS" as logs and headers have it, or a trace id, or the beginning of one.
absl::Status ReadTrace(std::string* trace_id) {
  if (trace_id->find('-') == std::string::npos) {
    absl::AsciiStrToLower(trace_id);
    return absl::OkStatus();
  }
  std::string parsed = schema::ParseTraceId(*trace_id);
  if (parsed.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--trace \"", *trace_id,
        "\" is no W3C traceparent: those read 00-TRACE_ID-PARENT_ID-FLAGS, with 32, 16 "
        "and 2 hex digits"));
  }
  *trace_id = std::move(parsed);
  return absl::OkStatus();
}

void ReadTags(const std::vector<std::string>& texts, schema::Tags* tags) {
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    tags->emplace_back(text.substr(0, equals),
                       equals == std::string::npos ? "" : text.substr(equals + 1));
  }
}

int List(ListOptions options, const Context& context) {
  store::RunFilter& filter = options.filter;
  for (const auto& [text, wall_ns] : {std::pair{&options.since, &filter.since_wall_ns},
                                      std::pair{&options.until, &filter.until_wall_ns}}) {
    if (absl::Status read = ReadOptionalTime(context, *text, wall_ns); !read.ok())
      return Fail(context, read);
  }
  if (absl::Status read = ReadTrace(&filter.trace_id); !read.ok()) return Fail(context, read);
  ReadTags(options.tags, &filter.tags);
  // One more than asked for tells whether there are more.
  filter.limit = options.limit == 0 ? 0 : options.limit + 1;

  auto reader = OpenStore(context);
  if (!reader.ok()) return Fail(context, reader.status());
  auto runs = (*reader)->ListRuns(filter);
  if (!runs.ok()) return Fail(context, runs.status());
  const bool more = options.limit != 0 && static_cast<int64_t>(runs->size()) > options.limit;
  if (more) runs->erase(runs->begin(), runs->end() - options.limit);

  if (context.json) {
    JsonWriter json = JsonWriter::Document("list");
    json.BoolField("more", more);
    json.Key("runs");
    json.BeginArray();
    for (const store::RunSummary& run : *runs) WriteRunSummary(run, &json);
    json.EndArray();
    json.Key("problems");
    json.BeginArray();
    for (const std::string& problem : (*reader)->problems()) json.Text(problem);
    json.EndArray();
    json.EndObject();
    Print(json.Take());
  } else if (runs->empty()) {
    Note(context, "no run matches");
  } else {
    Print(RenderRunList(*runs, context.style));
  }
  NoteProblems(context, (*reader)->problems());
  if (more) {
    Note(context,
         "these are the newest " + std::to_string(options.limit) + "; --limit 0 lists all of them");
  }
  return kExitOk;
}

}  // namespace

void AddListVerb(CLI::App* app, Context* context) {
  auto options = std::make_shared<ListOptions>();
  CLI::App* verb = AddVerb(
      app, context,
      {.name = "list",
       .summary = "The runs of a store, newest last; ! marks incidents, r replays",
       .example =
           "  reenact list --since 2h --service refund-agent --errors\n"
           "  reenact list --since '2026-03-01 02:00' --model 'gpt-4o*' --tag customer=acme"},
      [options, context] { return List(*options, *context); });
  store::RunFilter& filter = options->filter;
  verb->add_option("--since", options->since, "from here on: 2h, 3d (ago), or a time")
      ->type_name("TIME");
  verb->add_option("--until", options->until, "up to here")->type_name("TIME");
  verb->add_option("--service", filter.service, "of this service")->type_name("NAME");
  verb->add_option("--trace", filter.trace_id,
                   "of this W3C trace id, a prefix of one, or a traceparent")
      ->type_name("ID");
  verb->add_option("--model", filter.model, "asked or served; * at the end matches any rest")
      ->type_name("NAME");
  verb->add_option("--tag", options->tags, "with this tag; repeat it for more tags")
      ->type_name("NAME[=VALUE]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb->add_flag("--errors", filter.errors_only, "only runs in which something failed");
  verb->add_option("--error", filter.error, "with this text in an error; capitals do not count")
      ->type_name("TEXT");
  verb->add_flag("--replays", filter.include_replays, "replays as well");
  verb->add_option("--limit", options->limit, "at most so many, the newest; 0: all")
      ->check(NonNegative())
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace reenact::tools
