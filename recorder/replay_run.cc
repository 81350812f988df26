#include "recorder/replay_run.h"

#include <new>
#include <utility>
#include <variant>

#include "recorder/replay_recorder.h"
#include "recorder/run.h"
#include "schema/record.h"

namespace reenact::recorder {

// --- ReplayScope ---

std::string ReplayScope::WhyNotAsked(int32_t boundary) const {
  if (run_token_ == 0) return refusal_;
  if ((recorder_->options().disabled_boundaries & (1u << boundary)) != 0) {
    return "replay: " + std::string(schema::ToString(static_cast<schema::Boundary>(boundary))) +
           " is switched off by disabled_boundaries: nothing was recorded, and nothing is live";
  }
  return {};
}

reenact_disposition ReplayScope::BeginCall(const reenact_call_info& info,
                                           reenact_call** out) noexcept {
  *out = PoisonedCall();
  auto* call = new (std::nothrow) ReplayCall(recorder_, run_token_);
  if (call == nullptr) return REENACT_DIVERGED;
  *out = call;
  try {
    if (std::string why = WhyNotAsked(info.boundary); !why.empty()) {
      call->Diverge(std::move(why));
      return REENACT_DIVERGED;
    }
    schema::BeginCall question;
    question.run_token = run_token_;
    question.scope = path_;
    question.boundary = static_cast<schema::Boundary>(info.boundary);
    question.name = View(info.name);
    question.provider = View(info.provider);
    question.endpoint = View(info.endpoint);
    question.request = View(info.request);
    schema::Message answer = recorder_->client().Ask(question);
    if (auto* on_tape = std::get_if<schema::OnTape>(&answer)) {
      if (call->Serve(std::move(*on_tape))) return REENACT_ON_TAPE;
      call->Diverge("replay: the reads of the recorded answer do not add up to its bytes");
      return REENACT_DIVERGED;
    }
    call->Diverge(std::move(std::get<schema::Diverged>(answer).message));
  } catch (...) {
    // The call stays as it was made: diverged, without a message.
  }
  return REENACT_DIVERGED;
}

reenact_code ReplayScope::Read(schema::Boundary boundary, std::string_view name, uint64_t* value) {
  if (!WhyNotAsked(static_cast<int32_t>(boundary)).empty()) return REENACT_DIVERGED_CODE;
  schema::ReadValue question;
  question.run_token = run_token_;
  question.scope = path_;
  question.boundary = boundary;
  question.name = name;
  const schema::Message answer = recorder_->client().Ask(question);
  if (const auto* read = std::get_if<schema::Value>(&answer)) {
    *value = read->value;
    return REENACT_OK;
  }
  const uint64_t instead = std::get<schema::Diverged>(answer).value;
  if (instead != 0) *value = instead;
  return REENACT_DIVERGED_CODE;
}

reenact_code ReplayScope::Now(std::string_view name, int64_t* unix_ns) noexcept {
  *unix_ns = recorder_->last_clock_ns.load();
  try {
    auto value = static_cast<uint64_t>(*unix_ns);
    const reenact_code code = Read(schema::Boundary::kClock, name, &value);
    *unix_ns = static_cast<int64_t>(value);
    recorder_->last_clock_ns.store(*unix_ns);
    return code;
  } catch (...) {
    return REENACT_DIVERGED_CODE;
  }
}

reenact_code ReplayScope::RandomSeed(std::string_view name, uint64_t* seed) noexcept {
  *seed = 0;
  try {
    return Read(schema::Boundary::kRandom, name, seed);
  } catch (...) {
    return REENACT_DIVERGED_CODE;
  }
}

reenact_code ReplayScope::WantLogprobs(std::string_view name, int32_t* want) noexcept {
  *want = 0;
  try {
    uint64_t value = 0;
    const reenact_code code = Read(schema::Boundary::kEnv, name, &value);
    *want = value != 0 ? 1 : 0;
    return code;
  } catch (...) {
    return REENACT_DIVERGED_CODE;
  }
}

reenact_code ReplayScope::AddComponent(const reenact_component& component) noexcept {
  try {
    if (run_token_ == 0) return REENACT_DIVERGED_CODE;
    schema::AddComponent question;
    question.run_token = run_token_;
    question.component.kind = View(component.kind);
    question.component.name = View(component.name);
    question.component.version = View(component.version);
    question.component.content.bytes = View(component.content);
    const schema::Message answer = recorder_->client().Ask(question);
    return std::holds_alternative<schema::Done>(answer) ? REENACT_OK : REENACT_DIVERGED_CODE;
  } catch (...) {
    return REENACT_DIVERGED_CODE;
  }
}

reenact_code ReplayScope::ComponentContent(const reenact_component& own,
                                           reenact_bytes* content) noexcept {
  try {
    if (run_token_ == 0) return REENACT_DIVERGED_CODE;
    schema::UseComponent question;
    question.run_token = run_token_;
    question.name = View(own.name);
    schema::Message answer = recorder_->client().Ask(question);
    auto* overriding = std::get_if<schema::ComponentContent>(&answer);
    if (overriding == nullptr) return REENACT_DIVERGED_CODE;
    if (!overriding->overridden) return REENACT_OK;
    const std::lock_guard lock(contents_mutex_);
    const std::string& kept = contents_.emplace_back(std::move(overriding->bytes));
    *content = {kept.data(), kept.size()};
    return REENACT_OK;
  } catch (...) {
    return REENACT_DIVERGED_CODE;
  }
}

reenact_code ReplayScope::BeginChild(std::string_view key, reenact_scope** out) noexcept {
  *out = PoisonedScope();
  try {
    *out = new ReplayScope(recorder_, run_token_, ChildPath(path_, key), refusal_);
    return REENACT_OK;
  } catch (...) {
    return REENACT_DIVERGED_CODE;
  }
}

void ReplayScope::RunId(char out[27]) noexcept {
  CopyText(
      run_token_ != 0 ? std::string_view(recorder_->client().welcome().run_id) : std::string_view(),
      out, 27);
}

reenact_code ReplayScope::EndRun(int32_t end_state, std::string_view detail,
                                 std::string_view output) noexcept {
  reenact_code code = REENACT_DIVERGED_CODE;
  try {
    if (run_token_ != 0) {
      schema::FinishRun question;
      question.run_token = run_token_;
      question.state = static_cast<schema::EndState>(end_state);
      question.detail = detail;
      question.output = output;
      const schema::Message answer = recorder_->client().Ask(question);
      if (std::holds_alternative<schema::Done>(answer)) code = REENACT_OK;
    }
  } catch (...) {
    // Diverged: the replayer never learned how the run ended.
  }
  delete this;
  return code;
}

// --- ReplayCall ---

bool ReplayCall::Serve(schema::OnTape answer) noexcept {
  // Every read is handed out by its size: they must not run past the bytes.
  diverged_ = schema::BodySize(answer.exchange) != answer.body.size();
  answer_ = std::move(answer);
  return !diverged_;
}

void ReplayCall::Diverge(std::string message) noexcept {
  message_ = std::move(message);
}

reenact_code ReplayCall::Next(reenact_item* item) noexcept {
  if (diverged_) return REENACT_DIVERGED_CODE;
  if (next_item_ > answer_.exchange.size()) return REENACT_END;
  try {
    if (next_item_ < answer_.exchange.size()) {
      FillItem(answer_.exchange[next_item_], item);
    } else {
      item->kind = REENACT_ITEM_CALL_END;
      item->end_state = static_cast<int32_t>(answer_.end_state);
      item->bytes = {answer_.end_detail.data(), answer_.end_detail.size()};
    }
    ++next_item_;
    return REENACT_OK;
  } catch (...) {
    // A host that got half an answer must not take it for the whole.
    diverged_ = true;
    return REENACT_DIVERGED_CODE;
  }
}

void ReplayCall::FillItem(const schema::ExchangeItem& from, reenact_item* item) {
  item->kind = static_cast<int32_t>(from.kind);
  item->offset_ns = from.offset_ns;
  item->status = from.status;
  if (from.kind == schema::ExchangeItemKind::kAttemptEnd) {
    item->bytes = {from.detail.data(), from.detail.size()};
  } else if (from.kind == schema::ExchangeItemKind::kHead) {
    headers_.clear();
    for (const auto& [name, value] : from.headers) {
      headers_.push_back({{name.data(), name.size()}, {value.data(), value.size()}});
    }
    item->headers = headers_.data();
    item->header_count = headers_.size();
  } else {
    item->bytes = {answer_.body.data() + consumed_bytes_, static_cast<size_t>(from.size)};
    consumed_bytes_ += from.size;
  }
}

reenact_code ReplayCall::End(int32_t end_state, const reenact_call_meta&) noexcept {
  reenact_code code = REENACT_DIVERGED_CODE;
  if (!diverged_) {
    try {
      schema::EndCall question;
      question.run_token = run_token_;
      question.call_token = answer_.call_token;
      question.state = static_cast<schema::EndState>(end_state);
      question.consumed_bytes = consumed_bytes_;
      const schema::Message answer = recorder_->client().Ask(question);
      if (std::holds_alternative<schema::Done>(answer)) code = REENACT_OK;
    } catch (...) {
      // Diverged: the replayer never learned how far the host read.
    }
  }
  delete this;
  return code;
}

}  // namespace reenact::recorder
