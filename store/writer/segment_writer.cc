#include "store/writer/segment_writer.h"

#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include "store/format/file_digest.h"
#include "store/format/posix_file.h"
#include "store/format/tables.h"
#include "store/ring/internal/fork_guard.h"
#include "store/store_layout.h"
#include "store/writer/internal/manifest.h"
#include "store/writer/internal/row_writer.h"
#include "store/writer/internal/segment_file.h"

namespace reenact::store {

using sqlite::Failure;

// What happens inside returns a Failure; SegmentWriter's methods turn it into a code and roll back.
struct SegmentWriter::Impl {
  explicit Impl(const SegmentOptions& given)
      : options(given),
        rows({.store_key = options.store_key,
              .deterministic = options.deterministic,
              .compression_level = options.compression_level}) {}

  WriteCode Start(std::string* why);
  Failure WriteFirstRows();
  Failure SetOwner();
  // Before each change: the segment may be written, and a transaction is open.
  WriteCode Prepare();
  // Runs a change, and turns its failure into a code; nothing is thrown out of here.
  template <typename Change>
  WriteCode Apply(Change change);
  WriteCode Commit();
  void Rollback();
  // Ends what a rollback had no memory for.
  Failure Recover();
  WriteCode Note(Failure failure);
  WriteCode WriteLastRow();
  // Lets go of the statements, and of the file.
  WriteCode Close();
  void CloseStatements();
  WriteCode FinishSeal(const std::string& manifest_path);

  bool InForkedChild() const { return fork_guard.InForkedChild(); }

  const SegmentOptions options;
  // The order matters: statements go before the connection in `file`.
  SegmentFile file;
  RowWriter rows;
  sqlite::Statement begin_statement, commit_statement, rollback_statement;
  ForkGuard fork_guard;
  bool broken = false;
  bool unsealable = false;
  // The lookup remembers what is not there, or the rollback itself is still to come.
  bool rolled_back = false;
  bool sealed = false;  // Its last row is written.
  bool closed = false;  // The statements are gone.
  std::string last_error;
};

SegmentWriter::SegmentWriter() = default;

SegmentWriter::~SegmentWriter() {
  if (impl_ == nullptr || !impl_->InForkedChild()) return;
  // The parent's connection: closing it here would drop the parent's locks and touch its files.
  impl_->rows.Abandon();
  for (sqlite::Statement* statement :
       {&impl_->begin_statement, &impl_->commit_statement, &impl_->rollback_statement}) {
    statement->Abandon();
  }
  impl_->file.connection().Abandon();
}

WriteCode SegmentWriter::Open(const SegmentOptions& options, std::unique_ptr<SegmentWriter>* out,
                              std::string* why) {
  out->reset();
  std::unique_ptr<SegmentWriter> writer;
  WriteCode code = WriteCode::kUnavailable;
  try {
    writer.reset(new SegmentWriter);
    writer->impl_ = std::make_unique<Impl>(options);
    code = writer->impl_->Start(why);
  } catch (const std::bad_alloc&) {
    why->clear();  // No text: that would need memory.
  }
  if (code == WriteCode::kOk) {
    *out = std::move(writer);
  } else if (writer != nullptr && writer->impl_ != nullptr) {
    writer->impl_->rows.Close();
    writer->impl_->CloseStatements();
    writer->impl_->file.RemoveIfMade();
  }
  return code;
}

WriteCode SegmentWriter::Impl::Start(std::string* why) {
  const WriteCode code = file.Open(options, why);
  if (code != WriteCode::kOk) return code;
  const Failure failure = WriteFirstRows();
  if (failure != Failure::kNone) *why = "cannot be written: " + file.message();
  return ToWriteCode(failure);
}

Failure SegmentWriter::Impl::WriteFirstRows() {
  sqlite::Connection& connection = file.connection();
  Failure failure = connection.Prepare("BEGIN IMMEDIATE", &begin_statement);
  if (failure == Failure::kNone) failure = connection.Prepare("COMMIT", &commit_statement);
  if (failure == Failure::kNone) failure = connection.Prepare("ROLLBACK", &rollback_statement);
  schema::Ulid id = options.segment_id;
  if (failure == Failure::kNone) failure = rows.Open(&connection, &id);
  std::optional<std::string> stored;
  if (failure == Failure::kNone) failure = rows.lookup().FindMeta(kMetaSealed, &stored);
  sealed = stored.has_value();
  if (failure != Failure::kNone || sealed) return failure;
  failure = begin_statement.Run();
  if (failure == Failure::kNone) failure = rows.SetMeta(kMetaSegmentId, id.AsBytes());
  // A bundle says nothing of its making.
  if (failure == Failure::kNone && !options.deterministic) failure = SetOwner();
  if (failure == Failure::kNone) failure = commit_statement.Run();
  if (failure == Failure::kNone) rows.Committed();
  return failure;
}

Failure SegmentWriter::Impl::SetOwner() {
  std::optional<std::string> created;
  Failure failure = rows.lookup().FindMeta(kMetaCreated, &created);
  if (failure == Failure::kNone && !created.has_value()) {
    failure = rows.SetMeta(kMetaCreated, std::to_string(WallNowNs()));
  }
  if (failure == Failure::kNone && options.exclusive_process) {
    failure = rows.SetMeta(kMetaOwner, EncodeOwner(ThisProcess()));
  }
  return failure;
}

WriteCode SegmentWriter::Impl::Note(Failure failure) {
  if (failure == Failure::kNone) return WriteCode::kOk;
  const WriteCode code = ToWriteCode(failure);
  if (code == WriteCode::kBroken) broken = true;
  last_error = file.message();
  return code;
}

void SegmentWriter::Impl::Rollback() {
  rolled_back = true;
  rows.RolledBack();
  if (file.connection().in_transaction()) (void)rollback_statement.Run();
}

Failure SegmentWriter::Impl::Recover() {
  if (!rolled_back) return Failure::kNone;
  Failure failure = Failure::kNone;
  if (file.connection().in_transaction()) failure = rollback_statement.Run();
  if (failure == Failure::kNone) failure = rows.lookup().RolledBack();
  if (failure == Failure::kNone) rolled_back = false;
  return failure;
}

WriteCode SegmentWriter::Impl::Prepare() {
  if (InForkedChild()) {
    last_error = file.path() + " belongs to the parent process";
    return WriteCode::kRefused;
  }
  if (closed || sealed) {
    last_error = file.path() + " is sealed";
    return WriteCode::kRefused;
  }
  if (broken) return WriteCode::kBroken;
  Failure failure = Recover();
  if (failure == Failure::kNone && !file.connection().in_transaction())
    failure = begin_statement.Run();
  return Note(failure);
}

template <typename Change>
WriteCode SegmentWriter::Impl::Apply(Change change) {
  WriteCode code = WriteCode::kUnavailable;
  try {
    code = Prepare();
    if (code != WriteCode::kOk) return code;
    rows.ClearContradiction();
    const Failure failure = change();
    code = Note(failure);
    // Found before SQLite could see it.
    if (!rows.contradiction().empty()) last_error = file.path() + " " + rows.contradiction();
  } catch (const std::bad_alloc&) {
    code = WriteCode::kUnavailable;
  } catch (const std::length_error&) {
    code = WriteCode::kUnavailable;
  }
  if (code != WriteCode::kOk) Rollback();
  return code;
}

WriteCode SegmentWriter::Impl::Commit() {
  if (InForkedChild()) return WriteCode::kRefused;
  if (broken) return WriteCode::kBroken;
  if (rolled_back || !file.connection().in_transaction()) return WriteCode::kOk;
  const Failure failure = commit_statement.Run();
  if (failure == Failure::kNone) {
    rows.Committed();
    return WriteCode::kOk;
  }
  const WriteCode code = ToWriteCode(failure);
  broken = broken || code == WriteCode::kBroken;
  Rollback();
  return code;
}

WriteCode SegmentWriter::AddRun(const schema::Run& run) {
  return impl_->Apply([&] { return impl_->rows.AddRun(run); });
}

WriteCode SegmentWriter::AddRunEnd(const schema::RunEnd& end) {
  return impl_->Apply([&] { return impl_->rows.AddRunEnd(end); });
}

WriteCode SegmentWriter::AddTags(const schema::Ulid& run, const schema::Tags& tags) {
  return impl_->Apply([&] { return impl_->rows.AddTags(run, tags); });
}

WriteCode SegmentWriter::AddComponent(const schema::Ulid& run, const schema::Component& component) {
  return impl_->Apply([&] { return impl_->rows.AddComponent(run, component); });
}

WriteCode SegmentWriter::AddEvent(const schema::Event& event) {
  return impl_->Apply([&] { return impl_->rows.AddEvent(event); });
}

WriteCode SegmentWriter::AddOpenCall(const schema::Event& begin) {
  return impl_->Apply([&] { return impl_->rows.AddOpenCall(begin); });
}

WriteCode SegmentWriter::AddGap(const schema::Gap& gap) {
  return impl_->Apply([&] { return impl_->rows.AddGap(gap); });
}

WriteCode SegmentWriter::AddMark(const schema::Mark& mark) {
  return impl_->Apply([&] { return impl_->rows.AddMark(mark); });
}

WriteCode SegmentWriter::SetMeta(std::string_view key, std::string_view value) {
  return impl_->Apply([&] { return impl_->rows.SetMeta(key, value); });
}

WriteCode SegmentWriter::CloseOpenCalls() {
  return impl_->Apply([&] { return impl_->rows.CloseOpenCalls(); });
}

WriteCode SegmentWriter::Commit() {
  Impl& impl = *impl_;
  const WriteCode code = impl.Commit();
  if (code == WriteCode::kOk) return code;
  try {
    impl.last_error = impl.file.message();
  } catch (const std::bad_alloc&) {
    impl.last_error.clear();
  }
  return code;
}

uint64_t SegmentWriter::open_call_count() const {
  return impl_->closed ? 0 : impl_->rows.lookup().OpenCalls().size();
}

bool SegmentWriter::FindOpenCall(uint64_t sequence, schema::Event* begin) {
  Impl& impl = *impl_;
  try {
    if (impl.InForkedChild() || impl.closed || impl.Recover() != Failure::kNone) return false;
    if (!impl.rows.lookup().IsOpenCall(sequence)) return false;
    OpenCallRefs refs;
    Failure failure = impl.rows.lookup().ReadOpenCall(sequence, begin, &refs);
    if (failure == Failure::kNone) {
      failure = impl.rows.lookup().ReadBody(refs.request_body, &begin->request, &impl.last_error);
    }
    return failure == Failure::kNone;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void SegmentWriter::Announce(const std::string& manifest_path) {
  if (impl_->InForkedChild()) return;
  try {
    static_cast<void>(
        AppendBegunLine(manifest_path, impl_->options.store_key, FileNameOf(impl_->file.path())));
  } catch (const std::bad_alloc&) {
    // As on a full disk.
  }
}

WriteCode SegmentWriter::Seal(const std::string& manifest_path) {
  Impl& impl = *impl_;
  try {
    if (impl.InForkedChild()) return WriteCode::kRefused;
    if (impl.unsealable) return WriteCode::kBroken;
    impl.broken = false;  // One try, to save what there is.
    WriteCode code = impl.sealed ? WriteCode::kOk : impl.WriteLastRow();
    if (code == WriteCode::kOk) code = impl.Close();
    if (code == WriteCode::kOk) code = impl.FinishSeal(manifest_path);
    // A sync that failed once tells nothing when it succeeds the next time.
    impl.unsealable = code == WriteCode::kBroken;
    return code;
  } catch (const std::bad_alloc&) {
    return WriteCode::kUnavailable;
  }
}

WriteCode SegmentWriter::Impl::WriteLastRow() {
  const auto last_row = [&] {
    const Failure failure = rows.CloseOpenCalls();
    if (failure != Failure::kNone) return failure;
    return rows.SetMeta(kMetaSealed, std::to_string(rows.chain().state().rows));
  };
  WriteCode code = Apply(last_row);
  if (code == WriteCode::kOk) code = Commit();
  if (code != WriteCode::kOk && last_error.empty()) last_error = file.message();
  sealed = code == WriteCode::kOk;
  return code;
}

WriteCode SegmentWriter::Impl::Close() {
  closed = true;
  rows.Close();
  CloseStatements();
  return Note(file.EndJournal());
}

void SegmentWriter::Impl::CloseStatements() {
  begin_statement = sqlite::Statement();
  commit_statement = sqlite::Statement();
  rollback_statement = sqlite::Statement();
}

WriteCode SegmentWriter::Impl::FinishSeal(const std::string& manifest_path) {
  int code = 0;
  if (!manifest_path.empty()) {
    SealedSegment whole{.name = FileNameOf(file.path()), .chain = rows.chain().committed()};
    code = DigestOfFile(file.path(), &whole.digest);
    if (code != 0) {
      last_error = file.path() + ": " + DescribeErrno(code);
      return ErrnoToWriteCode(code);
    }
    code = AppendSealedLine(manifest_path, options.store_key, whole);
    if (code != 0) last_error = manifest_path + ": " + DescribeErrno(code);
  }
  if (code == 0) {
    code = file.MakeReadOnly();
    if (code != 0) last_error = file.path() + ": " + DescribeErrno(code);
  }
  return ErrnoToWriteCode(code);
}

WriteCode SegmentWriter::CheckpointIfDue() {
  Impl& impl = *impl_;
  try {
    if (impl.InForkedChild() || impl.closed) return WriteCode::kRefused;
    return impl.Note(impl.file.CheckpointIfDue());
  } catch (const std::bad_alloc&) {
    return WriteCode::kUnavailable;
  }
}

void SegmentWriter::SetHurried(bool hurried) {
  impl_->rows.SetHurried(hurried);
}

uint64_t SegmentWriter::size_bytes() const {
  return impl_->file.size_bytes();
}

const std::string& SegmentWriter::path() const {
  return impl_->file.path();
}

const std::string& SegmentWriter::last_error() const {
  return impl_->last_error;
}

}  // namespace reenact::store
