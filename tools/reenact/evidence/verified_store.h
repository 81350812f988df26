// Verifying, with a bar, what a verb was given: what `verify` reports and what `sign` vouches for.

#ifndef REENACT_TOOLS_REENACT_EVIDENCE_VERIFIED_STORE_H_
#define REENACT_TOOLS_REENACT_EVIDENCE_VERIFIED_STORE_H_

#include <string>

#include "absl/status/statusor.h"

#include "store/reader/verify.h"
#include "tools/reenact/open_store.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {

// A store, a bundle or a segment at `path`; the store of the command when that is empty. Errors: as
// FindStore.
absl::StatusOr<StorePlace> PlaceToVerify(const std::string& path, const Context& context);

// Errors: as VerifyStore; messages say how the place was chosen.
absl::StatusOr<store::VerifyReport> VerifyPlace(const StorePlace& place, const Context& context);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_EVIDENCE_VERIFIED_STORE_H_
