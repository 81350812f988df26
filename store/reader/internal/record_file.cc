#include "store/reader/internal/record_file.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

#include "store/format/chain.h"
#include "store/format/posix_file.h"

namespace reenact::store::internal {
namespace {

using sqlite::Failure;

uint64_t SizeOf(const std::string& path) {
  struct stat status {};

  return stat(path.c_str(), &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

bool CopyFile(const std::string& from, const std::string& to) {
  std::ifstream in(from, std::ios::binary);
  std::ofstream out(to, std::ios::binary);
  if (!in || !out) return false;
  if (in.peek() != std::ifstream::traits_type::eof()) out << in.rdbuf();
  return static_cast<bool>(out.flush());
}

absl::Status ForeignWal(const std::string& name, const std::string& evidence) {
  return absl::FailedPreconditionError(
      absl::StrCat(name, "-wal does not belong to ", name, " (", evidence,
                   "): one of the two was restored or copied without the other. Move the -wal file "
                   "away to read what ",
                   name, " itself holds"));
}

// Whether the file lies where the recorder of a store makes it.
bool IsInPlace(const SegmentInfo& info) {
  return info.name == ToString(info.id) + ".db" && FileNameOf(FolderOf(info.path)) == "segments";
}

// Whether the file without its WAL has a header of ours.
bool ReadsWellAlone(const std::string& path) {
  sqlite::Connection connection;
  int32_t application_id = 0;
  int32_t version = 0;
  return connection.Open(path, sqlite::OpenMode::kImmutable) == Failure::kNone &&
         connection.ReadVersion(&application_id, &version) == Failure::kNone &&
         application_id == kApplicationId;
}

}  // namespace

absl::Status ToStatus(Failure failure, const sqlite::Connection& connection,
                      const std::string& name, std::string_view what) {
  const std::string text = absl::StrCat(name, ": ", absl::string_view(what.data(), what.size()),
                                        ": ", connection.message());
  switch (failure) {
    case Failure::kNone:
      return absl::OkStatus();
    case Failure::kBusy:
    case Failure::kIo:
      return absl::UnavailableError(text);
    case Failure::kNoMemory:
    case Failure::kFull:
      return absl::ResourceExhaustedError(text);
    case Failure::kReadOnly:
    case Failure::kCannotOpen:
      return absl::PermissionDeniedError(text);
    case Failure::kCorrupt:
    case Failure::kNotADatabase:
    case Failure::kConstraint:
    case Failure::kTooBig:
    case Failure::kOther:
      return absl::DataLossError(text);
  }
  return absl::InternalError(text);
}

absl::StatusOr<std::unique_ptr<RecordFile>> RecordFile::Open(const std::string& path) {
  struct stat status {};

  if (stat(path.c_str(), &status) != 0) {
    const std::string text = absl::StrCat(path, ": ", strerror(errno));
    if (errno == EACCES) return absl::PermissionDeniedError(text);
    // A link that leads nowhere is no file that was pruned meanwhile.
    const bool absent = errno == ENOENT && lstat(path.c_str(), &status) != 0;
    return absent ? absl::NotFoundError(text) : absl::DataLossError(text);
  }
  if (!S_ISREG(status.st_mode))
    return absl::DataLossError(absl::StrCat(path, " is no regular file"));
  if (access(path.c_str(), R_OK) != 0)
    return absl::PermissionDeniedError(absl::StrCat(path, ": ", strerror(errno)));
  auto file = std::make_unique<RecordFile>();
  file->info.path = path;
  file->info.name = FileNameOf(path);
  if ((status.st_mode & 0222) == 0) {
    const absl::Status opened = file->OpenSealed();
    const bool has_wal = SizeOf(path + "-wal") != 0;
    if (opened.ok() && file->info.sealed) {
      if (has_wal)
        return ForeignWal(file->info.name, "the file is sealed, and sealed files have none");
      return file;
    }
    if (!opened.ok() && !has_wal) return opened;
  }
  if (absl::Status opened = file->OpenUnsealed(); !opened.ok()) return opened;
  return file;
}

absl::StatusOr<std::unique_ptr<RecordFile>> RecordFile::OpenBytes(std::string_view bytes,
                                                                  const std::string& name) {
  auto file = std::make_unique<RecordFile>();
  file->info.name = name;
  const Failure failure = file->connection.Open(":memory:", sqlite::OpenMode::kCreate);
  if (failure != Failure::kNone) return file->Fail(failure, "opening failed");
  auto* buffer = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size()));
  if (buffer == nullptr) return absl::ResourceExhaustedError(absl::StrCat(name, ": out of memory"));
  std::memcpy(buffer, bytes.data(), bytes.size());
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  // SQLite owns the buffer from here on, whatever the outcome.
  const int code =
      sqlite3_deserialize(file->connection.handle(), "main", buffer, size, size,
                          SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
  if (code != SQLITE_OK) return file->Fail(sqlite::Classify(code), "opening failed");
  if (absl::Status begun = file->Begin(); !begun.ok()) return begun;
  return file;
}

RecordFile::~RecordFile() {
  connection = sqlite::Connection();
  if (copy_folder_.empty()) return;
  for (const char* suffix : {"", "-wal", "-shm"})
    unlink(absl::StrCat(copy_folder_, "/", info.name, suffix).c_str());
  rmdir(copy_folder_.c_str());
}

absl::Status RecordFile::Fail(Failure failure, std::string_view what) const {
  return ToStatus(failure, connection, info.name, what);
}

// What the file holds by itself: a sealed one has no WAL, and nobody writes it.
absl::Status RecordFile::OpenSealed() {
  const Failure failure = connection.Open(info.path, sqlite::OpenMode::kImmutable);
  if (failure != Failure::kNone) return Fail(failure, "opening failed");
  return Begin();
}

absl::Status RecordFile::OpenUnsealed() {
  const Failure failure = connection.Open(info.path, sqlite::OpenMode::kReadOnly);
  absl::Status begun = failure == Failure::kNone ? Begin() : Fail(failure, "opening failed");
  // Reading a WAL takes a -shm file beside it. Where nobody may make one, read a copy.
  if (absl::IsPermissionDenied(begun) && access(FolderOf(info.path).c_str(), W_OK) != 0)
    return OpenCopy();
  if (absl::IsDataLoss(begun) && SizeOf(info.path + "-wal") != 0 && ReadsWellAlone(info.path))
    return ForeignWal(info.name, std::string(begun.message()));
  if (!begun.ok()) return begun;
  // Where its writer put it, its WAL is beside it. A copy elsewhere proves nothing by its owner.
  return info.owner_alive && IsInPlace(info) ? absl::OkStatus() : CheckWalIsOurs();
}

absl::Status RecordFile::OpenCopy() {
  char folder[] = P_tmpdir "/reenact-read-XXXXXX";
  if (mkdtemp(folder) == nullptr) {
    return absl::PermissionDeniedError(absl::StrCat(
        info.path, " has a WAL, its folder is read-only, and no copy can be made in ", P_tmpdir));
  }
  copy_folder_ = folder;
  const std::string copy = absl::StrCat(copy_folder_, "/", info.name);
  // The file before its WAL: what moves from the WAL into the file in between is then missing,
  // which the chain shows, and never mixed.
  if (!CopyFile(info.path, copy) ||
      (SizeOf(info.path + "-wal") != 0 && !CopyFile(info.path + "-wal", copy + "-wal"))) {
    return absl::ResourceExhaustedError(absl::StrCat(
        info.path, " has a WAL, its folder is read-only, and copying it to ", P_tmpdir, " failed"));
  }
  const Failure failure = connection.Open(copy, sqlite::OpenMode::kReadOnly);
  if (failure != Failure::kNone) return Fail(failure, "opening a copy failed");
  if (absl::Status begun = Begin(); !begun.ok()) return begun;
  return CheckWalIsOurs();
}

absl::Status RecordFile::Begin() {
  if (const Failure failure = connection.Execute("BEGIN"); failure != Failure::kNone)
    return Fail(failure, "opening failed");
  if (absl::Status checked = CheckVersion(); !checked.ok()) return checked;
  return ReadInfo();
}

absl::Status RecordFile::CheckVersion() {
  int32_t application_id = 0;
  int32_t version = 0;
  const Failure failure = connection.ReadVersion(&application_id, &version);
  if (failure == Failure::kNotADatabase)
    return absl::DataLossError(absl::StrCat(info.name, " is no SQLite file, or is damaged"));
  if (failure != Failure::kNone) return Fail(failure, "reading the header failed");
  if (application_id == kApplicationId) {
    if (version <= kSchemaVersion) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(info.name, " has schema version ", version,
                                                      "; this Reenact reads up to ", kSchemaVersion,
                                                      ". Use a newer one"));
  }
  int64_t pages = 0;
  if (application_id == 0 && version == 0 &&
      connection.QueryInteger("PRAGMA page_count", &pages) == Failure::kNone && pages == 0)
    return absl::NotFoundError(absl::StrCat(info.name, " is empty"));
  absl::Status foreign = absl::DataLossError(
      absl::StrCat(info.name, " is a SQLite file, but not one of Reenact (application_id ",
                   application_id, ")"));
  if (application_id == 0 && version == 0) foreign.SetPayload(kUnmarkedPayload, absl::Cord());
  return foreign;
}

absl::Status RecordFile::ReadInfo() {
  const auto id = MetaValue(kMetaSegmentId);
  if (!id.ok()) return id.status();
  const auto ulid = schema::UlidFromBytes(id->value_or(""));
  if (!ulid) {
    absl::Status nameless =
        absl::DataLossError(absl::StrCat(info.name, ": the segment's id is missing or damaged"));
    if (!id->has_value()) nameless.SetPayload(kUnmarkedPayload, absl::Cord());
    return nameless;
  }
  info.id = *ulid;
  const auto sealed = MetaValue(kMetaSealed);
  const auto grouped = MetaValue(kMetaGrouped);
  const auto owner = MetaValue(kMetaOwner);
  for (const auto* value : {&sealed, &grouped, &owner}) {
    if (!value->ok()) return value->status();
  }
  info.sealed = sealed->has_value();
  info.grouped = grouped->has_value();
  if (owner->has_value()) info.owner = DecodeOwner(**owner);
  info.owner_alive = !info.sealed && info.owner && IsAlive(*info.owner);
  return absl::OkStatus();
}

// SQLite applies any well-formed WAL that lies beside a file. One of another file, or of a later
// state of this one, mixes pages of two states; the chain over all rows cannot fit then.
absl::Status RecordFile::CheckWalIsOurs() {
  if (SizeOf(info.path + "-wal") == 0) return absl::OkStatus();
  const auto chain = WalkChain(this);
  if (!chain.ok()) {
    if (absl::IsDataLoss(chain.status()))
      return ForeignWal(info.name, std::string(chain.status().message()));
    return chain.status();
  }
  if (!chain->breaks.empty()) {
    return ForeignWal(
        info.name, absl::StrCat("row ", chain->breaks.front().ordinal, " does not fit the chain"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::string>> RecordFile::MetaValue(const char* key) {
  sqlite::Statement statement;
  const Failure failure = connection.Prepare(
      absl::StrCat(kMetaTable.select, " WHERE key = ?1 ORDER BY ordinal DESC LIMIT 1"), &statement);
  if (failure != Failure::kNone) return Fail(failure, "reading meta failed");
  statement.BindText(1, key);
  if (statement.Step()) return std::string(statement.Bytes(meta_column::kValue));
  if (statement.failure() != Failure::kNone)
    return Fail(statement.failure(), "reading meta failed");
  return std::nullopt;
}

}  // namespace reenact::store::internal
