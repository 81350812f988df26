#include "store/format/migration.h"

#include "store/format/tables.h"

namespace reenact::store {
namespace {

using sqlite::Failure;

constexpr MigrationStep kSegmentSteps[] = {
    {0, kSchemaSql},
};
static_assert(std::size(kSegmentSteps) == kSchemaVersion);

Failure RunSteps(sqlite::Connection* connection, const MigrationPlan& plan, int32_t from) {
  Failure failure = connection->Execute("BEGIN IMMEDIATE");
  for (const MigrationStep& step : plan.steps) {
    if (failure == Failure::kNone && step.from >= from) failure = connection->Execute(step.sql);
  }
  if (failure != Failure::kNone) return failure;
  const std::string stamp = "PRAGMA application_id=" + std::to_string(plan.application_id) +
                            "; PRAGMA user_version=" + std::to_string(plan.version) + "; COMMIT";
  return connection->Execute(stamp.c_str());
}

}  // namespace

MigrationResult Migrate(sqlite::Connection* connection, const MigrationPlan& plan, Failure* failure,
                        std::string* why) {
  int32_t application_id = 0;
  int32_t version = 0;
  int64_t tables = 0;
  *failure = connection->ReadVersion(&application_id, &version);
  if (*failure == Failure::kNone) {
    *failure = connection->QueryInteger("SELECT count(*) FROM sqlite_schema", &tables);
  }
  if (*failure != Failure::kNone) {
    *why = connection->message();
    return *failure == Failure::kNotADatabase ? MigrationResult::kForeign
                                              : MigrationResult::kFailed;
  }
  const bool empty = application_id == 0 && version == 0 && tables == 0;
  if (!empty && application_id != plan.application_id) {
    *why = "it is an SQLite file of something else";
    return MigrationResult::kForeign;
  }
  if (version > plan.version) {
    *why = "it has format version " + std::to_string(version) +
           "; this program knows versions up to " + std::to_string(plan.version);
    return MigrationResult::kNewer;
  }
  if (version == plan.version) return MigrationResult::kOk;
  *failure = RunSteps(connection, plan, version);
  if (*failure == Failure::kNone) return MigrationResult::kOk;
  *why = (empty ? "cannot be begun: "
                : "cannot be brought up from version " + std::to_string(version) + ": ") +
         connection->message();
  if (connection->in_transaction()) (void)connection->Execute("ROLLBACK");
  return MigrationResult::kFailed;
}

const MigrationPlan& SegmentPlan() {
  static constexpr MigrationPlan kPlan = {kApplicationId, kSchemaVersion, kSegmentSteps};
  return kPlan;
}

}  // namespace reenact::store
