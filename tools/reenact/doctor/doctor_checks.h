// What `reenact doctor` looks at, one function each. Nothing here changes the store; the probe of
// the ring makes a small file on the memory file system and removes it.

#ifndef REENACT_TOOLS_REENACT_DOCTOR_DOCTOR_CHECKS_H_
#define REENACT_TOOLS_REENACT_DOCTOR_DOCTOR_CHECKS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "store/reader/store_reader.h"
#include "tools/reenact/open_store.h"

namespace reenact::tools {

enum class Health : uint8_t {
  kFine,
  kNote,     // Good to know; nothing to do.
  kFinding,  // Something to mend: exit code 1.
};
std::string_view ToString(Health health);  // "fine"

struct Check {
  std::string name;  // "store", "sqlite", ...: stable, for programs.
  Health health = Health::kFine;
  std::string text;
  std::string way_out;  // What to do; empty when there is nothing to do.
};

Check CheckStorePlace(const StorePlace& place);
Check CheckSpace(const StorePlace& place);
Check CheckSegments(const StorePlace& place,
                    store::StoreReader* reader);  // Null: could not be opened.
Check CheckCatalog(const StorePlace& place);
Check CheckRing();
// Rings of this store that dead processes left.
Check CheckLeftoverRings(const StorePlace& place);
Check CheckSqlite();
// `version` as sqlite3_libversion_number gives it: SQLite 3.7.0 to 3.51.2 can corrupt a database
// when one connection checkpoints while another resets the write-ahead log.
bool HasWalResetFault(int version);
Check CheckNetworkGuard();
using ReadVariable = std::function<const char*(const char*)>;
Check CheckPreload(const ReadVariable& variable);
// REENACT_* variables that no part of Reenact reads, or with values that none knows.
Check CheckEnvironment(const std::vector<std::string>& environment);

// A prompt that holds the date of its run, in a run that recorded no clock reading before it: the
// clock was read outside the recorder, and a replay on another day will differ.
bool HoldsUnsealedDate(const schema::RecordedRun& run);
// Of the newest runs.
Check CheckClockReads(store::StoreReader* reader);

// What one run does not hold, as far as that can be known, and where that is not known either.
std::vector<Check> CheckRun(const schema::RecordedRun& run);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_DOCTOR_DOCTOR_CHECKS_H_
