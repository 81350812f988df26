#include "store/reader/redact_store.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

#include "store/format/file_digest.h"
#include "store/format/posix_file.h"
#include "store/reader/internal/catalog_file.h"
#include "store/reader/internal/file_status.h"
#include "store/reader/internal/incident_redaction.h"
#include "store/reader/internal/lock_file.h"
#include "store/reader/internal/manifest_file.h"
#include "store/reader/internal/record_file.h"
#include "store/reader/internal/segment_rewriter.h"
#include "store/reader/internal/segment_set.h"
#include "store/store_layout.h"
#include "store/writer/drain.h"
#include "store/writer/internal/manifest.h"

namespace reenact::store {
namespace {

using internal::ChangedRow;
using internal::FileStatus;
using internal::Manifest;
using internal::RecordFile;
using internal::SealedEntry;
using internal::SegmentRewriter;

// Beside the file that it will replace.
constexpr char kNewSuffix[] = ".redacting";

// In one step, and lastingly.
int PutInPlace(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return errno;
  return SyncFolder(FolderOf(to));
}

// Files made by redactions that were killed, for segments that were pruned since.
void RemoveLeftovers(const std::string& folder) {
  DIR* listed = ::opendir(folder.c_str());
  if (listed == nullptr) return;
  while (const dirent* entry = ::readdir(listed)) {
    absl::string_view name = entry->d_name;
    if (!absl::ConsumeSuffix(&name, kNewSuffix)) continue;
    const std::string segment = absl::StrCat(folder, "/", name);
    if (access(segment.c_str(), F_OK) != 0) unlink((segment + kNewSuffix).c_str());
  }
  ::closedir(listed);
}

bool IsReadOnlyFile(const std::string& path) {
  struct stat status {};

  return ::stat(path.c_str(), &status) == 0 && (status.st_mode & 0222) == 0;
}

void AppendTo(std::vector<std::string>* list, const std::vector<std::string>& more) {
  list->insert(list->end(), more.begin(), more.end());
}

// What a changed run says of it.
schema::Tags FactsOf(const schema::RedactionPolicy& policy) {
  schema::Tags facts;
  if (!policy.extra_json_keys.empty())
    facts.emplace_back(schema::kRedactedKeysFact, absl::StrJoin(policy.extra_json_keys, ","));
  if (!policy.secrets.empty()) facts.emplace_back(schema::kRedactedTextsFact, "yes");
  return facts;
}

class StoreRedaction {
 public:
  explicit StoreRedaction(const RedactionOptions& options)
      : options_(options), redactor_(options.policy), facts_(FactsOf(options.policy)) {}

  absl::Status RedactFolder(const StoreLayout& layout);
  void RedactBundle(const std::string& path);

  RedactionReport Take() { return std::move(report_); }

 private:
  void RedactSegment(const std::string& name);
  absl::Status FinishPending(const std::string& name, const std::string& path);
  absl::StatusOr<ChainState> WriteChecked(SegmentRewriter* rewriter, const std::string& path);
  void Note(const std::string& file, std::vector<ChangedRow> changes);

  void Leave(const std::string& name, const absl::Status& status) {
    report_.left.push_back(absl::StrContains(status.message(), name)
                               ? std::string(status.message())
                               : absl::StrCat(name, ": ", status.message()));
  }

  const RedactionOptions& options_;
  const RecordRedactor redactor_;
  const schema::Tags facts_;
  StoreLayout layout_;
  std::string key_;
  Manifest manifest_;
  RedactionReport report_;
};

absl::Status StoreRedaction::RedactFolder(const StoreLayout& layout) {
  layout_ = layout;
  if (absl::Status listed = internal::CheckSegmentsFolder(layout); !listed.ok()) return listed;
  std::unique_ptr<internal::LockFile> lock;
  if (!options_.dry_run) {
    auto locked = internal::LockFile::Lock(absl::StrCat(layout.root, "/redaction.lock"), 0);
    if (!locked.ok()) return locked.status();
    lock = *std::move(locked);
    for (std::string& problem : RecoverStore(layout.root).problems)
      report_.left.push_back(std::move(problem));
  }
  if (const int code = ReadWholeFile(layout.key_file(), 4096, &key_); code != 0)
    return FileStatus(code, layout.key_file());
  manifest_ = internal::ReadManifest(layout);
  if (!manifest_.findings.empty()) {
    const VerifyFinding& first = manifest_.findings.front();
    return absl::DataLossError(
        absl::StrCat(first.segment, ": ", first.record, ": ", first.problem));
  }
  const std::vector<std::string> names = ListSegments(layout);
  const auto total = static_cast<int64_t>(names.size());
  int64_t done = 0;
  for (const std::string& name : names) {
    RedactSegment(name);
    if (options_.progress) options_.progress(++done, total);
  }
  if (!options_.dry_run) RemoveLeftovers(layout.segments());
  const internal::IncidentRedactionOptions incidents{redactor_, facts_, options_.dry_run};
  absl::Status redacted = internal::RedactIncidents(layout, incidents, &report_);
  if (!redacted.ok() || options_.dry_run) return redacted;
  return internal::EmptyCatalog(layout.catalog());
}

void StoreRedaction::Note(const std::string& file, std::vector<ChangedRow> changes) {
  for (ChangedRow& change : changes)
    report_.records.push_back(
        {file, change.run, std::move(change.record), std::move(change.parts)});
  ++report_.rewritten;
}

// An earlier redaction was killed between its line in the manifest and the step that makes it true;
// the file that it had made is whole, or the line would not be there.
absl::Status StoreRedaction::FinishPending(const std::string& name, const std::string& path) {
  const std::string made = path + kNewSuffix;
  if (access(made.c_str(), F_OK) != 0) return absl::OkStatus();
  const auto entry = manifest_.sealed.find(name);
  auto file = RecordFile::Open(made);
  if (entry != manifest_.sealed.end() && !entry->second.was.empty() && file.ok()) {
    const auto chain = internal::WalkChain(file->get());
    if (chain.ok() && chain->breaks.empty() && schema::ToHex(chain->head) == entry->second.head)
      return FileStatus(PutInPlace(made, path), path);
  }
  return unlink(made.c_str()) == 0 ? absl::OkStatus() : FileStatus(errno, made);
}

void StoreRedaction::RedactSegment(const std::string& name) {
  ++report_.files;
  const std::string path = absl::StrCat(layout_.segments(), "/", name);
  if (!options_.dry_run) {
    if (absl::Status done = FinishPending(name, path); !done.ok()) return Leave(name, done);
  }
  auto file = RecordFile::Open(path);
  if (absl::IsNotFound(file.status())) return;  // Pruned meanwhile, or only just begun.
  if (!file.ok()) return Leave(name, file.status());
  if (!(*file)->info.sealed || !IsReadOnlyFile(path)) {
    return Leave(name, absl::UnavailableError(
                           (*file)->info.owner_alive
                               ? absl::StrCat("process ", (*file)->info.owner->pid,
                                              " writes it; redact again once it is sealed")
                               : "it is not sealed; `reenact doctor --recover` seals it"));
  }
  SegmentRewriter rewriter(file->get(), &redactor_, facts_);
  auto changes = rewriter.FindChanges();
  if (!changes.ok()) return Leave(name, changes.status());
  AppendTo(&report_.left, rewriter.unsearched());
  const std::string was = schema::ToHex(rewriter.head().head);
  const auto entry = manifest_.sealed.find(name);
  // What does not fit must not be given a chain and a line that do.
  if (entry == manifest_.sealed.end() || (entry->second.head != was && entry->second.was != was))
    return Leave(name, absl::DataLossError("is not what was sealed: `reenact verify` says more"));
  if (changes->empty()) {
    if (entry->second.head != was)
      Leave(name, absl::DataLossError(
                      "an earlier redaction of it was not finished: redact by its policy again"));
    return;
  }
  const auto count = static_cast<int64_t>(changes->size());
  if (!options_.dry_run) {
    const std::string made = path + kNewSuffix;
    const auto now = WriteChecked(&rewriter, made);
    if (!now.ok()) return Leave(name, now.status());
    SegmentRedaction redaction{.name = name, .was = was, .now = *now, .changed_rows = count};
    int code = DigestOfFile(made, &redaction.digest);
    if (code == 0) {
      code = AppendRedaction(layout_.manifest(), key_, redaction, [&] {
        return access(path.c_str(), F_OK) != 0 ? errno : PutInPlace(made, path);
      });
    }
    // The new file stays where it is: if the manifest has its line, the next redaction needs it.
    if (code == ENOENT) return;  // Pruned meanwhile.
    if (code != 0) return Leave(name, FileStatus(code, layout_.manifest()));
  }
  Note(name, *std::move(changes));
}

// Nothing is called done that was not looked at again.
absl::StatusOr<ChainState> StoreRedaction::WriteChecked(SegmentRewriter* rewriter,
                                                        const std::string& path) {
  auto now = rewriter->WriteTo(path);
  if (!now.ok()) return now;
  absl::Status checked;
  if (auto file = RecordFile::Open(path); !file.ok()) {
    checked = file.status();
  } else {
    SegmentRewriter again(file->get(), &redactor_, facts_);
    const auto changes = again.FindChanges();
    if (!changes.ok())
      checked = changes.status();
    else if (!changes->empty())
      checked = absl::InternalError(
          absl::StrCat(changes->front().record, " is not settled by redacting it once"));
  }
  if (checked.ok()) return now;
  unlink(path.c_str());
  return checked;
}

void StoreRedaction::RedactBundle(const std::string& path) {
  ++report_.files;
  const std::string name = FileNameOf(path);
  auto file = RecordFile::Open(path);
  if (!file.ok()) return Leave(name, file.status());
  if (!(*file)->info.sealed)
    return Leave(name, absl::DataLossError("was not finished: its last row is missing"));
  const auto created = (*file)->MetaValue(kMetaCreated);
  if (!created.ok()) return Leave(name, created.status());
  if (created->has_value())
    return Leave(name, absl::FailedPreconditionError(
                           "is a segment, whose manifest would not know it again: name its store"));
  SegmentRewriter rewriter(file->get(), &redactor_, facts_);
  auto changes = rewriter.FindChanges();
  if (!changes.ok()) return Leave(name, changes.status());
  AppendTo(&report_.left, rewriter.unsearched());
  if (changes->empty()) return;
  if (!options_.dry_run) {
    const std::string made = path + kNewSuffix;
    unlink(made.c_str());  // Of a redaction that was killed.
    const auto now = WriteChecked(&rewriter, made);
    if (!now.ok()) return Leave(name, now.status());
    int code = AppendDigestLine(made);
    if (code == 0) code = PutInPlace(made, path);
    if (code != 0) {
      unlink(made.c_str());
      return Leave(name, FileStatus(code, path));
    }
  }
  Note(name, *std::move(changes));
}

}  // namespace

absl::StatusOr<RedactionReport> RedactStore(const std::string& path,
                                            const RedactionOptions& options) {
  struct stat status {};

  if (stat(path.c_str(), &status) != 0) return internal::CannotRead(path);
  StoreRedaction redaction(options);
  if (S_ISDIR(status.st_mode)) {
    if (absl::Status done = redaction.RedactFolder(StoreLayout{path}); !done.ok()) return done;
  } else {
    redaction.RedactBundle(path);
  }
  for (const std::string& bundle : options.bundles) redaction.RedactBundle(bundle);
  return redaction.Take();
}

}  // namespace reenact::store
