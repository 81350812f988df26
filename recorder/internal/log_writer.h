// The writer thread of an EventLog: empties the ring into segments, and outlives every failure of
// the disk.

#ifndef REENACT_RECORDER_INTERNAL_LOG_WRITER_H_
#define REENACT_RECORDER_INTERNAL_LOG_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "recorder/internal/log_state.h"
#include "store/writer/drain.h"
#include "store/writer/segment_writer.h"

namespace reenact::recorder {

class LogWriter {
 public:
  explicit LogWriter(std::shared_ptr<LogState> state);

  // Until the log is closed or abandoned: Recover, a Turn after each pause, Finish.
  void Run();

  // What Run is made of, each without a pause of its own while the disk is well. For tests that
  // decide what happens between two of them.
  enum class Step { kIdle, kBusy, kFailed };
  void Recover();
  Step Turn();
  void Finish();

 private:
  template <typename Work>
  Step Guarded(Work work);
  Step DrainIfDue();
  Step DrainOnce();
  // A segment to write to: the present one, a new one when that is due, null with the failure
  // noted.
  store::SegmentWriter* EnsureSegment();
  bool OpenNext();
  bool RotationIsDue() const;
  // An idle segment that is old enough, and that nothing needs any more.
  void SealWhenIdle();
  void LetBeSealed(std::unique_ptr<store::SegmentWriter>* segment);
  void SealOld();
  void GiveUpSegment();

  void NoteSuccess(const store::DrainResult& result, int64_t elapsed_ns);
  void NoteFailure(store::WriteCode code, const std::string& what);
  void KeepHouse();  // At most once a second: limits of the store, sizes.
  void PublishProgress();

  bool Wait(Step last);
  bool DrainUntilDeadline();
  bool SealLast();
  bool PastDeadline() const;

  std::shared_ptr<LogState> state_;
  store::Drain drain_;
  std::unique_ptr<store::SegmentWriter> segment_;
  int64_t segment_opened_ns_ = 0;
  // One that broke. It stays as it is until the next one has taken over its open calls: a recovery
  // that comes before that must still find their beginnings where their ends can be added.
  std::unique_ptr<store::SegmentWriter> given_up_;
  // Segments that a reader kept from being sealed.
  std::vector<std::unique_ptr<store::SegmentWriter>> unsealed_;

  int64_t next_house_keeping_ns_ = 0;
  int64_t retry_delay_ns_ = 0;  // 0: the store is well.
  int64_t retry_at_ns_ = 0;
  bool was_busy_ = false;
};

}  // namespace reenact::recorder

#endif  // REENACT_RECORDER_INTERNAL_LOG_WRITER_H_
