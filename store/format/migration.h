// Brings a file of an older version up to date: a table of steps, all of them in one transaction. A
// new, empty file is version 0, so that making one and migrating one are the same code.

#ifndef REENACT_STORE_FORMAT_MIGRATION_H_
#define REENACT_STORE_FORMAT_MIGRATION_H_

#include <cstdint>
#include <span>
#include <string>

#include "store/format/sqlite.h"

namespace reenact::store {

// Leads from version `from` to `from` + 1.
struct MigrationStep {
  int32_t from = 0;
  const char* sql = "";
};

struct MigrationPlan {
  int32_t application_id = 0;
  int32_t version = 0;                   // Where the steps lead.
  std::span<const MigrationStep> steps;  // One for every version from 0 on, in order.
};

enum class MigrationResult : uint8_t {
  kOk = 0,   // The file has plan.version now.
  kForeign,  // Not a file of this application.
  kNewer,    // Written by a later version of the program.
  kFailed,   // `*failure` says how; the file is as it was.
};

// `*why` is one sentence unless kOk. Not inside a transaction.
MigrationResult Migrate(sqlite::Connection* connection, const MigrationPlan& plan,
                        sqlite::Failure* failure, std::string* why);

// The steps of a segment.
const MigrationPlan& SegmentPlan();

}  // namespace reenact::store

#endif  // REENACT_STORE_FORMAT_MIGRATION_H_
