// What of one call, or of one component, makes the next post-mortem harder. Pure; what it means is
// for whoever reads the sightings.

#ifndef REENACT_STORE_READER_INTERNAL_CALL_TRAITS_H_
#define REENACT_STORE_READER_INTERNAL_CALL_TRAITS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/model_view.h"
#include "schema/record.h"
#include "store/reader/sighting.h"

namespace reenact::store::internal {

// The call before, of the same service to the same model.
struct EarlierCall {
  std::optional<int64_t> seed;
  std::string prompt_head;  // Of a prompt that is long enough to be cached; else empty.
};

// Moves `*earlier` on.
std::vector<Trait> TraitsOf(const schema::Event& event, const schema::ModelView& view,
                            EarlierCall* earlier);

// The setting that holds a server to one request at a time: "max_num_seqs"; empty: none is there.
std::string BatchingOff(std::string_view content);

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_CALL_TRAITS_H_
