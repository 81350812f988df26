#include "recorder/run.h"

#include <sched.h>
#include <unistd.h>

#include <climits>
#include <new>
#include <utility>

#include "recorder/system_clock.h"
#include "schema/sha256.h"

namespace reenact::recorder {
namespace {

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

schema::Tags ProcessFacts(const Options& options, int64_t pid) {
  const schema::RedactionPolicy& policy = options.log.redaction;
  return {{"host", HostName()},
          {"pid", std::to_string(pid)},
          {"service_version", options.service_version},
          {"reenact_version",
           std::to_string(REENACT_VERSION_MAJOR) + "." + std::to_string(REENACT_VERSION_MINOR)},
          {"redaction_policy", policy.enabled ? std::to_string(policy.version) : "off"}};
}

void AppendEscaped(std::string_view key, std::string* path) {
  for (const char c : key) {
    if (c == '~') {
      *path += "~0";
    } else if (c == '/') {
      *path += "~1";
    } else {
      *path += c;
    }
  }
}

}  // namespace

schema::Ulid NewUlid(int64_t wall_ns) noexcept {
  std::array<uint8_t, 10> entropy;
  FillRandom(entropy.data(), entropy.size());
  return schema::MakeUlid(wall_ns / 1'000'000, entropy);
}

std::string ChildPath(std::string_view parent, std::string_view key) {
  std::string path(parent);
  if (!path.empty()) path += '/';
  AppendEscaped(key, &path);
  return path;
}

schema::Body WholeOrCut(std::string_view bytes, uint64_t limit_bytes) {
  const uint64_t limit =
      limit_bytes == 0 || limit_bytes > kSpillThreshold ? kSpillThreshold : limit_bytes;
  schema::Body body;
  if (bytes.size() <= limit) {
    body.bytes = bytes;
    return body;
  }
  body.bytes = bytes.substr(0, limit);
  body.cut = true;
  body.original_size = bytes.size();
  body.original_digest = schema::HashBytes(bytes);
  return body;
}

// --- RecordedRun ---

RecordedRun::RecordedRun(Recorder* recorder, schema::Run record)
    : recorder_(recorder), record_(std::move(record)), id_(record_.id), born_in_pid_(getpid()) {
  // The caller holds a reference, so this one is there to be had.
  recorder_->TryRef();
}

void RecordedRun::Unref() noexcept {
  if (refs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  recorder_->Unref();
  delete this;
}

bool RecordedRun::Announce(ProcessPart* part) noexcept {
  const uint64_t here = part->token();
  uint64_t seen = announced_.load(std::memory_order_acquire);
  while (seen != here) {
    if (seen == (here | 1)) {  // Another thread is at it: a copy into the ring, no more.
      sched_yield();
      seen = announced_.load(std::memory_order_acquire);
    } else if (announced_.compare_exchange_weak(seen, here | 1, std::memory_order_acquire)) {
      bool appended = false;
      try {
        appended = AppendRun(part);
      } catch (...) {
        recorder_->CountDrop(part, store::DropReason::kMemory, record_.input.bytes.size());
      }
      announced_.store(appended ? here : 0, std::memory_order_release);
      return appended;
    }
  }
  return true;
}

bool RecordedRun::AppendRun(ProcessPart* part) {
  const int64_t pid = getpid();
  schema::Run run = record_;
  run.process = ProcessFacts(recorder_->options(), pid);
  if (pid != born_in_pid_) {
    id_ = NewUlid(recorder_->WallNs());
    run.id = id_;
    run.tags.emplace_back("forked_from_run", schema::ToString(record_.id));
    run.tags.emplace_back("forked_from_pid", std::to_string(born_in_pid_));
  }
  std::string head;
  store::EncodeRun(run, &head);
  const std::string_view pieces[] = {head, run.input.bytes};
  return recorder_->Append(part, store::RecordKind::kRun, pieces, 2) != 0;
}

// --- RecordedScope ---

schema::Moment RecordedScope::Moment() noexcept {
  return {run_->recorder()->WallNs(), MonotonicNs()};
}

reenact_code RecordedScope::AddComponent(const reenact_component& component) noexcept {
  Recorder* const recorder = run_->recorder();
  ProcessPart* const part = recorder->part();
  try {
    if (!run_->Ready(part)) return REENACT_DROPPED;
    schema::Component record;
    record.kind = View(component.kind);
    record.name = View(component.name);
    record.version = View(component.version);
    record.content = WholeOrCut(View(component.content), recorder->options().body_limit_bytes);
    record.at = Moment();
    std::string head;
    store::EncodeComponent(run_->id(), record, &head);
    const std::string_view pieces[] = {head, record.content.bytes};
    return recorder->Append(part, store::RecordKind::kComponent, pieces, 2) != 0 ? REENACT_OK
                                                                                 : REENACT_DROPPED;
  } catch (...) {
    recorder->CountDrop(part, store::DropReason::kMemory, component.content.size);
    return REENACT_DROPPED;
  }
}

reenact_code RecordedScope::Tag(std::string_view name, std::string_view value) noexcept {
  Recorder* const recorder = run_->recorder();
  ProcessPart* const part = recorder->part();
  try {
    if (!run_->Ready(part)) return REENACT_DROPPED;
    const schema::Tags tags = {{std::string(name), std::string(value)}};
    std::string record;
    store::EncodeTags(run_->id(), tags, &record);
    const std::string_view pieces[] = {record};
    return recorder->Append(part, store::RecordKind::kTags, pieces, 1) != 0 ? REENACT_OK
                                                                            : REENACT_DROPPED;
  } catch (...) {
    recorder->CountDrop(part, store::DropReason::kMemory, value.size());
    return REENACT_DROPPED;
  }
}

reenact_code RecordedScope::MarkIncident(const reenact_incident_info& info) noexcept {
  Recorder* const recorder = run_->recorder();
  ProcessPart* const part = recorder->part();
  try {
    if (!run_->Ready(part)) return REENACT_DROPPED;
    schema::Mark mark;
    mark.at = Moment();
    mark.id = NewUlid(mark.at.wall_ns);
    mark.run = run_->id();
    mark.title = View(info.title);
    mark.notes = View(info.notes);
    mark.severity = info.severity;
    std::string record;
    store::EncodeMark(mark, &record);
    const std::string_view pieces[] = {record};
    return recorder->Append(part, store::RecordKind::kMark, pieces, 1) != 0 ? REENACT_OK
                                                                            : REENACT_DROPPED;
  } catch (...) {
    recorder->CountDrop(part, store::DropReason::kMemory, info.notes.size);
    return REENACT_DROPPED;
  }
}

reenact_code RecordedScope::BeginChild(std::string_view key, reenact_scope** out) noexcept {
  *out = nullptr;
  Recorder* const recorder = run_->recorder();
  try {
    auto* child = new RecordedScope(run_, ChildPath(path_, key));
    run_->Ref();
    *out = child;
    return REENACT_OK;
  } catch (...) {
    recorder->CountDrop(recorder->part(), store::DropReason::kMemory, key.size());
    return REENACT_DROPPED;
  }
}

void RecordedScope::RunId(char out[27]) noexcept {
  out[0] = '\0';
  if (!run_->Ready(run_->recorder()->part())) return;
  try {
    CopyText(schema::ToString(run_->id()), out, 27);
  } catch (...) {
    // No memory for 26 characters: an id that is not known.
  }
}

void RecordedScope::EndScope() noexcept {
  run_->Unref();
  delete this;
}

reenact_code RecordedScope::EndRun(int32_t end_state, std::string_view detail,
                                   std::string_view output) noexcept {
  Recorder* const recorder = run_->recorder();
  ProcessPart* const part = recorder->part();
  reenact_code code = REENACT_DROPPED;
  try {
    // A child that never used the run leaves it to its parent, without a word.
    if (run_->IsReady(part)) {
      schema::RunEnd end;
      end.run = run_->id();
      end.at = Moment();
      end.state = static_cast<schema::EndState>(end_state);
      end.detail = detail;
      end.output = WholeOrCut(output, recorder->options().body_limit_bytes);
      std::string head;
      store::EncodeRunEnd(end, &head);
      const std::string_view pieces[] = {head, end.output.bytes};
      if (recorder->Append(part, store::RecordKind::kRunEnd, pieces, 2) != 0) code = REENACT_OK;
    }
  } catch (...) {
    recorder->CountDrop(part, store::DropReason::kMemory, output.size());
  }
  EndScope();
  return code;
}

}  // namespace reenact::recorder
