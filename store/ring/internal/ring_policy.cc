#include "store/ring/internal/ring_policy.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "schema/varint.h"

namespace reenact::store {
namespace {

// Shorter values would eat ordinary text; see schema/redaction.h.
constexpr size_t kShortestSecret = 6;

uint64_t HashOf(std::string_view secret) {
  return std::hash<std::string_view>{}(secret) | 1;
}

}  // namespace

std::string EncodePolicy(const schema::RedactionPolicy& policy) {
  std::string out;
  schema::PutVarint(&out, policy.version);
  schema::PutVarint(&out, policy.enabled ? 1 : 0);
  schema::PutVarint(&out, policy.secrets.size());
  for (const std::string& secret : policy.secrets) schema::PutString(&out, secret);
  schema::PutVarint(&out, policy.extra_json_keys.size());
  for (const std::string& key : policy.extra_json_keys) schema::PutString(&out, key);
  return out;
}

bool DecodePolicy(std::string_view bytes, schema::RedactionPolicy* policy) {
  schema::Reader reader(bytes);
  policy->version = static_cast<uint32_t>(reader.Varint());
  policy->enabled = reader.Varint() != 0;
  for (std::vector<std::string>* list : {&policy->secrets, &policy->extra_json_keys}) {
    list->clear();
    for (uint64_t count = reader.Varint(); count > 0 && reader.ok(); --count) {
      list->emplace_back(reader.String());
    }
  }
  return reader.ok();
}

RingPolicy::RingPolicy(char* base, const schema::RedactionPolicy& policy)
    : base_(base),
      header_(reinterpret_cast<RingHeader*>(base)),
      given_count_(policy.secrets.size()),
      current_(std::make_shared<const schema::RedactionPolicy>(policy)) {
  Write(policy);
}

void RingPolicy::Write(const schema::RedactionPolicy& policy) {
  const std::string encoded = EncodePolicy(policy);
  const uint32_t other = 1 - header_->policy_index.load(std::memory_order_relaxed);
  char* half = base_ + header_->policy_offset + other * header_->policy_half_size;
  std::memcpy(half, encoded.data(), encoded.size());
  std::memset(half + encoded.size(), 0, header_->policy_half_size - encoded.size());
  header_->policy_index.store(other, std::memory_order_release);
}

void RingPolicy::Learn(std::string_view secret) noexcept {
  if (secret.size() < kShortestSecret || secret.size() > kLearnedBytes / 2) return;
  const uint64_t hash = HashOf(secret);
  for (const std::atomic<uint64_t>& known : known_) {
    if (known.load(std::memory_order_relaxed) == hash) return;
  }
  try {
    LearnNew(secret);
  } catch (...) {
    // No memory for one secret more: the patterns still find most of them.
  }
}

void RingPolicy::LearnNew(std::string_view secret) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto next = std::make_shared<schema::RedactionPolicy>(*current_);
  if (std::find(next->secrets.begin(), next->secrets.end(), secret) != next->secrets.end()) return;
  next->secrets.emplace_back(secret);
  while (next->secrets.size() - given_count_ > kMaxLearnedSecrets ||
         EncodePolicy(*next).size() > header_->policy_half_size) {
    next->secrets.erase(next->secrets.begin() + static_cast<std::ptrdiff_t>(given_count_));
  }
  Write(*next);
  for (size_t i = 0; i < kMaxLearnedSecrets; ++i) {
    const size_t index = given_count_ + i;
    known_[i].store(index < next->secrets.size() ? HashOf(next->secrets[index]) : 0,
                    std::memory_order_relaxed);
  }
  current_ = std::move(next);
}

std::shared_ptr<const schema::RedactionPolicy> RingPolicy::Snapshot() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return current_;
}

}  // namespace reenact::store
