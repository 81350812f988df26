// The statements of a segment that are not inserts into chained tables: look-ups and open calls.

#ifndef REENACT_STORE_WRITER_INTERNAL_ROW_LOOKUP_H_
#define REENACT_STORE_WRITER_INTERNAL_ROW_LOOKUP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schema/record.h"
#include "store/format/body_codec.h"
#include "store/format/chain.h"
#include "store/format/sqlite.h"

namespace reenact::store {

// The request of a call under way, as it is stored.
struct OpenRequest {
  int64_t ordinal = 0;  // Of the body; 0: none.
  Salt salt{};
  schema::Digest digest{};
};

struct OpenCallRefs {
  int64_t run = 0;
  int64_t request_body = 0;
};

class RowLookup {
 public:
  sqlite::Failure Open(sqlite::Connection* connection);

  // The run's ordinal; 0 when it is not in the segment.
  sqlite::Failure FindRun(const schema::Ulid& id, int64_t* ordinal);
  void RememberRun(const schema::Ulid& id, int64_t ordinal);
  sqlite::Failure HasRunEnd(int64_t run, bool* found);
  sqlite::Failure HasTag(int64_t run, std::string_view key, std::string_view value, bool* found);
  sqlite::Failure HasComponent(int64_t run, const schema::Component& component, bool* found);
  sqlite::Failure HasEvent(uint64_t sequence, bool* found);
  void RememberEvent(uint64_t sequence);
  sqlite::Failure HasGap(const schema::Gap& gap, bool* found);
  sqlite::Failure HasMark(const schema::Ulid& id, bool* found);
  sqlite::Failure FindMeta(std::string_view key, std::optional<std::string>* value);

  bool IsOpenCall(uint64_t sequence) const { return open_calls_.contains(sequence); }

  std::vector<uint64_t> OpenCalls() const;  // In order.
  sqlite::Failure InsertOpenCall(const schema::Event& begin, int64_t run, int64_t request_body);
  sqlite::Failure DeleteOpenCall(uint64_t sequence);
  // How the request of an open call is stored.
  sqlite::Failure FindOpenRequest(uint64_t sequence, OpenRequest* request);
  // What the row says; the request stays behind, as the ordinals of its body and of its run tell.
  sqlite::Failure ReadOpenCall(uint64_t sequence, schema::Event* begin, OpenCallRefs* refs);
  // The bytes of a body and what is known of them. kCorrupt, with `*why`, when it cannot be
  // decoded.
  sqlite::Failure ReadBody(int64_t ordinal, schema::Body* body, std::string* why);

  // Rows were rolled back: forgets what was remembered of them, and reads the open calls again.
  sqlite::Failure RolledBack();
  void Abandon();

 private:
  // Runs the look-up that was bound: is there a row?
  sqlite::Failure Exists(sqlite::Statement* statement, bool* found);
  sqlite::Failure LoadOpenCalls();
  bool FetchFrame(int64_t ordinal, BodyFrame* frame, std::string* why);

  struct UlidHash {
    size_t operator()(const schema::Ulid& id) const noexcept;
  };

  sqlite::Statement find_run_, find_run_id_, has_run_end_, has_tag_, has_component_, has_event_,
      has_gap_, has_mark_, find_meta_, insert_open_call_, delete_open_call_, select_open_call_,
      list_open_calls_, find_body_, find_frame_;
  std::unordered_map<schema::Ulid, int64_t, UlidHash> runs_;
  std::unordered_map<uint64_t, int64_t> open_calls_;  // Sequence to request body.
  uint64_t max_sequence_ = 0;
};

}  // namespace reenact::store

#endif  // REENACT_STORE_WRITER_INTERNAL_ROW_LOOKUP_H_
