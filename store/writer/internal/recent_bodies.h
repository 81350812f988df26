// The bodies written last, in memory, as prefixes for the next ones of the same run: the requests
// of a conversation extend each other. Bounded: 16 MiB in all, a few per run, the run used least
// recently goes first.

#ifndef REENACT_STORE_WRITER_INTERNAL_RECENT_BODIES_H_
#define REENACT_STORE_WRITER_INTERNAL_RECENT_BODIES_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

namespace reenact::store {

enum class BodyRole : uint8_t { kRequest, kResponse, kOther };

struct RecentBody {
  int64_t ordinal = 0;
  int links = 0;  // Frames between it and one that needs no base.
  int turn = 0;   // How many requests it extends, one after the other, that were found here.
  BodyRole role = BodyRole::kOther;
  std::string name;  // Of the event.
  std::string bytes;
};

class RecentBodies {
 public:
  static constexpr size_t kMaxBytes = size_t{16} << 20;
  static constexpr size_t kMaxPerRun = 32;
  // Of one run and name.
  static constexpr size_t kMaxRequests = 6;
  static constexpr size_t kMaxResponses = 1;

  struct Prefix {
    const RecentBody* body = nullptr;  // Null: none. Good until the next call.
    int turn = 0;                      // Of the body that it is for.
  };

  // The best prefix for a body of this run: among requests the one that shares the longest
  // beginning, else the latest of the same name; among responses the latest of the same name. Every
  // fourth request of a conversation skips back to the fourth before it: what came since is written
  // twice, but 16 links then span 50 requests instead of 16, each of which would begin with all of
  // the history.
  Prefix FindPrefix(int64_t run, BodyRole role, std::string_view name, std::string_view bytes);
  void Remember(int64_t run, RecentBody body);
  void ForgetRun(int64_t run);
  void Clear();

  size_t bytes() const { return bytes_; }

 private:
  struct RunBodies {
    int64_t run = 0;
    std::list<RecentBody> bodies;  // The latest first.
  };

  RunBodies* Find(int64_t run);
  void DropSurplus(RunBodies* of_run);
  void DropLast();

  std::list<RunBodies> runs_;  // The latest used first.
  std::unordered_map<int64_t, std::list<RunBodies>::iterator> by_run_;
  size_t bytes_ = 0;
};

}  // namespace reenact::store

#endif  // REENACT_STORE_WRITER_INTERNAL_RECENT_BODIES_H_
