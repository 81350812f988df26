// catalog.db holds nothing that cannot be rebuilt: whatever became of it, runs are listed and
// found.

#include "store/reader/store_reader.h"
#include "tests/fuzz/record_seeds.h"

namespace reenact::fuzz::catalog {
namespace {

struct RecordedFolder {
  RecordedFolder() {
    auto writer = store.NewSegment();
    for (const schema::RecordedRun& run : SampleBundle(2).runs) store::WriteRun(writer.get(), run);
    store.Seal(writer.get());
  }

  store::RecordedStore store;
};

const store::RecordedStore& Recorded() {
  static const RecordedFolder folder;
  return folder.store;
}

}  // namespace

void FuzzOne(std::string_view bytes) {
  const std::string catalog = Recorded().layout().catalog();
  std::ofstream(catalog, std::ios::binary | std::ios::trunc) << bytes;
  const auto reader = store::StoreReader::Open(Recorded().path());
  if (!reader.ok()) Broken("the store does not open: " + reader.status().ToString());
  const auto runs = (*reader)->ListRuns({});
  if (!runs.ok()) Broken("no list: " + runs.status().ToString());
  const auto hits = (*reader)->Search("refund", 10);
  if (!hits.ok()) Broken("no search: " + hits.status().ToString());
  if (runs->size() == 2) Reached();
}

std::vector<std::string> Seeds() {
  const auto reader = store::StoreReader::Open(Recorded().path());
  if (!reader.ok() || !(*reader)->ListRuns({}).ok() || !(*reader)->Search("refund", 1).ok()) {
    Broken("the sample store cannot be read");
  }
  return {ReadBytes(Recorded().layout().catalog()), ""};
}

std::vector<std::string> Tokens() {
  return {std::string("SQLite format 3\0", 16),
          "CREATE TABLE",
          "CREATE VIRTUAL TABLE",
          "fts5",
          std::string(16, '\0'),
          "\xff\xff\xff\xff"};
}

const bool added = AddTarget({"catalog", FuzzOne, Seeds, Tokens});

}  // namespace reenact::fuzz::catalog
