// What a fuzz target is: a reader of bytes that strangers wrote, with what must hold of whatever it
// reads. NAME_fuzz.cc defines target NAME in a namespace of that name. All of them are in two
// programs: fuzz_test, which runs one as an ordinary test (corpus_driver.cc), and with
// -DREENACT_FUZZ=ON a libFuzzer binary (libfuzzer_entry.cc).

#ifndef REENACT_TESTS_FUZZ_FUZZ_TARGET_H_
#define REENACT_TESTS_FUZZ_FUZZ_TARGET_H_

#include <string>
#include <string_view>
#include <vector>

namespace reenact::fuzz {

struct Target {
  std::string_view name;

  // Reads the bytes. Returns when all is well; anything else (a signal, an exception, Broken, no
  // return) is a finding. The same bytes do the same on every call.
  void (*fuzz_one)(std::string_view bytes);

  // Inputs to begin with: whole, small, and between them with everything that the reader knows.
  std::vector<std::string> (*seeds)();

  // Pieces that mutations put in: keywords, and what begins, ends and escapes things.
  std::vector<std::string> (*tokens)();
};

// Called once for each target, before main.
bool AddTarget(const Target& target);

// Null where no target has that name.
const Target* FindTarget(std::string_view name);

// The input was accepted: the code behind the parser is reached. A run in which no input comes this
// far proves nothing and fails; in a run with a planted fault it is here that the target crashes.
void Reached();

// A rule was broken; its words go to stderr, and the process ends.
[[noreturn]] void Broken(const std::string& rule);

}  // namespace reenact::fuzz

#endif  // REENACT_TESTS_FUZZ_FUZZ_TARGET_H_
