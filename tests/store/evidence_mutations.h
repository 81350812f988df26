// Changes to a store and a bundle of somebody who can write every file and has no key, each made of
// a seed.

#ifndef REENACT_TESTS_STORE_EVIDENCE_MUTATIONS_H_
#define REENACT_TESTS_STORE_EVIDENCE_MUTATIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace reenact::testing {

struct MutationPlaces {
  std::string bundle;                // As it was written.
  std::string foreign;               // Another store.
  std::string work;                  // A copy of the store, with the bundle in it: what is changed.
  std::vector<std::string> earlier;  // What the store was before.
};

struct Mutation {
  std::string kind;
  std::string file;         // What `verify` calls what was touched.
  std::string detail;       // Which byte, which row.
  bool names_file = false;  // `verify` should name this very file first.
};

// Equal seeds change equal copies in equal ways. Always changes something that matters.
Mutation Mutate(const MutationPlaces& places, uint64_t seed);

}  // namespace reenact::testing

#endif  // REENACT_TESTS_STORE_EVIDENCE_MUTATIONS_H_
