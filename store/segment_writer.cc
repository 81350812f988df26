#include "store/segment_writer.h"

#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include "store/internal/body_writer.h"
#include "store/internal/chain_writer.h"
#include "store/internal/fork_guard.h"
#include "store/internal/manifest.h"
#include "store/internal/pairs.h"
#include "store/internal/posix_file.h"
#include "store/internal/row_lookup.h"
#include "store/internal/segment_file.h"
#include "store/store_layout.h"
#include "store/tables.h"

namespace reenact::store {

using sqlite::Failure;

// What happens inside returns a Failure; SegmentWriter's methods turn it into a code and roll back.
struct SegmentWriter::Impl {
  explicit Impl(const SegmentOptions& given)
      : options(given),
        bodies(&chain, {.store_key = options.store_key,
                        .deterministic = options.deterministic,
                        .compression_level = options.compression_level}) {}

  Failure Start();
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

  bool InForkedChild() const { return fork_guard.InForkedChild(); }

  Failure KnownRun(const schema::Ulid& id, int64_t* run);
  Failure AddRun(const schema::Run& run);
  Failure AddRunEnd(const schema::RunEnd& end);
  Failure AddTags(int64_t run, const schema::Tags& tags);
  Failure AddComponent(const schema::Ulid& run_id, const schema::Component& component);
  Failure AddEvent(const schema::Event& event);
  Failure AddRequest(const schema::Event& event, int64_t run, int64_t* ordinal);
  Failure AppendEvent(const schema::Event& event, int64_t run, int64_t request, int64_t response);
  Failure AddOpenCall(const schema::Event& begin);
  Failure CloseOpenCalls();
  Failure AddGap(const schema::Gap& gap);
  Failure AddMark(const schema::Mark& mark);
  Failure SetMeta(std::string_view key, std::string_view value);
  WriteCode WriteLastRow();
  // Lets go of the statements, and of the file.
  WriteCode Close();
  WriteCode FinishSeal(const std::string& manifest_path);

  void BodyColumn(int64_t ordinal) { ordinal == 0 ? chain.Null() : chain.Integer(ordinal); }

  void MomentColumns(const schema::Moment& moment) {
    chain.Integer(moment.wall_ns);
    chain.Integer(moment.monotonic_ns);
  }

  // The order matters: statements go before the connection in `file`.
  const SegmentOptions options;
  SegmentFile file;
  ChainWriter chain;
  RowLookup rows;
  BodyWriter bodies;
  BodyEncoder column_encoder{1};
  ForkGuard fork_guard;
  sqlite::Statement begin_statement, commit_statement, rollback_statement;
  bool broken = false;
  bool unsealable = false;
  bool rolled_back =
      false;  // `rows` remembers what is not there, or the rollback itself is to come.
  bool contradiction = false;
  bool sealed = false;  // Its last row is written.
  bool closed = false;  // The statements are gone.
  std::string last_error;
  // Columns under construction; kept for their memory.
  std::string headers, packed, meta;
};

SegmentWriter::SegmentWriter() = default;

SegmentWriter::~SegmentWriter() {
  if (impl_ == nullptr || !impl_->InForkedChild()) return;
  // The parent's connection: closing it here would drop the parent's locks and touch its files.
  impl_->rows.Abandon();
  impl_->chain.Abandon();
  for (sqlite::Statement* statement :
       {&impl_->begin_statement, &impl_->commit_statement, &impl_->rollback_statement}) {
    statement->Abandon();
  }
  impl_->file.connection().Abandon();
}

WriteCode SegmentWriter::Open(const SegmentOptions& options, std::unique_ptr<SegmentWriter>* out,
                              std::string* why) {
  out->reset();
  try {
    std::unique_ptr<SegmentWriter> writer(new SegmentWriter);
    writer->impl_ = std::make_unique<Impl>(options);
    Impl& impl = *writer->impl_;
    if (const WriteCode code = impl.file.Open(options, why); code != WriteCode::kOk) return code;
    const Failure failure = impl.Start();
    if (failure != Failure::kNone) {
      *why = options.path + " cannot be written: " + impl.file.connection().message();
      return ToWriteCode(failure);
    }
    *out = std::move(writer);
    return WriteCode::kOk;
  } catch (const std::bad_alloc&) {
    why->clear();  // No text: that would need memory.
    return WriteCode::kUnavailable;
  }
}

Failure SegmentWriter::Impl::Start() {
  sqlite::Connection& connection = file.connection();
  Failure failure = connection.Prepare("BEGIN IMMEDIATE", &begin_statement);
  if (failure == Failure::kNone) failure = connection.Prepare("COMMIT", &commit_statement);
  if (failure == Failure::kNone) failure = connection.Prepare("ROLLBACK", &rollback_statement);
  if (failure == Failure::kNone) failure = rows.Open(&connection);
  schema::Ulid id = options.segment_id;
  std::optional<std::string> stored;
  if (failure == Failure::kNone) failure = rows.FindMeta(kMetaSegmentId, &stored);
  // A segment that is opened again knows its id; the chain starts with it.
  if (stored.has_value()) id = schema::UlidFromBytes(*stored).value_or(id);
  if (failure == Failure::kNone) failure = chain.Open(&connection, id);
  if (failure == Failure::kNone) failure = bodies.Open(&connection);
  if (failure == Failure::kNone) failure = rows.FindMeta(kMetaSealed, &stored);
  if (failure != Failure::kNone) return failure;
  sealed = stored.has_value();
  if (sealed) return Failure::kNone;
  failure = begin_statement.Run();
  if (failure == Failure::kNone) failure = SetMeta(kMetaSegmentId, id.AsBytes());
  // A bundle says nothing of its making.
  std::optional<std::string> created;
  if (failure == Failure::kNone) failure = rows.FindMeta(kMetaCreated, &created);
  if (failure == Failure::kNone && !created.has_value() && !options.deterministic) {
    failure = SetMeta(kMetaCreated, std::to_string(WallNowNs()));
  }
  if (failure == Failure::kNone && options.exclusive_process && !options.deterministic) {
    failure = SetMeta(kMetaOwner, EncodeOwner(ThisProcess()));
  }
  if (failure == Failure::kNone) failure = commit_statement.Run();
  if (failure == Failure::kNone) chain.Committed();
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
  chain.RolledBack();
  bodies.RolledBack();
  if (file.connection().in_transaction()) (void)rollback_statement.Run();
}

Failure SegmentWriter::Impl::Recover() {
  if (!rolled_back) return Failure::kNone;
  Failure failure = Failure::kNone;
  if (file.connection().in_transaction()) failure = rollback_statement.Run();
  if (failure == Failure::kNone) failure = rows.RolledBack();
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
    contradiction = false;
    const Failure failure = change();
    // A contradiction that was found before SQLite saw it has its text already.
    code = contradiction ? WriteCode::kInvalid : Note(failure);
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
    chain.Committed();
    return WriteCode::kOk;
  }
  const WriteCode code = ToWriteCode(failure);
  broken = broken || code == WriteCode::kBroken;
  Rollback();
  return code;
}

Failure SegmentWriter::Impl::KnownRun(const schema::Ulid& id, int64_t* run) {
  const Failure failure = rows.FindRun(id, run);
  if (failure != Failure::kNone || *run != 0) return failure;
  contradiction = true;
  last_error = file.path() + " does not hold run " + schema::ToString(id);
  return Failure::kConstraint;
}

Failure SegmentWriter::Impl::AddRun(const schema::Run& run) {
  int64_t ordinal = 0;
  Failure failure = rows.FindRun(run.id, &ordinal);
  if (failure != Failure::kNone || ordinal != 0) return failure;
  int64_t input = 0;
  failure = bodies.Add(run.input, {}, &input);
  if (failure != Failure::kNone) return failure;
  EncodePairs(run.process, &meta);
  ordinal = chain.Begin(kRunTable);
  chain.Blob(run.id.AsBytes());
  chain.Blob(run.parent.IsZero() ? std::string_view() : run.parent.AsBytes());
  chain.Integer(static_cast<int64_t>(run.origin));
  chain.Text(run.service);
  chain.Text(run.entry);
  BodyColumn(input);
  chain.Text(run.trace_id);
  chain.Blob(meta);
  MomentColumns(run.started);
  chain.EndChain();
  failure = chain.Append();
  if (failure == Failure::kNone) failure = AddTags(ordinal, run.tags);
  if (failure == Failure::kNone) rows.RememberRun(run.id, ordinal);
  return failure;
}

Failure SegmentWriter::Impl::AddTags(int64_t run, const schema::Tags& tags) {
  for (const auto& [key, value] : tags) {
    bool found = false;
    Failure failure = rows.HasTag(run, key, value, &found);
    if (failure != Failure::kNone) return failure;
    if (found) continue;
    chain.Begin(kRunTagTable);
    chain.Integer(run);
    chain.Text(key);
    chain.Text(value);
    chain.EndChain();
    failure = chain.Append();
    if (failure != Failure::kNone) return failure;
  }
  return Failure::kNone;
}

Failure SegmentWriter::Impl::AddRunEnd(const schema::RunEnd& end) {
  int64_t run = 0;
  bool found = false;
  Failure failure = KnownRun(end.run, &run);
  if (failure == Failure::kNone) failure = rows.HasRunEnd(run, &found);
  if (failure != Failure::kNone || found) return failure;
  int64_t output = 0;
  failure = bodies.Add(end.output, {}, &output);
  if (failure != Failure::kNone) return failure;
  chain.Begin(kRunEndTable);
  chain.Integer(run);
  MomentColumns(end.at);
  chain.Integer(static_cast<int64_t>(end.state));
  chain.Text(end.detail);
  BodyColumn(output);
  chain.EndChain();
  failure = chain.Append();
  if (failure == Failure::kNone) bodies.ForgetRun(run);
  return failure;
}

Failure SegmentWriter::Impl::AddComponent(const schema::Ulid& run_id,
                                          const schema::Component& component) {
  int64_t run = 0;
  bool found = false;
  Failure failure = KnownRun(run_id, &run);
  if (failure == Failure::kNone) failure = rows.HasComponent(run, component, &found);
  if (failure != Failure::kNone || found) return failure;
  int64_t content = 0;
  failure = bodies.Add(component.content, {.always_dedupe = true}, &content);
  if (failure != Failure::kNone) return failure;
  chain.Begin(kComponentTable);
  chain.Integer(run);
  chain.Text(component.kind);
  chain.Text(component.name);
  chain.Text(component.version);
  BodyColumn(content);
  MomentColumns(component.at);
  chain.EndChain();
  return chain.Append();
}

// A call that was open has its request stored; it is taken over if it is the same still.
Failure SegmentWriter::Impl::AddRequest(const schema::Event& event, int64_t run, int64_t* ordinal) {
  if (rows.IsOpenCall(event.sequence)) {
    OpenRequest open;
    Failure failure = rows.FindOpenRequest(event.sequence, &open);
    if (failure == Failure::kNone) failure = rows.DeleteOpenCall(event.sequence);
    if (failure != Failure::kNone) return failure;
    const std::string_view salt(reinterpret_cast<const char*>(open.salt.data()), open.salt.size());
    if (open.ordinal != 0 && BodyDigest(salt, event.request.bytes) == open.digest) {
      *ordinal = open.ordinal;
      return Failure::kNone;
    }
  }
  return bodies.Add(event.request, {.run = run, .role = BodyRole::kRequest, .name = event.name},
                    ordinal);
}

Failure SegmentWriter::Impl::AddEvent(const schema::Event& event) {
  bool found = false;
  Failure failure = rows.HasEvent(event.sequence, &found);
  if (failure != Failure::kNone || found) return failure;
  int64_t run = 0;
  failure = KnownRun(event.run, &run);
  int64_t request = 0;
  int64_t response = 0;
  if (failure == Failure::kNone) failure = AddRequest(event, run, &request);
  if (failure == Failure::kNone) {
    failure = bodies.Add(event.response,
                         {.run = run, .role = BodyRole::kResponse, .name = event.name}, &response);
  }
  if (failure == Failure::kNone) failure = AppendEvent(event, run, request, response);
  if (failure == Failure::kNone) rows.RememberEvent(event.sequence);
  return failure;
}

Failure SegmentWriter::Impl::AppendEvent(const schema::Event& event, int64_t run, int64_t request,
                                         int64_t response) {
  EncodePairs(event.request_headers, &headers);
  EncodePairs(event.meta, &meta);
  packed.clear();
  if (!event.exchange.empty() &&
      !column_encoder.Pack(schema::EncodeExchange(event.exchange), &packed)) {
    return Failure::kNoMemory;
  }
  char value[8];
  for (int i = 0; i < 8; ++i) value[i] = static_cast<char>(event.value >> (56 - 8 * i));
  chain.Begin(kEventTable);
  chain.Integer(static_cast<int64_t>(event.sequence));
  chain.Integer(static_cast<int64_t>(event.end_sequence));
  chain.Integer(run);
  chain.Text(event.scope);
  chain.Integer(static_cast<int64_t>(event.boundary));
  chain.Text(event.name);
  chain.Text(event.provider);
  chain.Text(event.endpoint);
  chain.Blob(headers);
  BodyColumn(request);
  BodyColumn(response);
  chain.Blob(packed);
  if (event.value == 0) {
    chain.Null();
  } else {
    chain.Blob({value, sizeof(value)});
  }
  MomentColumns(event.started);
  chain.Integer(event.elapsed_ns);
  chain.Integer(static_cast<int64_t>(event.end_state));
  chain.Text(event.end_detail);
  chain.Integer(event.attempt);
  chain.Integer(event.in_flight);
  chain.Blob(meta);
  chain.EndChain();
  return chain.Append();
}

Failure SegmentWriter::Impl::AddOpenCall(const schema::Event& begin) {
  bool found = rows.IsOpenCall(begin.sequence);
  if (found) return Failure::kNone;
  Failure failure = rows.HasEvent(begin.sequence, &found);
  if (failure != Failure::kNone || found) return failure;
  int64_t run = 0;
  int64_t request = 0;
  failure = KnownRun(begin.run, &run);
  if (failure == Failure::kNone) {
    failure = bodies.Add(begin.request,
                         {.run = run, .role = BodyRole::kRequest, .name = begin.name}, &request);
  }
  if (failure == Failure::kNone) failure = rows.InsertOpenCall(begin, run, request);
  return failure;
}

Failure SegmentWriter::Impl::CloseOpenCalls() {
  for (const uint64_t sequence : rows.OpenCalls()) {
    schema::Event event;
    Failure failure = rows.ReadOpenCall(sequence, &event, &last_error);
    event.end_state = schema::EndState::kIncomplete;
    if (failure == Failure::kNone) failure = AddEvent(event);
    if (failure != Failure::kNone) return failure;
  }
  return Failure::kNone;
}

Failure SegmentWriter::Impl::AddGap(const schema::Gap& gap) {
  bool found = false;
  const Failure failure = rows.HasGap(gap, &found);
  if (failure != Failure::kNone || found) return failure;
  chain.Begin(kGapTable);
  MomentColumns(gap.at);
  chain.Text(gap.reason);
  chain.Integer(static_cast<int64_t>(gap.count));
  chain.Integer(static_cast<int64_t>(gap.bytes));
  chain.Integer(static_cast<int64_t>(gap.first_sequence));
  chain.Integer(static_cast<int64_t>(gap.last_sequence));
  chain.EndChain();
  return chain.Append();
}

Failure SegmentWriter::Impl::AddMark(const schema::Mark& mark) {
  bool found = false;
  const Failure failure = rows.HasMark(mark.id, &found);
  if (failure != Failure::kNone || found) return failure;
  chain.Begin(kMarkTable);
  chain.Blob(mark.id.AsBytes());
  chain.Blob(mark.run.AsBytes());
  chain.Text(mark.title);
  chain.Integer(mark.severity);
  chain.Text(mark.notes);
  MomentColumns(mark.at);
  chain.EndChain();
  return chain.Append();
}

Failure SegmentWriter::Impl::SetMeta(std::string_view key, std::string_view value) {
  std::optional<std::string> stored;
  const Failure failure = rows.FindMeta(key, &stored);
  if (failure != Failure::kNone || stored == value) return failure;
  chain.Begin(kMetaTable);
  chain.Text(key);
  chain.Blob(value);
  chain.EndChain();
  return chain.Append();
}

WriteCode SegmentWriter::AddRun(const schema::Run& run) {
  return impl_->Apply([&] { return impl_->AddRun(run); });
}

WriteCode SegmentWriter::AddRunEnd(const schema::RunEnd& end) {
  return impl_->Apply([&] { return impl_->AddRunEnd(end); });
}

WriteCode SegmentWriter::AddTags(const schema::Ulid& run, const schema::Tags& tags) {
  return impl_->Apply([&] {
    int64_t ordinal = 0;
    const Failure failure = impl_->KnownRun(run, &ordinal);
    return failure == Failure::kNone ? impl_->AddTags(ordinal, tags) : failure;
  });
}

WriteCode SegmentWriter::AddComponent(const schema::Ulid& run, const schema::Component& component) {
  return impl_->Apply([&] { return impl_->AddComponent(run, component); });
}

WriteCode SegmentWriter::AddEvent(const schema::Event& event) {
  return impl_->Apply([&] { return impl_->AddEvent(event); });
}

WriteCode SegmentWriter::AddOpenCall(const schema::Event& begin) {
  return impl_->Apply([&] { return impl_->AddOpenCall(begin); });
}

WriteCode SegmentWriter::AddGap(const schema::Gap& gap) {
  return impl_->Apply([&] { return impl_->AddGap(gap); });
}

WriteCode SegmentWriter::AddMark(const schema::Mark& mark) {
  return impl_->Apply([&] { return impl_->AddMark(mark); });
}

WriteCode SegmentWriter::SetMeta(std::string_view key, std::string_view value) {
  return impl_->Apply([&] { return impl_->SetMeta(key, value); });
}

WriteCode SegmentWriter::CloseOpenCalls() {
  return impl_->Apply([&] { return impl_->CloseOpenCalls(); });
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
  return impl_->closed ? 0 : impl_->rows.OpenCalls().size();
}

bool SegmentWriter::FindOpenCall(uint64_t sequence, schema::Event* begin) {
  Impl& impl = *impl_;
  try {
    if (impl.InForkedChild() || impl.closed || impl.Recover() != Failure::kNone) return false;
    if (!impl.rows.IsOpenCall(sequence)) return false;
    return impl.rows.ReadOpenCall(sequence, begin, &impl.last_error) == Failure::kNone;
  } catch (const std::bad_alloc&) {
    return false;
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
    const Failure failure = CloseOpenCalls();
    if (failure != Failure::kNone) return failure;
    return SetMeta(kMetaSealed, std::to_string(chain.state().rows));
  };
  WriteCode code = Apply(last_row);
  if (code == WriteCode::kOk) code = Commit();
  if (code != WriteCode::kOk && last_error.empty()) last_error = file.message();
  sealed = code == WriteCode::kOk;
  return code;
}

WriteCode SegmentWriter::Impl::Close() {
  closed = true;
  chain.Close();
  rows = RowLookup();
  begin_statement = sqlite::Statement();
  commit_statement = sqlite::Statement();
  rollback_statement = sqlite::Statement();
  return Note(file.EndJournal());
}

WriteCode SegmentWriter::Impl::FinishSeal(const std::string& manifest_path) {
  int code = 0;
  if (!manifest_path.empty()) {
    code = AppendSealedLine(manifest_path, options.store_key, FileNameOf(file.path()),
                            chain.committed());
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
  impl_->bodies.SetHurried(hurried);
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
