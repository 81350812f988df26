// Whether the library can enter a program at all, from the program's file alone. Compiled into the
// library too: no allocation, no C++ runtime.

#ifndef REENACT_CLOCK_SHIM_PROGRAM_REACH_H_
#define REENACT_CLOCK_SHIM_PROGRAM_REACH_H_

namespace reenact::clock_shim {

// Null: nothing speaks against it, or the file cannot be read. Else why not: "statically linked",
// "written in Go, which reads the clock past libc", "set-user-ID: its environment is not trusted",
// "of another architecture". A script is judged by its interpreter.
// `path` is no name to be searched for.
const char* WhyUnreachable(const char* path);

}  // namespace reenact::clock_shim

#endif  // REENACT_CLOCK_SHIM_PROGRAM_REACH_H_
