// The hash of every operation of profile n1 over seeded adversarial inputs. The hashes are frozen
// in golden_operations.txt: one that changes is another profile.

#ifndef REENACT_TESTS_LOCAL_ENGINE_REFERENCE_GOLDEN_OPERATIONS_H_
#define REENACT_TESTS_LOCAL_ENGINE_REFERENCE_GOLDEN_OPERATIONS_H_

#include <span>
#include <string>

namespace reenact::local_engine {

struct GoldenOperation {
  const char* name;
  std::string (*hash)();  // 64 hexadecimal digits.
};

std::span<const GoldenOperation> GoldenOperations();

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_REFERENCE_GOLDEN_OPERATIONS_H_
