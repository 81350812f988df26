#include "store/format/sqlite.h"

#include <sqlite3.h>

#include <utility>

#include "store/format/posix_file.h"
#include "store/format/sqlite_mutex.h"

namespace reenact::store::sqlite {
namespace {

constexpr int kBusyTimeoutMs = 5000;

constexpr char kSafety[] =
    "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;"
    "PRAGMA temp_store=MEMORY; PRAGMA foreign_keys=ON;";

int FlagsOf(OpenMode mode) {
  switch (mode) {
    case OpenMode::kReadOnly:
      return SQLITE_OPEN_READONLY;
    case OpenMode::kImmutable:
      return SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
    case OpenMode::kReadWrite:
      return SQLITE_OPEN_READWRITE;
    case OpenMode::kCreate:
      return SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  }
  return SQLITE_OPEN_READONLY;
}

// The first of the files that SQLite would open for `path` and must not.
std::string OtherThanFile(const std::string& path) {
  for (const char* suffix : {"", "-journal", "-wal"}) {
    if (IsOtherThanFile(path + suffix)) return path + suffix;
  }
  return {};
}

// "file:/a%3fb?immutable=1"
std::string ImmutableUri(const std::string& path) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '?' || c == '#' || c == '%') {
      uri += '%';
      uri += kHex[static_cast<unsigned char>(c) >> 4];
      uri += kHex[static_cast<unsigned char>(c) & 15];
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

}  // namespace

Failure Classify(int code) {
  switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
      return Failure::kNone;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return Failure::kBusy;
    case SQLITE_NOMEM:
      return Failure::kNoMemory;
    case SQLITE_FULL:
      return Failure::kFull;
    case SQLITE_IOERR:
      return code == SQLITE_IOERR_NOMEM ? Failure::kNoMemory : Failure::kIo;
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return Failure::kReadOnly;
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
      return Failure::kCannotOpen;
    case SQLITE_CORRUPT:
      return Failure::kCorrupt;
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
      return Failure::kNotADatabase;
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
      return Failure::kConstraint;
    case SQLITE_TOOBIG:
      return Failure::kTooBig;
    default:
      return Failure::kOther;
  }
}

Connection::Connection(Connection&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), refused_(std::move(other.refused_)) {}

Connection& Connection::operator=(Connection&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(refused_, other.refused_);
  return *this;
}

Connection::~Connection() {
  sqlite3_close_v2(handle_);
}

Failure Connection::Open(const std::string& path, OpenMode mode) {
  UseForkSafeSqliteMutexes();
  sqlite3_close_v2(std::exchange(handle_, nullptr));
  refused_ = OtherThanFile(path);
  if (!refused_.empty()) return Failure::kCannotOpen;
  const std::string name = mode == OpenMode::kImmutable ? ImmutableUri(path) : path;
  const int code = sqlite3_open_v2(
      name.c_str(), &handle_, FlagsOf(mode) | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  if (code != SQLITE_OK) return Classify(code);
  sqlite3_busy_timeout(handle_, kBusyTimeoutMs);
  Failure failure = Execute(kSafety);
  if (failure == Failure::kNone && (mode == OpenMode::kReadWrite || mode == OpenMode::kCreate)) {
    failure = Execute("PRAGMA synchronous=NORMAL");
  }
  return failure;
}

Failure Connection::Execute(const char* sql) {
  return Classify(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr));
}

Failure Connection::Prepare(const char* sql, Statement* statement) {
  sqlite3_finalize(std::exchange(statement->handle_, nullptr));
  statement->failure_ = Classify(sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                                    &statement->handle_, nullptr));
  return statement->failure_;
}

Failure Connection::Prepare(const std::string& sql, Statement* statement) {
  return Prepare(sql.c_str(), statement);
}

Failure Connection::QueryFirst(const char* sql, Statement* statement, bool* found) {
  if (const Failure failure = Prepare(sql, statement); failure != Failure::kNone) return failure;
  *found = statement->Step();
  return *found ? Failure::kNone
                : (statement->failure() == Failure::kNone ? Failure::kOther : statement->failure());
}

Failure Connection::QueryInteger(const char* sql, int64_t* value) {
  Statement statement;
  bool found = false;
  const Failure failure = QueryFirst(sql, &statement, &found);
  if (!found) return failure;
  *value = statement.Integer(0);
  // To the end: what a pragma changes is committed only there.
  return statement.Run();
}

Failure Connection::QueryText(const char* sql, std::string* value) {
  Statement statement;
  bool found = false;
  const Failure failure = QueryFirst(sql, &statement, &found);
  if (!found) return failure;
  value->assign(statement.Bytes(0));
  return statement.Run();
}

Failure Connection::ReadVersion(int32_t* application_id, int32_t* user_version) {
  int64_t id = 0;
  int64_t version = 0;
  Failure failure = QueryInteger("PRAGMA application_id", &id);
  if (failure == Failure::kNone) failure = QueryInteger("PRAGMA user_version", &version);
  *application_id = static_cast<int32_t>(id);
  *user_version = static_cast<int32_t>(version);
  return failure;
}

Failure Connection::RunCheckpoint(Checkpoint mode) {
  const int kind =
      mode == Checkpoint::kPassive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE;
  int log_frames = 0;
  int copied_frames = 0;
  const int code = sqlite3_wal_checkpoint_v2(handle_, "main", kind, &log_frames, &copied_frames);
  if (code != SQLITE_OK) return Classify(code);
  return copied_frames < log_frames ? Failure::kBusy : Failure::kNone;
}

bool Connection::in_transaction() const {
  return handle_ != nullptr && sqlite3_get_autocommit(handle_) == 0;
}

int64_t Connection::changes() const {
  return sqlite3_changes64(handle_);
}

std::string Connection::message() const {
  if (!refused_.empty()) return refused_ + " is no regular file";
  if (handle_ == nullptr) return "out of memory";
  return std::string(sqlite3_errmsg(handle_)) + " (SQLite code " +
         std::to_string(sqlite3_extended_errcode(handle_)) + ")";
}

void Connection::Abandon() {
  handle_ = nullptr;
}

Statement::Statement(Statement&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), failure_(other.failure_) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(failure_, other.failure_);
  return *this;
}

Statement::~Statement() {
  sqlite3_finalize(handle_);
}

namespace {

// Null would be bound as NULL, not as empty.
const char* NotNull(std::string_view value) {
  return value.data() == nullptr ? "" : value.data();
}

void Note(int code, Failure* failure) {
  if (code != SQLITE_OK && *failure == Failure::kNone) *failure = Classify(code);
}

}  // namespace

void Statement::BindInteger(int parameter, int64_t value) {
  Note(sqlite3_bind_int64(handle_, parameter, value), &failure_);
}

void Statement::BindText(int parameter, std::string_view value) {
  Note(sqlite3_bind_text64(handle_, parameter, NotNull(value), value.size(), SQLITE_STATIC,
                           SQLITE_UTF8),
       &failure_);
}

void Statement::BindBlob(int parameter, std::string_view value) {
  Note(sqlite3_bind_blob64(handle_, parameter, NotNull(value), value.size(), SQLITE_STATIC),
       &failure_);
}

void Statement::BindNull(int parameter) {
  Note(sqlite3_bind_null(handle_, parameter), &failure_);
}

bool Statement::Step() {
  if (failure_ != Failure::kNone) return false;
  if (handle_ == nullptr) {
    failure_ = Failure::kOther;
    return false;
  }
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  failure_ = Classify(code);
  return false;
}

Failure Statement::Run() {
  while (Step()) {
  }
  const Failure failure = failure_;
  Reset();
  return failure;
}

void Statement::Reset() {
  sqlite3_reset(handle_);  // Its result is the failure that Step told already.
  failure_ = Failure::kNone;
}

int Statement::column_count() const {
  return sqlite3_column_count(handle_);
}

ValueType Statement::Type(int column) const {
  switch (sqlite3_column_type(handle_, column)) {
    case SQLITE_NULL:
      return ValueType::kNull;
    case SQLITE_INTEGER:
      return ValueType::kInteger;
    case SQLITE_TEXT:
      return ValueType::kText;
    case SQLITE_BLOB:
      return ValueType::kBlob;
    default:
      return ValueType::kOther;
  }
}

int64_t Statement::Integer(int column) const {
  return sqlite3_column_int64(handle_, column);
}

std::string_view Statement::Bytes(int column) const {
  // For text too: the bytes as they lie in the file, without a conversion or a terminator.
  const void* bytes = sqlite3_column_blob(handle_, column);
  const int size = sqlite3_column_bytes(handle_, column);
  if (bytes == nullptr || size <= 0) return {};
  return {static_cast<const char*>(bytes), static_cast<size_t>(size)};
}

void Statement::Abandon() {
  handle_ = nullptr;
}

}  // namespace reenact::store::sqlite
