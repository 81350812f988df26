// incidents.db under `verify`: each copy of a marked run as a file of records, and the file as a
// whole against the manifest.

#ifndef REENACT_STORE_READER_INTERNAL_INCIDENTS_CHECK_H_
#define REENACT_STORE_READER_INTERNAL_INCIDENTS_CHECK_H_

#include "store/reader/internal/manifest_file.h"
#include "store/reader/verify.h"
#include "store/store_layout.h"

namespace reenact::store::internal {

// Adds to the report. A change that ends meanwhile is no finding.
void CheckIncidents(const StoreLayout& layout, const Manifest& manifest, VerifyReport* report);

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_INCIDENTS_CHECK_H_
