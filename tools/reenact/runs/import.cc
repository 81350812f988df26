#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "store/reader/bundle.h"
#include "tools/reenact/io/write_file.h"
#include "tools/reenact/open_store.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

constexpr absl::string_view kSqliteMagic("SQLite format 3\0", 16);

// A bundle or JSONL, told by its first bytes and not by its name.
absl::StatusOr<store::Bundle> ReadAny(const std::string& path) {
  absl::StatusOr<std::string> bytes = ReadFile(path);
  if (!bytes.ok()) return bytes.status();
  if (absl::StartsWith(*bytes, kSqliteMagic)) return store::ReadBundle(path);
  if (absl::StartsWith(*bytes, "{")) {
    auto bundle = store::FromJsonl(*bytes);
    if (bundle.ok()) return bundle;
    return absl::Status(bundle.status().code(),
                        absl::StrCat(path, ": ", bundle.status().message()));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, " is neither a bundle nor JSONL that reenact wrote"));
}

int Import(const std::string& path, const Context& context) {
  absl::StatusOr<StorePlace> place = FindStore(context);
  if (!place.ok()) return Fail(context, place.status());
  auto bundle = ReadAny(path);
  if (!bundle.ok()) return Fail(context, bundle.status());
  const auto all = static_cast<int64_t>(bundle->runs.size());
  if (all == 0) {
    Note(context, path + " holds no runs");
    return kExitInconclusive;
  }
  auto added = store::ImportRuns(*bundle, place->path);
  if (!added.ok()) return Fail(context, added.status());
  if (context.json) {
    JsonWriter json = JsonWriter::Document("import");
    json.TextField("store", place->path);
    json.IntField("runs_added", *added);
    json.IntField("runs_already_there", all - *added);
    json.EndObject();
    Print(json.Take());
  } else {
    std::string text = "added " + Counted(*added, "run") + " to " + Printable(place->path);
    if (*added < all) text += "; " + std::to_string(all - *added) + " already there";
    Print(text + "\n");
  }
  return kExitOk;
}

}  // namespace

void AddImportVerb(CLI::App* app, Context* context) {
  auto path = std::make_shared<std::string>();
  CLI::App* verb = AddVerb(app, context,
                           {.name = "import",
                            .summary = "Adds the runs of a bundle or JSONL file to a store",
                            .example = "  reenact import refund.reenact\n"
                                       "  reenact import incident.jsonl --store ./incidents"},
                           [path, context] { return Import(*path, *context); });
  verb->add_option("FILE", *path, "what `reenact export` wrote")->required();
}

}  // namespace reenact::tools
