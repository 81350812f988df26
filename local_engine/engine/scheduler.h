// Which sequences a step computes, and how much of each. A schedule changes when a token is
// computed, never what it is.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_SCHEDULER_H_
#define REENACT_LOCAL_ENGINE_ENGINE_SCHEDULER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "local_engine/engine.h"
#include "local_engine/engine/kv_pages.h"
#include "local_engine/engine/sequence.h"

namespace reenact::local_engine {

struct SchedulerOptions {
  int32_t max_sequences = 0;
  int32_t max_step_rows = 0;
  int32_t max_chunk_rows = 0;
  bool prefix_cache = true;
};

class Scheduler {
 public:
  struct Piece {
    Sequence* sequence = nullptr;
    int32_t row_count = 0;
  };

  // All outlive it. `on_new_page` sees a page before anybody writes to it; may be empty.
  Scheduler(const SchedulerOptions& options, KvPages* kv_pages, EngineCounters* counters,
            std::function<void(int32_t)> on_new_page);

  void Enqueue(std::unique_ptr<Sequence> sequence);

  bool idle() const { return waiting_.empty() && running_.empty(); }

  // Admits from the queue in its order while pages and places last, then fills the step: sequences
  // that need one token first, then the others in the order of their admission, in chunks. Pages
  // are there for every row of the result. When they run out, the sequence that was admitted last
  // gives its own back and returns to the head of the queue; the first one always advances.
  std::vector<Piece> NextStep();

  // Drops the sequences that are finished, and gives back their pages.
  void Sweep();

  // Every sequence of a request, running or not.
  std::vector<Sequence*> SequencesOf(RequestId id) const;

  // Gives back the pages of a running sequence and puts it at the head of the queue.
  void Preempt(Sequence* sequence);

 private:
  bool MayStart(const Sequence& sequence) const;
  void AdmitWaiting();
  std::vector<Piece> FillStep();
  bool Admit(Sequence* sequence, int32_t* promised);
  bool ReservePages(Sequence* sequence, int32_t position_end);
  void Release(std::span<const int32_t> pages);

  SchedulerOptions options_;
  KvPages* kv_pages_;
  EngineCounters* counters_;
  std::function<void(int32_t)> on_new_page_;
  std::deque<std::unique_ptr<Sequence>> waiting_;
  std::vector<std::unique_ptr<Sequence>> running_;  // In the order of admission.
};

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_SCHEDULER_H_
