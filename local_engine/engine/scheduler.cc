#include "local_engine/engine/scheduler.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace reenact::local_engine {
namespace {

int32_t PagesFor(int32_t positions) {
  return (positions + kPagePositions - 1) / kPagePositions;
}

}  // namespace

Scheduler::Scheduler(const SchedulerOptions& options, KvPages* kv_pages, EngineCounters* counters,
                     std::function<void(int32_t)> on_new_page)
    : options_(options),
      kv_pages_(kv_pages),
      counters_(counters),
      on_new_page_(std::move(on_new_page)) {}

void Scheduler::Enqueue(std::unique_ptr<Sequence> sequence) {
  waiting_.push_back(std::move(sequence));
}

std::vector<Scheduler::Piece> Scheduler::NextStep() {
  AdmitWaiting();
  return FillStep();
}

void Scheduler::AdmitWaiting() {
  int32_t promised = 0;  // Pages, to those that were admitted just now.
  for (size_t i = 0; i < waiting_.size();) {
    if (std::ssize(running_) >= options_.max_sequences) break;
    if (!MayStart(*waiting_[i])) {
      ++i;
      continue;
    }
    if (!Admit(waiting_[i].get(), &promised)) break;
    running_.push_back(std::move(waiting_[i]));
    waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(i));
  }
}

std::vector<Scheduler::Piece> Scheduler::FillStep() {
  std::vector<Piece> step;
  int32_t rows_left = options_.max_step_rows;
  for (const bool one_token : {true, false}) {
    // A preemption takes sequences from the end of running_, so the index is checked each time.
    for (size_t i = 0; i < running_.size() && rows_left > 0; ++i) {
      Sequence* sequence = running_[i].get();
      if (!sequence->FollowSchedule()) continue;
      const int32_t pending = sequence->target() - sequence->computed();
      if (pending <= 0 || (pending == 1) != one_token) continue;
      const int32_t row_count =
          std::min({pending, rows_left, options_.max_chunk_rows, sequence->MostRows()});
      if (!ReservePages(sequence, sequence->computed() + row_count)) continue;
      step.push_back({sequence, row_count});
      rows_left -= row_count;
    }
  }
  // A sequence that a later one preempted after it was chosen has lost its rows again.
  std::erase_if(step, [](const Piece& piece) { return piece.sequence->pages().empty(); });
  return step;
}

// A sample with elder siblings waits for the pages of their prompt, which it then shares.
bool Scheduler::MayStart(const Sequence& sequence) const {
  if (!options_.prefix_cache || sequence.sample_index() == 0) return true;
  for (const Sequence* sibling : SequencesOf(sequence.running().id)) {
    if (sibling->sample_index() == 0 && !sibling->prompt_computed()) return false;
  }
  return true;
}

bool Scheduler::Admit(Sequence* sequence, int32_t* promised) {
  KvPages::Prefix prefix = kv_pages_->Find(sequence->tokens(), sequence->MostCachedPages());
  const int32_t needed = PagesFor(sequence->target()) - static_cast<int32_t>(prefix.pages.size());
  if (*promised + needed > kv_pages_->available() && !running_.empty()) {
    Release(prefix.pages);
    return false;
  }
  *promised += needed;
  counters_->cache_hit_pages += std::ssize(prefix.pages);
  sequence->Start(std::move(prefix));
  return true;
}

bool Scheduler::ReservePages(Sequence* sequence, int32_t position_end) {
  while (std::ssize(sequence->pages()) < PagesFor(position_end)) {
    const std::optional<int32_t> page = kv_pages_->Allocate();
    if (page.has_value()) {
      if (on_new_page_) on_new_page_(*page);
      sequence->AddPage(*page);
      continue;
    }
    Sequence* last = running_.back().get();
    Preempt(last);
    if (last == sequence) return false;
  }
  return true;
}

void Scheduler::Preempt(Sequence* sequence) {
  const auto found = std::find_if(running_.begin(), running_.end(),
                                  [&](const auto& owned) { return owned.get() == sequence; });
  if (found == running_.end()) return;
  ++counters_->preemptions;
  ++sequence->completion().preemptions;
  Release(sequence->TakePages());
  waiting_.push_front(std::move(*found));
  running_.erase(found);
}

void Scheduler::Sweep() {
  for (const auto& sequence : running_) {
    if (sequence->finished()) Release(sequence->TakePages());
  }
  const auto finished = [](const auto& sequence) { return sequence->finished(); };
  std::erase_if(running_, finished);
  std::erase_if(waiting_, finished);
}

std::vector<Sequence*> Scheduler::SequencesOf(RequestId id) const {
  std::vector<Sequence*> found;
  const auto add = [&](const auto& sequences) {
    for (const auto& sequence : sequences) {
      if (sequence->running().id == id) found.push_back(sequence.get());
    }
  };
  add(running_);
  add(waiting_);
  return found;
}

// The later ones first, as KvPages wants it.
void Scheduler::Release(std::span<const int32_t> pages) {
  for (auto page = pages.rbegin(); page != pages.rend(); ++page) kv_pages_->Release(*page);
}

}  // namespace reenact::local_engine
