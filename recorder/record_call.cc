#include "recorder/record_call.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <new>
#include <utility>

#include "recorder/system_clock.h"
#include "schema/exchange.h"
#include "schema/json_view.h"
#include "schema/model_name.h"
#include "schema/redaction.h"
#include "schema/stored_header.h"

namespace reenact::recorder {
namespace {

// Handles at rest. Each slot is taken and given with one exchange, so that there is no lock which a
// fork could inherit, and no list that a killed thread could leave half linked.
constexpr size_t kPoolSize = 64;
constinit std::array<std::atomic<RecordedCall*>, kPoolSize> g_pool{};

// Spreads threads over the slots: the address of a thread's errno is its own.
size_t FirstSlot() noexcept {
  return (reinterpret_cast<uintptr_t>(&errno) >> 12) * 7 % kPoolSize;
}

constexpr size_t kSlotsTried = 8;

// Asks for the host's bytes, which may have to come from memory, while there is other work to do.
// What lies further on the processor fetches by itself as it copies.
void Prefetch(std::string_view bytes) noexcept {
  constexpr size_t kLine = 64;
  constexpr size_t kAhead = 1024;
  const size_t size = bytes.size() < kAhead ? bytes.size() : kAhead;
  for (size_t offset = 0; offset < size; offset += kLine) {
    __builtin_prefetch(bytes.data() + offset);
  }
}

void AppendAllowed(const reenact_pair* headers, size_t count, schema::Headers* out) {
  for (size_t i = 0; i < count; ++i) {
    const std::string_view name = View(headers[i].name);
    if (!schema::IsAllowedHeader(name)) continue;
    out->emplace_back(name, schema::StoredHeaderValue(name, View(headers[i].value)));
  }
}

void LearnSecrets(Recorder* recorder, ProcessPart* part, const reenact_pair* headers,
                  size_t count) noexcept {
  for (size_t i = 0; i < count; ++i) {
    if (schema::IsSecretHeader(View(headers[i].name))) {
      recorder->LearnSecret(part, View(headers[i].value));
    }
  }
}

}  // namespace

reenact_disposition RecordedScope::BeginCall(const reenact_call_info& info,
                                             reenact_call** out) noexcept {
  *out = nullptr;
  Recorder* const recorder = run_->recorder();
  if (!recorder->Records(info.boundary)) return REENACT_LIVE;
  Prefetch(View(info.request));
  ProcessPart* const part = recorder->part();
  if (!run_->Ready(part)) return REENACT_LIVE;
  RecordedCall* const call = RecordedCall::Take();
  if (call == nullptr) {
    recorder->CountDrop(part, store::DropReason::kMemory, info.request.size);
    return REENACT_LIVE;
  }
  run_->Ref();
  try {
    call->Begin(run_, part, path_, info);
    *out = call;
  } catch (...) {
    recorder->CountDrop(part, store::DropReason::kMemory, info.request.size);
    call->Give();
  }
  return REENACT_LIVE;
}

RecordedCall* RecordedCall::Take() noexcept {
  const size_t first = FirstSlot();
  for (size_t i = 0; i < kSlotsTried; ++i) {
    std::atomic<RecordedCall*>& slot = g_pool[(first + i) % kPoolSize];
    if (slot.load(std::memory_order_relaxed) == nullptr) continue;
    if (RecordedCall* call = slot.exchange(nullptr, std::memory_order_acquire)) return call;
  }
  return new (std::nothrow) RecordedCall();
}

void RecordedCall::Give() noexcept {
  if (counted_in_flight_) part_->model_calls_in_flight.fetch_sub(1, std::memory_order_relaxed);
  counted_in_flight_ = false;
  if (run_ != nullptr) run_->Unref();
  run_ = nullptr;
  part_ = nullptr;
  const size_t first = FirstSlot();
  for (size_t i = 0; i < kSlotsTried; ++i) {
    RecordedCall* empty = nullptr;
    if (g_pool[(first + i) % kPoolSize].compare_exchange_strong(
            empty, this, std::memory_order_release, std::memory_order_relaxed)) {
      return;
    }
  }
  delete this;
}

// --- the beginning ---

void RecordedCall::Begin(RecordedRun* run, ProcessPart* part, const std::string& scope,
                         const reenact_call_info& info) {
  run_ = run;
  part_ = part;
  Recorder* const recorder = run->recorder();
  end_.begin_sequence = 0;
  end_.exchange.clear();
  end_.meta.clear();
  last_offset_ns_ = 0;
  answer_lost_ = false;
  store::StartedCall started{.run = run->id(),
                             .scope = scope,
                             .boundary = static_cast<schema::Boundary>(info.boundary),
                             .name = View(info.name),
                             .provider = View(info.provider),
                             .endpoint = View(info.endpoint),
                             .attempt = info.attempt};
  counted_in_flight_ = info.boundary == REENACT_MODEL;
  if (counted_in_flight_) {
    started.in_flight = part->model_calls_in_flight.fetch_add(1, std::memory_order_relaxed);
  }
  if (info.header_count != 0) {
    LearnSecrets(recorder, part, info.headers, info.header_count);
    request_headers_.clear();
    AppendAllowed(info.headers, info.header_count, &request_headers_);
    started.request_headers = &request_headers_;
  }
  response_.Reset(part->log(recorder->options()), recorder->options().body_limit_bytes);
  if (recorder->options().require_pinned && info.boundary == REENACT_MODEL) {
    CheckPinned(View(info.provider), View(info.request));
  }
  started.started = {recorder->WallNs(), MonotonicNs()};
  begun_ns_ = started.started.monotonic_ns;
  AppendBegin(&started, View(info.request));
}

void RecordedCall::CheckPinned(std::string_view provider, std::string_view request) {
  const auto document = schema::JsonDocument::Parse(request);
  if (!document || !document->root()["model"].is_string()) return;
  const std::string model = document->root()["model"].AsString();
  const schema::ModelNameClass name = schema::ClassifyModelName(provider, model);
  if (name.pinning != schema::Pinning::kFloating) return;
  run_->recorder()->floating_models.fetch_add(1, std::memory_order_relaxed);
  run_->recorder()->Warn("model \"" + model + "\" is not pinned: " + name.evidence);
}

void RecordedCall::AppendBegin(store::StartedCall* started, std::string_view request) {
  const Options& options = run_->recorder()->options();
  const uint64_t limit = options.body_limit_bytes;
  EventLog* const log = part_->log(options);
  if (log != nullptr &&
      (request.size() > kSpillThreshold || (limit != 0 && request.size() > limit))) {
    AppendLargeBegin(log, started, request);
  } else {
    AppendBeginRecord(*started, {}, request);
  }
}

void RecordedCall::AppendLargeBegin(EventLog* log, store::StartedCall* started,
                                    std::string_view request) {
  BodyCollector large;
  large.Reset(log, run_->recorder()->options().body_limit_bytes);
  large.Append(request);
  BodyCollector::Finished finished = large.Finish();
  schema::Body facts;
  if (finished.spilled.path.empty()) {
    facts.cut = finished.spilled.cut;
    facts.original_size = finished.spilled.original_size;
    facts.original_digest = finished.spilled.original_digest;
    finished.spilled = {};
  }
  started->request = &facts;
  AppendBeginRecord(*started, finished.spilled, finished.tail);
  if (end_.begin_sequence == 0) large.Discard();
}

void RecordedCall::AppendBeginRecord(const store::StartedCall& started,
                                     const store::SpilledBody& spilled, std::string_view tail) {
  record_.clear();
  store::EncodeCallBegin(started, spilled, &record_);
  const std::string_view pieces[] = {record_, tail};
  end_.begin_sequence = run_->recorder()->Append(part_, store::RecordKind::kCallBegin, pieces, 2);
}

// --- the answer ---

ProcessPart* RecordedCall::OwnPart() noexcept {
  return part_ != nullptr && part_->token() == ProcessToken() ? part_ : nullptr;
}

void RecordedCall::AppendItem(int64_t now_ns, schema::ExchangeItem* item) {
  item->offset_ns = now_ns - begun_ns_;
  schema::AppendExchangeItem(&end_.exchange, *item, last_offset_ns_);
  last_offset_ns_ = item->offset_ns;
}

reenact_code RecordedCall::Head(int32_t status, const reenact_pair* headers,
                                size_t header_count) noexcept {
  if (!recorded()) return REENACT_DROPPED;
  LearnSecrets(run_->recorder(), part_, headers, header_count);
  try {
    schema::ExchangeItem item;
    item.kind = schema::ExchangeItemKind::kHead;
    item.status = status;
    AppendAllowed(headers, header_count, &item.headers);
    AppendItem(MonotonicNs(), &item);
    return REENACT_OK;
  } catch (...) {
    answer_lost_ = true;
    return REENACT_DROPPED;
  }
}

reenact_code RecordedCall::Chunk(std::string_view bytes) noexcept {
  if (!recorded()) return REENACT_DROPPED;
  Prefetch(bytes);
  const int64_t now_ns = MonotonicNs();
  try {
    schema::ExchangeItem item;
    item.kind = schema::ExchangeItemKind::kBytes;
    item.size = response_.Append(bytes);
    if (item.size != 0 || bytes.empty()) AppendItem(now_ns, &item);
    return REENACT_OK;
  } catch (...) {
    answer_lost_ = true;
    return REENACT_DROPPED;
  }
}

reenact_code RecordedCall::AttemptFailed(std::string_view detail) noexcept {
  if (!recorded()) return REENACT_DROPPED;
  try {
    schema::ExchangeItem item;
    item.kind = schema::ExchangeItemKind::kAttemptEnd;
    item.detail = detail;
    AppendItem(MonotonicNs(), &item);
    return REENACT_OK;
  } catch (...) {
    answer_lost_ = true;
    return REENACT_DROPPED;
  }
}

reenact_code RecordedCall::Next(reenact_item*) noexcept {
  return REENACT_INVALID_ARGUMENT;
}

// --- the end ---

reenact_code RecordedCall::End(int32_t end_state, const reenact_call_meta& meta) noexcept {
  bool appended = false;
  if (OwnPart() == nullptr) {
    // Begun before a fork: it is the parent's to end, and so are its files.
    Recorder* const recorder = run_->recorder();
    recorder->CountDrop(recorder->part(), store::DropReason::kForkChild, 0);
    response_.Abandon();
    counted_in_flight_ = false;
  } else if (end_.begin_sequence != 0) {
    try {
      appended = AppendEnd(end_state, meta);
    } catch (...) {
      run_->recorder()->CountDrop(part_, store::DropReason::kMemory, 0);
    }
  }
  Give();
  return appended ? REENACT_OK : REENACT_DROPPED;
}

bool RecordedCall::AppendEnd(int32_t end_state, const reenact_call_meta& meta) {
  end_.elapsed_ns = MonotonicNs() - begun_ns_;
  end_.state = static_cast<schema::EndState>(end_state);
  end_.detail = View(meta.detail);
  for (size_t i = 0; i < meta.fact_count; ++i) {
    end_.meta.emplace_back(View(meta.facts[i].name), View(meta.facts[i].value));
  }
  BodyCollector::Finished finished = response_.Finish();
  if (finished.spilled.cut || answer_lost_) {
    TrimExchange(finished.size);
    if (end_.state == schema::EndState::kComplete) {
      end_.state = schema::EndState::kTruncatedByLimit;
    }
  }
  end_.spilled = std::move(finished.spilled);
  record_.clear();
  store::EncodeCallEnd(end_, &record_);
  const std::string_view pieces[] = {record_, finished.tail};
  if (run_->recorder()->Append(part_, store::RecordKind::kCallEnd, pieces, 2) != 0) return true;
  response_.Discard();
  return false;
}

// The reads that were counted before the body was cut must add up to what there is of it.
void RecordedCall::TrimExchange(uint64_t body_size) {
  auto exchange = schema::DecodeExchange(end_.exchange);
  if (!exchange) exchange.emplace();
  for (schema::ExchangeItem& item : *exchange) {
    if (item.kind != schema::ExchangeItemKind::kBytes) continue;
    if (item.size > body_size) item.size = body_size;
    body_size -= item.size;
  }
  if (body_size != 0) {
    schema::ExchangeItem rest;
    rest.offset_ns = last_offset_ns_;
    rest.size = body_size;
    exchange->push_back(std::move(rest));
  }
  end_.exchange = schema::EncodeExchange(*exchange);
}

}  // namespace reenact::recorder
