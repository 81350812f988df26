// Writing and checking the header of a ring.

#ifndef REENACT_STORE_RING_INTERNAL_RING_HEADER_H_
#define REENACT_STORE_RING_INTERNAL_RING_HEADER_H_

#include <cstddef>
#include <string_view>

#include "schema/redaction.h"
#include "store/ring/internal/ring_file.h"
#include "store/ring/internal/ring_layout.h"
#include "store/ring/ring.h"

namespace reenact::store {

// How large each half of the policy must be, and with them a file of about `size` bytes.
size_t PolicyHalfSize(const schema::RedactionPolicy& policy);
size_t RingFileSize(size_t size, size_t policy_half);

// Lays out an empty ring in zeroed memory, but for its magic: it is no ring yet.
void WriteRingHeader(const RingIdentity& identity, size_t policy_half, RingMapping* mapping);
void WriteRingMagic(RingHeader* header);

// Whether a file of `size` bytes is a ring of this version, all of whose offsets lie within it.
bool RingHeaderFits(const RingHeader& header, size_t size);
RingIdentity ReadRingIdentity(const RingHeader& header);

void SetOtherSegmentName(std::string_view name, RingHeader* header);

}  // namespace reenact::store

#endif  // REENACT_STORE_RING_INTERNAL_RING_HEADER_H_
