// A file system for SQLite that fails on command: it stands in front of the real one, counts calls,
// and makes one of them go wrong.

#ifndef REENACT_TESTS_SUPPORT_FAULT_VFS_H_
#define REENACT_TESTS_SUPPORT_FAULT_VFS_H_

#include <cstdint>

#include "tests/support/unsynced_writes.h"

namespace reenact::testing {

enum class Fault : uint8_t {
  kNone,
  kAnyCall,     // Any call that reads or changes a file: an I/O error.
  kShortWrite,  // Half of a write arrives, then an I/O error.
  kNoSpace,     // A write finds the disk full.
  kSync,        // A sync reports an I/O error.
  kStall,       // A write or a sync does not return before Disarm.
  // The power goes at a call that changes something: neither it nor any later call does anything.
  // RestorePower says what is left. Of the calls before, their syncs alone are certain.
  kPowerCut,
  // Disks that lie, against which nothing helps: a test that cannot tell them from good ones
  // proves nothing.
  kLostWrite,        // A write is said to be done, and was not.
  kUntruePowerSync,  // As kPowerCut; syncs before it were said to be done, and were not.
};

// The default file system of this process's SQLite from the first call on. Any thread.
class FaultVfs {
 public:
  // Call `number` (from 1) of those that `fault` concerns goes wrong; with `persistent`, so do all
  // later ones.
  static void Arm(Fault fault, int64_t number, bool persistent);
  // Lets go of a call that is stalled.
  static void Disarm();
  // Whether an armed fault has struck.
  static bool Struck();
  // Calls that the armed fault concerned so far.
  static int64_t Calls();
  // After a power cut, when nothing has the files open any more.
  static void RestorePower(PowerCut cut, uint64_t seed);
};

}  // namespace reenact::testing

#endif  // REENACT_TESTS_SUPPORT_FAULT_VFS_H_
