#include "store/reader/bundle.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

#include "store/format/file_digest.h"
#include "store/format/posix_file.h"
#include "store/reader/internal/file_status.h"
#include "store/reader/internal/record_file.h"
#include "store/reader/internal/run_assembly.h"
#include "store/reader/internal/run_writer.h"
#include "store/reader/store_reader.h"
#include "store/store_layout.h"
#include "store/writer/internal/record_redactor.h"

namespace reenact::store {
namespace {

// Nothing of ours may enter a bundle, so its id follows from what is in it.
schema::Ulid IdOf(const std::vector<schema::RecordedRun>& runs, const schema::Tags& meta) {
  schema::Sha256 hash;
  for (const schema::RecordedRun& recorded : runs) hash.Update(recorded.run.id.AsBytes());
  for (const auto& [key, value] : meta) {
    hash.Update(key);
    hash.Update(std::string_view("\0", 1));
    hash.Update(value);
    hash.Update(std::string_view("\0", 1));
  }
  const schema::Digest digest = hash.Finish();
  std::array<uint8_t, 10> entropy{};
  std::copy_n(digest.begin(), entropy.size(), entropy.begin());
  const int64_t unix_ms = runs.empty() ? 0 : UnixMs(runs.front().run.id);
  return schema::MakeUlid(unix_ms, entropy);
}

std::vector<const schema::RecordedRun*> Pointers(const std::vector<schema::RecordedRun>& runs) {
  std::vector<const schema::RecordedRun*> pointers;
  for (const schema::RecordedRun& recorded : runs) pointers.push_back(&recorded);
  return pointers;
}

absl::Status WriteTo(const Bundle& bundle, const std::string& path) {
  schema::Tags meta = bundle.meta;
  std::sort(meta.begin(), meta.end());
  auto writer = internal::OpenWriter({.path = path,
                                      .segment_id = IdOf(bundle.runs, meta),
                                      .deterministic = true,
                                      .exclusive_process = false});
  if (!writer.ok()) return writer.status();
  for (const auto& [key, value] : meta) {
    if (absl::StartsWith(key, kMetaPrefix)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the meta key \"", key, "\" begins with ", kMetaPrefix, ", which is ours"));
    }
    const WriteCode code = (*writer)->SetMeta(key, value);
    if (code != WriteCode::kOk) return internal::ToStatus(code, (*writer)->last_error());
  }
  if (absl::Status written = internal::WriteRuns(Pointers(bundle.runs), writer->get());
      !written.ok())
    return written;
  const WriteCode sealed = (*writer)->Seal("");
  if (sealed != WriteCode::kOk)
    return internal::ToStatus(sealed, absl::StrCat(path, ": ", (*writer)->last_error()));
  if (const int code = AppendDigestLine(path); code != 0) return internal::FileStatus(code, path);
  return absl::OkStatus();
}

// Makes the rename itself last.
absl::Status MoveInto(const std::string& from, const std::string& to, bool replace) {
  int failed = replace ? rename(from.c_str(), to.c_str())
                       : renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  // Some file systems cannot do it in one step.
  if (failed != 0 && !replace && errno == EINVAL && access(to.c_str(), F_OK) != 0)
    failed = rename(from.c_str(), to.c_str());
  if (failed != 0) return internal::FileStatus(errno, to);
  (void)SyncFolder(FolderOf(to));
  return absl::OkStatus();
}

absl::Status CheckWhole(const std::string& path) {
  auto file = internal::RecordFile::Open(path);
  if (!file.ok()) return file.status();
  const std::string& name = (*file)->info.name;
  if (!(*file)->info.sealed)
    return absl::DataLossError(absl::StrCat(name, " was not finished: its last row is missing"));
  const auto chain = internal::WalkChain(file->get());
  if (!chain.ok()) return chain.status();
  if (chain->breaks.empty()) return absl::OkStatus();
  const internal::ChainBreak& first = chain->breaks.front();
  return absl::DataLossError(
      absl::StrCat(internal::NameOfRow(file->get(), first.table->id, first.ordinal), " of ", name,
                   " does not fit the chain: the file was changed"));
}

// The salt, and what was made with it: a record that came without salts was given some here.
void ForgetSalt(schema::Body* body) {
  body->salt.reset();
  body->original_digest = {};
}

// What makes two records of one run the same: not its marks, which come later, nor what belongs to
// its process.
std::string ContentOf(schema::RecordedRun recorded) {
  recorded.in_progress = false;
  recorded.marks.clear();
  recorded.gaps.clear();
  ForgetSalt(&recorded.run.input);
  for (auto& component : recorded.components) ForgetSalt(&component.content);
  for (auto& event : recorded.events) {
    ForgetSalt(&event.request);
    ForgetSalt(&event.response);
  }
  if (recorded.end) ForgetSalt(&recorded.end->output);
  Bundle single;
  single.runs.push_back(std::move(recorded));
  return ToJsonl(single);
}

// What comes from elsewhere comes through the same gate as what is recorded here, but for runs that
// say that they were recorded with redaction off.
Bundle Redacted(const Bundle& bundle) {
  const RecordRedactor redactor{schema::RedactionPolicy()};
  Bundle redacted = bundle;
  for (schema::RecordedRun& recorded : redacted.runs) {
    const bool off = std::any_of(
        recorded.run.process.begin(), recorded.run.process.end(),
        [](const auto& fact) { return fact.first == "redaction_policy" && fact.second == "off"; });
    if (!off) redactor.Redact(&recorded);
  }
  return redacted;
}

// The runs that the store does not have yet.
absl::StatusOr<std::vector<const schema::RecordedRun*>> NewRuns(const Bundle& bundle,
                                                                StoreReader* store) {
  std::vector<const schema::RecordedRun*> added;
  for (const schema::RecordedRun& recorded : bundle.runs) {
    const auto there = store->LoadRun(recorded.run.id, {});
    if (absl::IsNotFound(there.status())) {
      added.push_back(&recorded);
    } else if (!there.ok()) {
      return there.status();
    } else if (ContentOf(*there) != ContentOf(recorded)) {
      return absl::DataLossError(absl::StrCat("run ", ToString(recorded.run.id),
                                              " is in the store already, with other content"));
    }
  }
  return added;
}

}  // namespace

absl::Status WriteBundle(const Bundle& bundle, const std::string& path, bool replace) {
  if (path.empty()) return absl::InvalidArgumentError("the file to write has no name");
  if (!replace && access(path.c_str(), F_OK) == 0)
    return absl::AlreadyExistsError(absl::StrCat(path, " exists"));
  // As root, a rename would put a file in the place of /dev/null.
  if (IsOtherThanFile(path))
    return absl::FailedPreconditionError(absl::StrCat(path, " is no regular file"));
  // Beside its place, so that the rename stays within one file system.
  const std::string temporary = absl::StrCat(path, ".", ToString(NewUlid()), ".tmp");
  absl::Status written = WriteTo(bundle, temporary);
  if (written.ok()) written = MoveInto(temporary, path, replace);
  if (written.ok()) return written;
  unlink(temporary.c_str());
  // Whoever asked knows nothing of the file beside.
  return absl::Status(written.code(), absl::StrReplaceAll(written.message(), {{temporary, path}}));
}

absl::StatusOr<Bundle> ReadBundle(const std::string& path) {
  if (absl::Status whole = CheckWhole(path); !whole.ok()) return whole;
  auto reader = SegmentReader::Open(path);
  if (!reader.ok()) return reader.status();
  Bundle bundle;
  auto meta = (*reader)->Meta();
  if (!meta.ok()) return meta.status();
  bundle.meta = *std::move(meta);
  const auto heads = (*reader)->RunHeads();
  if (!heads.ok()) return heads.status();
  for (const RunHead& head : *heads) {
    internal::RunAssembly assembly(head.id, true, nullptr);
    if (absl::Status added = assembly.Add(reader->get()); !added.ok()) return added;
    if (auto recorded = assembly.Finish()) bundle.runs.push_back(*std::move(recorded));
  }
  return bundle;
}

absl::StatusOr<int64_t> ImportRuns(const Bundle& bundle, const std::string& store_path) {
  const StoreLayout layout{store_path};
  std::string key;
  std::string why;
  if (!PrepareStore(layout, &key, &why)) return absl::PermissionDeniedError(why);
  auto store = StoreReader::Open(store_path);
  if (!store.ok()) return store.status();
  const Bundle redacted = Redacted(bundle);
  const auto added = NewRuns(redacted, store->get());
  if (!added.ok()) return added.status();
  if (added->empty()) return 0;
  const schema::Ulid id = NewUlid();
  auto writer = internal::OpenWriter(
      {.path = layout.segment(id), .store_key = key, .segment_id = id, .exclusive_process = false});
  if (!writer.ok()) return writer.status();
  if (absl::Status written = internal::WriteRuns(*added, writer->get()); !written.ok())
    return written;
  const WriteCode sealed = (*writer)->Seal(layout.manifest());
  if (sealed != WriteCode::kOk) return internal::ToStatus(sealed, (*writer)->last_error());
  return static_cast<int64_t>(added->size());
}

}  // namespace reenact::store
