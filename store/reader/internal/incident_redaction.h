// Redaction of incidents.db: what was written about runs that went wrong, and the copies of them.

#ifndef REENACT_STORE_READER_INTERNAL_INCIDENT_REDACTION_H_
#define REENACT_STORE_READER_INTERNAL_INCIDENT_REDACTION_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

#include "store/reader/redact_store.h"
#include "store/store_layout.h"
#include "store/writer/internal/record_redactor.h"

namespace reenact::store::internal {

struct IncidentRedactionOptions {
  const RecordRedactor& redactor;
  const schema::Tags& facts;  // As for SegmentRewriter.
  bool dry_run = false;
};

// One transaction; then the file is written anew, also when no row was to change, for its free
// pages may hold more than its rows. Adds to `*report` what was changed, or would be, and copies
// that cannot be read. Errors: as IncidentDb, Unavailable where it is locked for long.
absl::Status RedactIncidents(const StoreLayout& layout, const IncidentRedactionOptions& options,
                             RedactionReport* report);

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_INCIDENT_REDACTION_H_
