// What a new segment must repeat so that it can be read alone: the runs that have not ended, with
// their components, and the calls that are under way.
//
// Memory is bounded: beyond kCarriedBytes the bodies of the newest entries are left to the segment
// that holds them.

#ifndef REENACT_STORE_WRITER_INTERNAL_CARRIED_RUNS_H_
#define REENACT_STORE_WRITER_INTERNAL_CARRIED_RUNS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "schema/record.h"
#include "store/writer/segment_writer.h"

namespace reenact::store {

inline constexpr size_t kCarriedBytes = size_t{64} << 20;

class CarriedRuns {
 public:
  void AddRun(schema::Run run);
  void AddComponent(const schema::Ulid& run, const schema::Component& component);
  void AddTags(const schema::Ulid& run, const schema::Tags& tags);
  // The run is forgotten once its last call has ended, too.
  void EndRun(const schema::Ulid& run);

  void AddCall(schema::Event begin);
  // Null when there is no such call. The caller may complete it in place.
  schema::Event* FindCall(uint64_t sequence);
  // The request of a call was left to the segment that holds its beginning.
  bool RequestIsElsewhere(uint64_t sequence) const;
  void EndCall(uint64_t sequence);

  bool empty() const { return runs_.empty() && calls_.empty(); }

  uint64_t call_count() const { return calls_.size(); }

  // Writes everything into `next` and commits. `previous` (may be null) is where bodies are fetched
  // from that are not in memory.
  WriteCode CopyTo(SegmentWriter* next, SegmentWriter* previous);

 private:
  // Contents are shared: a thousand runs have one prompt template.
  struct CarriedComponent {
    schema::Component head;  // Without content.bytes.
    std::shared_ptr<const std::string> content;
  };

  struct CarriedRun {
    schema::Run run;
    std::vector<CarriedComponent> components;
    uint64_t open_calls = 0;
    bool ended = false;
  };

  struct CarriedCall {
    schema::Event begin;
    size_t charged = 0;  // Bytes counted for it.
    bool request_elsewhere = false;
  };

  std::shared_ptr<const std::string> Share(const std::string& content);
  // Leaves out the bytes of a body when the budget is spent; says how many bytes stay.
  size_t Charge(schema::Body* body);
  void ForgetIfDone(std::map<schema::Ulid, CarriedRun>::iterator run);
  WriteCode CopyRun(const CarriedRun& run, SegmentWriter* next) const;
  WriteCode CopyCall(uint64_t sequence, const CarriedCall& call, SegmentWriter* next,
                     SegmentWriter* previous) const;

  std::map<schema::Ulid, CarriedRun> runs_;
  std::unordered_map<uint64_t, CarriedCall> calls_;
  std::unordered_map<size_t, std::weak_ptr<const std::string>> contents_;  // By hash.
  size_t bytes_ = 0;
};

}  // namespace reenact::store

#endif  // REENACT_STORE_WRITER_INTERNAL_CARRIED_RUNS_H_
