// One schedule of everything that happens to a recorder, drawn from a seed: the host appends,
// flushes, forks and closes or is killed; the writer takes its turns; readers come and stay; time
// passes, somebody sets the clock; the disk fails and recovers; retention removes segments.

#ifndef REENACT_TESTS_STORE_STORE_SCHEDULE_H_
#define REENACT_TESTS_STORE_STORE_SCHEDULE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/store/recording.h"
#include "tests/store/schedule_told.h"
#include "tests/support/stepped_log.h"

namespace reenact::testing {

// A process that reads, since a recorder is read by others. Asked one thing at a time.
class ReaderProcess {
 public:
  // Forks: before this process opens a database. `told` is shared with it.
  ReaderProcess(const Told* told, const std::string& store_path);
  ~ReaderProcess();
  ReaderProcess(const ReaderProcess&) = delete;
  ReaderProcess& operator=(const ReaderProcess&) = delete;

  // Whether everything that is stored can be read now.
  bool Finds() { return Ask('r'); }

  // Begins to read the newest segment, and goes on until Unpin.
  bool Pin() { return Ask('p'); }

  bool Unpin() { return Ask('u'); }

 private:
  bool Ask(char question);

  int questions_ = -1;
  int answers_ = -1;
};

// What goes wrong on purpose, for a test of the tests.
enum class PlantedFault : uint8_t {
  kNone,
  kLostWrites,  // The disk says that it wrote, and did not.
  kLostBatch,   // A batch is taken from the queue, and let go before it is stored.
};

class StoreSchedule {
 public:
  StoreSchedule(uint64_t seed, const std::string& store_path, PlantedFault planted, Told* told,
                ReaderProcess* reader);

  // The process is killed at the end: the caller has to leave it.
  bool ends_in_kill() const { return end_ == 0; }

  // Until the end that the seed picks.
  void Run();

 private:
  using Step = void (StoreSchedule::*)();

  void Append();
  void BeginOrEndCall(int run);
  void TakeTurn();
  void NotePruned();
  void Flush();
  void PassTime();
  void StepWallClock();
  void Read();
  void Pin();
  void Unpin();
  void Fork();
  bool RecordInChild();
  void BreakDisk();
  void RepairDisk();
  void Mark();
  void LoseBatch();
  void End();

  void Complain(const std::string& problem);

  uint64_t Draw(uint64_t below) { return random_() % below; }

  store::Recording RecordingOf(recorder::EventLog* log);

  std::mt19937_64 random_;
  recorder::EventLogOptions options_;
  PlantedFault planted_;
  Told* told_;
  ReaderProcess* reader_;
  std::unique_ptr<recorder::SteppedLog> log_;
  std::vector<store::Recording> runs_;
  std::map<std::string, uint64_t> segments_;  // What was stored when each was the newest.
  std::set<std::string> others_;              // Segments of forked children.
  bool disk_is_broken_ = false;
  bool pinned_ = false;
  uint64_t mark_sequence_ = 0;  // 0: none.
  uint64_t end_ = 0;
};

}  // namespace reenact::testing

#endif  // REENACT_TESTS_STORE_STORE_SCHEDULE_H_
