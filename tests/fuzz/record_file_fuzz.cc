// Segments and bundles as files: each reader of them, on any bytes. What is read as a bundle can be
// written and read again, and is the same.

#include "store/reader/segment_reader.h"
#include "store/reader/store_reader.h"
#include "store/reader/verify.h"
#include "tests/fuzz/record_seeds.h"

namespace reenact::fuzz::record_file {
namespace {

void Walk(std::string_view bytes) {
  auto opened = store::SegmentReader::OpenBytes(bytes, "input");
  if (!opened.ok()) return;
  store::SegmentReader& reader = **opened;
  (void)reader.RowCount();
  (void)reader.RunHeads();
  (void)reader.ForEachRun(/*bodies=*/true, [&](const store::RunRow& row) {
    (void)reader.Components(row.ordinal, true);
    (void)reader.Events(row.ordinal, true);
    (void)reader.Gaps(row.ordinal);
    (void)reader.CheckRows(row);
    return absl::OkStatus();
  });
  (void)reader.ForEachEvent(0, [](const store::EventRow&) { return absl::OkStatus(); });
  (void)reader.OpenCalls();
  (void)reader.Marks();
  (void)reader.Meta();
}

}  // namespace

void FuzzOne(std::string_view bytes) {
  Walk(bytes);
  const std::string path = WriteScratch("input.bundle", bytes);
  if (auto reader = store::StoreReader::Open(path); reader.ok()) {
    (void)(*reader)->ListRuns({});
    (void)(*reader)->Search("refund", 3);
    (void)store::VerifyStore(path, {});
  }
  const absl::StatusOr<store::Bundle> bundle = store::ReadBundle(path);
  if (!bundle.ok()) return;
  Reached();
  const std::string copy = ScratchFolder() + "/copy.bundle";
  if (!store::WriteBundle(*bundle, copy, /*replace=*/true).ok()) return;
  const absl::StatusOr<store::Bundle> again = store::ReadBundle(copy);
  if (!again.ok()) Broken("a copy cannot be read: " + again.status().ToString());
  if (store::ToJsonl(*again) != store::ToJsonl(*bundle)) Broken("a copy that differs");
}

std::vector<std::string> Seeds() {
  store::RecordedStore recorded;
  auto writer = recorded.NewSegment();
  for (const schema::RecordedRun& run : SampleBundle(2).runs) store::WriteRun(writer.get(), run);
  const std::string path = writer->path();
  recorded.Seal(writer.get());
  return {BundleBytes(SampleBundle(1)), BundleBytes(SampleBundle(3)), ReadBytes(path)};
}

std::vector<std::string> Tokens() {
  return {std::string("SQLite format 3\0", 16),
          "CREATE TABLE",
          "CREATE TRIGGER",
          "CREATE VIEW",
          "reenact.grouped",
          "reenact.owner",
          std::string(8, '\0'),
          "\xff\xff\xff\xff\xff\xff\xff\xff"};
}

const bool added = AddTarget({"record_file", FuzzOne, Seeds, Tokens});

}  // namespace reenact::fuzz::record_file
