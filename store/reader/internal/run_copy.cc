#include "store/reader/internal/run_copy.h"

#include <dirent.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "store/reader/bundle.h"
#include "store/reader/internal/part_scan.h"
#include "store/reader/segment_reader.h"

namespace reenact::store::internal {

namespace {

constexpr char kCopyPrefix[] = "promote.";

}  // namespace

std::string TemporaryCopyPath(const StoreLayout& layout) {
  return absl::StrCat(layout.root, "/", kCopyPrefix, ToString(NewUlid()), ".tmp");
}

void RemoveTemporaryCopies(const StoreLayout& layout) {
  DIR* listed = opendir(layout.root.c_str());
  if (listed == nullptr) return;
  while (const dirent* entry = readdir(listed)) {
    if (absl::StartsWith(entry->d_name, kCopyPrefix))
      unlink(absl::StrCat(layout.root, "/", entry->d_name).c_str());
  }
  closedir(listed);
}

absl::StatusOr<std::string> TakeFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  const bool whole = in.good() || in.eof();
  unlink(path.c_str());
  if (!whole) return absl::UnavailableError(absl::StrCat(path, " cannot be read"));
  return std::move(bytes).str();
}

absl::StatusOr<RunPart> PartOfCopy(const std::string& bundle, const schema::Ulid& run) {
  auto reader = SegmentReader::OpenBytes(bundle, "incidents.db");
  if (!reader.ok()) return reader.status();
  RunParts parts;
  int64_t scanned_ordinal = 0;
  absl::Status damage;
  absl::Status scanned = ScanParts(
      reader->get(), {.parts = &parts,
                      .scanned_ordinal = &scanned_ordinal,
                      .damage = [&](std::string text) { damage = absl::DataLossError(text); }});
  if (!scanned.ok()) return scanned;
  if (!damage.ok()) return damage;
  return std::move(parts[run]);
}

absl::StatusOr<RunCopy> CopyRun(schema::RecordedRun recorded, const StoreLayout& layout) {
  const schema::Ulid run = recorded.run.id;
  const std::string temporary = TemporaryCopyPath(layout);
  Bundle bundle;
  bundle.runs.push_back(std::move(recorded));
  if (absl::Status written = WriteBundle(bundle, temporary, false); !written.ok()) return written;
  auto bytes = TakeFile(temporary);
  if (!bytes.ok()) return bytes.status();
  auto part = PartOfCopy(*bytes, run);
  if (!part.ok()) return part.status();
  return RunCopy{*std::move(bytes), *std::move(part)};
}

}  // namespace reenact::store::internal
