// What ends a parse or a launch: thrown by the parts, turned into a status where they are called
// from.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_FAULT_H_
#define REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_FAULT_H_

#include <stdexcept>
#include <string>

namespace reenact::ptx {

// The program breaks the contract of profile n1, does what no GPU defines, or has an instruction
// that the interpreter does not know.
class Fault : public std::runtime_error {
 public:
  explicit Fault(const std::string& what) : std::runtime_error(what) {}
};

}  // namespace reenact::ptx

#endif  // REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_FAULT_H_
