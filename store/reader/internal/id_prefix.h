// How a person names a run or an incident: "last", a ULID, or the beginning of one in any case.

#ifndef REENACT_STORE_READER_INTERNAL_ID_PREFIX_H_
#define REENACT_STORE_READER_INTERNAL_ID_PREFIX_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "schema/ulid.h"

namespace reenact::store::internal {

bool IsLast(const std::string& text);

// `noun` is "run" or "incident". Errors: NotFound; InvalidArgument (too short, too long, or the
// beginning of several: the message lists them).
absl::StatusOr<schema::Ulid> ResolvePrefix(const std::string& text, const std::string& noun,
                                           const std::vector<schema::Ulid>& ids);

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_ID_PREFIX_H_
