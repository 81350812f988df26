#include "replayer/http/answer_order.h"

#include <utility>

namespace reenact::replayer {
namespace {

// Calls without one, and sessions of MCP over standard input and output, are answered elsewhere.
bool HasHead(const schema::Event& event) {
  return !event.exchange.empty() && event.exchange.front().kind == schema::ExchangeItemKind::kHead;
}

}  // namespace

AnswerOrder::AnswerOrder(const std::vector<schema::Event>& events) : events_(events) {
  for (size_t i = 0; i < events_.size(); ++i) {
    const schema::Event& event = events_[i];
    if (HasHead(event)) expected_.insert({BeginOf(i), i});
  }
}

AnswerOrder::Turn AnswerOrder::Begin(size_t event) {
  const Turn turn = ++last_turn_;
  const int64_t begin_ns = BeginOf(event);
  expected_.erase({begin_ns, event});
  answers_[turn] = {event, begin_ns, {}};
  next_.insert({begin_ns, turn});
  return turn;
}

bool AnswerOrder::IsTime(Turn turn, int64_t offset_ns) {
  Answer& answer = answers_.at(turn);
  next_.erase({answer.next_ns, turn});
  answer.next_ns = BeginOf(answer.event) + offset_ns;
  next_.insert({answer.next_ns, turn});
  return next_.begin()->second == turn && IsNextFor(answer);
}

void AnswerOrder::Await(Turn turn, Go go) {
  answers_.at(turn).go = std::move(go);
  Advance();
}

void AnswerOrder::Hurry(Turn turn, int64_t offset_ns) {
  const auto found = answers_.find(turn);
  if (found == answers_.end() || !found->second.go) return;
  Answer& answer = found->second;
  if (answer.next_ns != BeginOf(answer.event) + offset_ns) return;
  std::exchange(answer.go, nullptr)();
}

void AnswerOrder::End(Turn turn) {
  const auto found = answers_.find(turn);
  if (found == answers_.end()) return;
  next_.erase({found->second.next_ns, turn});
  const Go forgotten = std::move(found->second.go);
  answers_.erase(found);
  Advance();
}

// Calls that did not overlap with this one when they were recorded say nothing about it: a program
// that has left one out is not to be kept waiting ever after.
bool AnswerOrder::IsNextFor(const Answer& answer) const {
  const int64_t begin_ns = BeginOf(answer.event);
  for (const auto& [other_ns, other] : expected_) {
    if (other_ns >= answer.next_ns) return true;
    if (other_ns + events_[other].elapsed_ns > begin_ns) return false;
  }
  return true;
}

void AnswerOrder::Advance() {
  // Only what comes first of all that is under way can be next.
  while (!next_.empty()) {
    Answer& first = answers_.at(next_.begin()->second);
    if (!first.go || !IsNextFor(first)) return;
    std::exchange(first.go, nullptr)();
  }
}

}  // namespace reenact::replayer
