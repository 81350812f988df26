#include "store/reader/internal/incident_redaction.h"

#include <unistd.h>

#include <cerrno>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

#include "store/format/file_digest.h"
#include "store/format/posix_file.h"
#include "store/reader/internal/incident_db.h"
#include "store/reader/internal/lock_file.h"
#include "store/reader/internal/record_file.h"
#include "store/reader/internal/run_copy.h"
#include "store/reader/internal/segment_rewriter.h"

namespace reenact::store::internal {
namespace {

constexpr char kIncidentsName[] = "incidents.db";
constexpr int64_t kIncidentsWaitMs = 60'000;  // Somebody may be copying runs.

class IncidentRedaction {
 public:
  IncidentRedaction(const StoreLayout& layout, const IncidentRedactionOptions& options,
                    RedactionReport* report)
      : layout_(layout), options_(options), report_(report) {}

  absl::Status Run();

 private:
  absl::Status RedactTexts();
  absl::Status RedactCopy(const schema::Ulid& run);
  absl::StatusOr<std::string> Rewritten(SegmentRewriter* rewriter);

  const StoreLayout& layout_;
  const IncidentRedactionOptions& options_;
  RedactionReport* report_;
  std::unique_ptr<IncidentDb> db_;
};

absl::Status IncidentRedaction::Run() {
  std::unique_ptr<LockFile> lock;
  if (!options_.dry_run) {
    auto locked = LockFile::Lock(absl::StrCat(layout_.incidents(), ".lock"), kIncidentsWaitMs);
    if (!locked.ok()) return locked.status();
    lock = *std::move(locked);
    RemoveTemporaryCopies(layout_);
  }
  auto db = options_.dry_run ? IncidentDb::OpenForReading(layout_.incidents())
                             : IncidentDb::OpenForWriting(layout_.incidents());
  if (!db.ok()) return db.status();
  db_ = *std::move(db);
  const size_t before = report_->records.size();
  absl::Status done = options_.dry_run ? absl::OkStatus() : db_->SecureDeletes();
  if (done.ok() && !options_.dry_run) done = db_->Begin();
  if (done.ok()) done = RedactTexts();
  const auto parts = db_->PromotedParts();
  if (done.ok()) done = parts.status();
  if (done.ok()) {
    for (const auto& [run, part] : *parts) {
      if (done = RedactCopy(run); !done.ok()) break;
    }
  }
  ++report_->files;
  if (report_->records.size() != before) ++report_->rewritten;
  if (options_.dry_run) return done;
  if (done.ok()) done = db_->Commit();
  if (!done.ok()) {
    db_->Rollback();
    return done;
  }
  return db_->Compact();
}

absl::Status IncidentRedaction::RedactTexts() {
  auto texts = db_->Texts();
  if (!texts.ok()) return texts.status();
  for (IncidentText& text : *texts) {
    std::string redacted = text.text;
    options_.redactor.Redact(&redacted);
    if (redacted == text.text) continue;
    text.text = std::move(redacted);
    if (absl::Status done = options_.dry_run ? absl::OkStatus() : db_->ReplaceText(text);
        !done.ok())
      return done;
    static constexpr const char* kParts[] = {"title", "notes", "note"};
    report_->records.push_back({.file = kIncidentsName,
                                .run = text.run,
                                .record = "incident",
                                .parts = {kParts[static_cast<size_t>(text.place)]}});
  }
  return absl::OkStatus();
}

// A copy that cannot be read stays, and is told: what is damaged must not look sound afterwards.
absl::Status IncidentRedaction::RedactCopy(const schema::Ulid& run) {
  const std::string name = absl::StrCat(kIncidentsName, ": the copy of run ", ToString(run));
  const auto bytes = db_->PromotedRun(run);
  if (!bytes.ok()) return bytes.status();
  if (!bytes->has_value()) return absl::OkStatus();
  auto file = RecordFile::OpenBytes(**bytes, kIncidentsName);
  if (!file.ok()) {
    report_->left.push_back(absl::StrCat(name, ": ", file.status().message()));
    return absl::OkStatus();
  }
  SegmentRewriter rewriter(file->get(), &options_.redactor, options_.facts);
  auto changes = rewriter.FindChanges();
  if (!changes.ok()) {
    report_->left.push_back(absl::StrCat(name, ": ", changes.status().message()));
    return absl::OkStatus();
  }
  for (const std::string& sentence : rewriter.unsearched()) report_->left.push_back(sentence);
  if (changes->empty()) return absl::OkStatus();
  if (!options_.dry_run) {
    const auto rewritten = Rewritten(&rewriter);
    if (!rewritten.ok()) return rewritten.status();
    const auto part = PartOfCopy(*rewritten, run);
    if (!part.ok()) return part.status();
    if (absl::Status done = db_->ReplacePromoted(run, *part, *rewritten); !done.ok()) return done;
  }
  for (ChangedRow& change : *changes)
    report_->records.push_back(
        {kIncidentsName, change.run, std::move(change.record), std::move(change.parts)});
  return absl::OkStatus();
}

absl::StatusOr<std::string> IncidentRedaction::Rewritten(SegmentRewriter* rewriter) {
  const std::string temporary = TemporaryCopyPath(layout_);
  if (const auto written = rewriter->WriteTo(temporary); !written.ok()) return written.status();
  if (const int code = AppendDigestLine(temporary); code != 0) {
    unlink(temporary.c_str());
    return absl::UnavailableError(absl::StrCat(temporary, ": ", DescribeErrno(code)));
  }
  return TakeFile(temporary);
}

}  // namespace

absl::Status RedactIncidents(const StoreLayout& layout, const IncidentRedactionOptions& options,
                             RedactionReport* report) {
  if (access(layout.incidents().c_str(), F_OK) != 0 && errno == ENOENT) return absl::OkStatus();
  return IncidentRedaction(layout, options, report).Run();
}

}  // namespace reenact::store::internal
