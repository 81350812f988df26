// A small skin over SQLite: connections and statements that close themselves, and failures by what
// the caller should do. sqlite3.h stays out of headers, since the recorder hides its own copy.

#ifndef REENACT_STORE_FORMAT_SQLITE_H_
#define REENACT_STORE_FORMAT_SQLITE_H_

#include <cstdint>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace reenact::store::sqlite {

enum class Failure : uint8_t {
  kNone = 0,
  kBusy,          // Another connection holds the lock. Try again.
  kNoMemory,      // Try again later.
  kFull,          // No room on the disk, or a quota.
  kIo,            // Reading, writing or syncing failed.
  kReadOnly,      // The file or its folder may not be written.
  kCannotOpen,    // Not there, no permission, no regular file.
  kCorrupt,       // The file is damaged.
  kNotADatabase,  // The file is something else, or encrypted.
  kConstraint,    // A row contradicts the schema.
  kTooBig,        // A value beyond SQLite's limit (1e9 bytes).
  kOther,
};

// By SQLite's extended result code.
Failure Classify(int code);

enum class OpenMode : uint8_t {
  kReadOnly,   // Never checkpoints, never writes.
  kImmutable,  // kReadOnly without locks, -wal or -shm: only for files that nobody can be writing.
  kReadWrite,  // Must exist.
  kCreate,     // Made when absent.
};

enum class ValueType : uint8_t { kNull, kInteger, kText, kBlob, kOther };

class Statement;

// One connection, used by one thread at a time.
class Connection {
 public:
  Connection() = default;
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&& other) noexcept;
  ~Connection();  // Closes; an open transaction is rolled back.

  // Opens with the settings that every file of a store wants: no trusted schema, cell sizes
  // checked, no memory map, temporary tables in memory, foreign keys on, a busy timeout of 5 s.
  // Write modes set synchronous=NORMAL. The journal mode is left as it is. Opening alone reads
  // nothing of the file. kCannotOpen at once for what is no regular file, as is the file itself
  // or one beside it (-wal, -journal): SQLite would wait at a FIFO for ever.
  Failure Open(const std::string& path, OpenMode mode);

  // Runs all statements of `sql`; rows are dropped.
  Failure Execute(const char* sql);
  Failure Prepare(const char* sql, Statement* statement);
  Failure Prepare(const std::string& sql, Statement* statement);
  // The first column of the first row. kOther when there is no row.
  Failure QueryInteger(const char* sql, int64_t* value);
  Failure QueryText(const char* sql, std::string* value);

  // application_id and user_version.
  Failure ReadVersion(int32_t* application_id, int32_t* user_version);
  // wal_checkpoint of the main file. kBusy: some of the WAL could not be copied or truncated.
  enum class Checkpoint : uint8_t { kPassive, kTruncate };
  Failure RunCheckpoint(Checkpoint mode);

  bool is_open() const { return handle_ != nullptr; }

  bool in_transaction() const;
  int64_t changes() const;  // Rows changed by the last statement.
  // Text of the last failure: SQLite's own message and the code. "disk I/O error (SQLITE 1034)".
  std::string message() const;
  // Forgets the handle without closing it: in a forked child, which must not touch it.
  void Abandon();

  sqlite3* handle() const { return handle_; }

 private:
  Failure QueryFirst(const char* sql, Statement* statement, bool* found);

  sqlite3* handle_ = nullptr;
  std::string refused_;  // The file that was not given to SQLite.
};

// A prepared statement. Parameters count from 1, columns from 0. Bound bytes are not copied: they
// must stay until Reset. Column views are good until the next Step, Reset or destruction.
class Statement {
 public:
  Statement() = default;
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  // A failure to bind (a value that is too big) shows at the next Step.
  void BindInteger(int parameter, int64_t value);
  void BindText(int parameter, std::string_view value);
  void BindBlob(int parameter, std::string_view value);
  void BindNull(int parameter);

  // True: a row is there. False: done, or failed; ask failure().
  bool Step();
  // Step for statements without rows, then Reset.
  Failure Run();
  void Reset();

  Failure failure() const { return failure_; }

  int column_count() const;
  ValueType Type(int column) const;
  int64_t Integer(int column) const;  // 0 for NULL.
  // Text and blobs as they are stored; empty for NULL. Bytes of an integer are never asked for.
  std::string_view Bytes(int column) const;

  bool IsNull(int column) const { return Type(column) == ValueType::kNull; }

  bool is_prepared() const { return handle_ != nullptr; }

  void Abandon();  // As Connection::Abandon.

 private:
  friend class Connection;
  sqlite3_stmt* handle_ = nullptr;
  Failure failure_ = Failure::kNone;
};

// Resets a statement at the end of a block, however that is left: a SELECT that stays half read
// holds its snapshot, and cannot be bound again.
class ResetAtEnd {
 public:
  explicit ResetAtEnd(Statement* statement) : statement_(statement) {}

  ~ResetAtEnd() { statement_->Reset(); }

  ResetAtEnd(const ResetAtEnd&) = delete;
  ResetAtEnd& operator=(const ResetAtEnd&) = delete;

 private:
  Statement* statement_;
};

}  // namespace reenact::store::sqlite

#endif  // REENACT_STORE_FORMAT_SQLITE_H_
