#include "clock_shim/preload_image.h"

// REENACT_CLOCK_LIBRARY and REENACT_NODE_PRELOAD are the paths of the files, from the build.
#define REENACT_IMAGE(name, path)                                  \
  asm(".section .rodata,\"a\"\n"                                   \
      ".global " #name "_begin\n" #name "_begin:\n.incbin \"" path \
      "\"\n"                                                       \
      ".global " #name "_end\n" #name "_end:\n.byte 0\n.previous\n")

REENACT_IMAGE(reenact_clock_library, REENACT_CLOCK_LIBRARY);
REENACT_IMAGE(reenact_node_preload, REENACT_NODE_PRELOAD);

extern "C" {
extern const char reenact_clock_library_begin[];
extern const char reenact_clock_library_end[];
extern const char reenact_node_preload_begin[];
extern const char reenact_node_preload_end[];
}

namespace reenact::clock_shim {

std::string_view LibraryImage() {
  return {reenact_clock_library_begin, reenact_clock_library_end};
}

std::string_view NodePreloadImage() {
  return {reenact_node_preload_begin, reenact_node_preload_end};
}

}  // namespace reenact::clock_shim
