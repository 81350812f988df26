// The order in which overlapping answers come: the one that was recorded, without the time that it
// took. A program that reads its clock, or draws a number, after each of several answers does so in
// the same order again.
//
// What is to be sent waits for all that was sent before it when it was recorded: pieces of answers
// that are under way, and answers to calls that had begun by then and are still to be asked for. It
// waits no longer than it took then; so nothing hangs on a call that never comes, or on a client
// that reads one answer before it takes the other.
//
// Not thread-safe: it belongs to the thread of one server.

#ifndef REENACT_REPLAYER_HTTP_ANSWER_ORDER_H_
#define REENACT_REPLAYER_HTTP_ANSWER_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "schema/record.h"

namespace reenact::replayer {

class AnswerOrder {
 public:
  // One answer that is under way.
  using Turn = uint64_t;
  using Go = std::function<void()>;

  // `events` outlive it.
  explicit AnswerOrder(const std::vector<schema::Event>& events);

  // The record `event`, by index, was asked for. Ends with End.
  Turn Begin(size_t event);
  // What comes next was sent `offset_ns` after the call began. True: it is time for it. Else Await
  // follows.
  bool IsTime(Turn turn, int64_t offset_ns);
  // `go` is called when it is, from within a call of this object: mostly another one.
  void Await(Turn turn, Go go);
  // It waits no longer, whatever should have come first. Nothing happens where that offset is not
  // what the turn waits for.
  void Hurry(Turn turn, int64_t offset_ns);
  // All was sent, or never will be. What waited is forgotten.
  void End(Turn turn);

 private:
  struct Answer {
    size_t event = 0;
    int64_t next_ns = 0;  // Of what is sent next, on the clock of the recording.
    Go go;                // Empty: it does not wait.
  };

  int64_t BeginOf(size_t event) const { return events_[event].started.monotonic_ns; }

  // Nothing that is still to be asked for came before.
  bool IsNextFor(const Answer& answer) const;
  // Lets go what waits and may.
  void Advance();

  const std::vector<schema::Event>& events_;
  std::set<std::pair<int64_t, size_t>> expected_;  // Calls that are still to come, by beginning.
  std::set<std::pair<int64_t, Turn>> next_;        // Answers under way, by next_ns.
  std::map<Turn, Answer> answers_;
  Turn last_turn_ = 0;
};

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_HTTP_ANSWER_ORDER_H_
