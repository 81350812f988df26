// A file system for SQLite that fails on command: it stands in front of the real one, counts calls,
// and makes one of them go wrong.

#ifndef REENACT_TESTS_SUPPORT_FAULT_VFS_H_
#define REENACT_TESTS_SUPPORT_FAULT_VFS_H_

#include <cstdint>

namespace reenact::testing {

enum class Fault : uint8_t {
  kNone,
  kAnyCall,     // Any call that reads or changes a file: an I/O error.
  kShortWrite,  // Half of a write arrives, then an I/O error.
  kNoSpace,     // A write finds the disk full.
  kSync,        // A sync reports an I/O error.
};

// The default file system of this process's SQLite from the first call on.
class FaultVfs {
 public:
  // Call `number` (from 1) of those that `fault` concerns goes wrong; with `persistent`, so do all
  // later ones.
  static void Arm(Fault fault, int64_t number, bool persistent);
  static void Disarm();
  // Whether an armed fault has struck.
  static bool Struck();
};

}  // namespace reenact::testing

#endif  // REENACT_TESTS_SUPPORT_FAULT_VFS_H_
