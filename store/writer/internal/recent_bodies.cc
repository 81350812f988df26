#include "store/writer/internal/recent_bodies.h"

#include <string.h>

#include <algorithm>
#include <utility>

#include "store/format/body_codec.h"

namespace reenact::store {
namespace {

// What a request must share with an older one for their names not to matter.
constexpr size_t kSharedEnough = 64;
// Turns between the requests that skip back; RecentBodies remembers more than that.
constexpr int kSkip = 4;
static_assert(kSkip < static_cast<int>(RecentBodies::kMaxRequests));

size_t SharedBeginning(std::string_view a, std::string_view b) {
  constexpr size_t kBlock = 4096;
  const size_t size = std::min(a.size(), b.size());
  size_t shared = 0;
  while (shared + kBlock <= size && ::memcmp(a.data() + shared, b.data() + shared, kBlock) == 0) {
    shared += kBlock;
  }
  while (shared < size && a[shared] == b[shared]) ++shared;
  return shared;
}

size_t Cost(const RecentBody& body) {
  return body.bytes.size() + body.name.size() + 128;
}

size_t Limit(BodyRole role) {
  return role == BodyRole::kRequest ? RecentBodies::kMaxRequests : RecentBodies::kMaxResponses;
}

}  // namespace

RecentBodies::RunBodies* RecentBodies::Find(int64_t run) {
  const auto found = by_run_.find(run);
  if (found == by_run_.end()) return nullptr;
  runs_.splice(runs_.begin(), runs_, found->second);
  return &*found->second;
}

RecentBodies::Prefix RecentBodies::FindPrefix(int64_t run, BodyRole role, std::string_view name,
                                              std::string_view bytes) {
  RunBodies* of_run = Find(run);
  if (of_run == nullptr || role == BodyRole::kOther) return {};
  const RecentBody* best = nullptr;
  const RecentBody* latest = nullptr;
  size_t best_shared = kSharedEnough - 1;
  for (const RecentBody& body : of_run->bodies) {
    if (body.role != role) continue;
    if (latest == nullptr && body.name == name) latest = &body;
    if (role != BodyRole::kRequest) continue;
    const size_t shared = SharedBeginning(bytes, body.bytes);
    if (shared > best_shared) {
      best_shared = shared;
      best = &body;
    }
  }
  if (best == nullptr) return {.body = latest, .turn = 0};
  const int turn = best->turn + 1;
  if (turn % kSkip != 0) return {.body = best, .turn = turn};
  for (const RecentBody& body : of_run->bodies) {
    const bool skipped_to = body.role == role && body.turn == turn - kSkip;
    if (skipped_to && SharedBeginning(bytes, body.bytes) > body.bytes.size() / 4 * 3) {
      return {.body = &body, .turn = turn};
    }
  }
  return {.body = best, .turn = turn};
}

void RecentBodies::Remember(int64_t run, RecentBody body) {
  if (body.bytes.empty() || body.bytes.size() > kMaxPrefixBytes) return;
  RunBodies* of_run = Find(run);
  if (of_run == nullptr) {
    runs_.push_front({run, {}});
    by_run_[run] = runs_.begin();
    of_run = &runs_.front();
  }
  bytes_ += Cost(body);
  of_run->bodies.push_front(std::move(body));
  DropSurplus(of_run);
  // The run used least recently gives way; of the only one left, its oldest body.
  while (bytes_ > kMaxBytes) DropLast();
}

void RecentBodies::DropSurplus(RunBodies* of_run) {
  const RecentBody& added = of_run->bodies.front();
  size_t alike = 0;
  for (auto body = of_run->bodies.begin(); body != of_run->bodies.end(); ++body) {
    if (body->role != added.role || body->name != added.name) continue;
    if (++alike <= Limit(added.role)) continue;
    bytes_ -= Cost(*body);
    of_run->bodies.erase(body);
    break;
  }
  if (of_run->bodies.size() > kMaxPerRun) {
    bytes_ -= Cost(of_run->bodies.back());
    of_run->bodies.pop_back();
  }
}

void RecentBodies::DropLast() {
  RunBodies& victim = runs_.back();
  bytes_ -= Cost(victim.bodies.back());
  victim.bodies.pop_back();
  if (!victim.bodies.empty()) return;
  by_run_.erase(victim.run);
  runs_.pop_back();
}

void RecentBodies::ForgetRun(int64_t run) {
  const auto found = by_run_.find(run);
  if (found == by_run_.end()) return;
  for (const RecentBody& body : found->second->bodies) bytes_ -= Cost(body);
  runs_.erase(found->second);
  by_run_.erase(found);
}

void RecentBodies::Clear() {
  runs_.clear();
  by_run_.clear();
  bytes_ = 0;
}

}  // namespace reenact::store
