// Delta debugging: of many changes that together do something, as few as still do it.

#ifndef REENACT_REPLAYER_EXPLAIN_MINIMISE_H_
#define REENACT_REPLAYER_EXPLAIN_MINIMISE_H_

#include <cstddef>
#include <functional>
#include <vector>

namespace reenact::explain {

// A part of `all` that `does_it` is true of, and of which no single member can be left out. `all`
// does it. Source: Zeller and Hildebrandt 2002, "Simplifying and Isolating Failure-Inducing Input",
// algorithm ddmin. Cost: at most about n^2 calls, n log n where few members matter.
std::vector<size_t> Minimise(std::vector<size_t> all,
                             const std::function<bool(const std::vector<size_t>&)>& does_it);

}  // namespace reenact::explain

#endif  // REENACT_REPLAYER_EXPLAIN_MINIMISE_H_
