// The files that go into a frozen process, as they lie in this program: it needs no installed
// library, and the one that it brings is always its own.

#ifndef REENACT_CLOCK_SHIM_PRELOAD_IMAGE_H_
#define REENACT_CLOCK_SHIM_PRELOAD_IMAGE_H_

#include <string_view>

namespace reenact::clock_shim {

std::string_view LibraryImage();      // libreenact_clock.so
std::string_view NodePreloadImage();  // node_preload.cjs

}  // namespace reenact::clock_shim

#endif  // REENACT_CLOCK_SHIM_PRELOAD_IMAGE_H_
