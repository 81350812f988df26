// PTX text to a module that can be launched.

#ifndef REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_PARSER_H_
#define REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_PARSER_H_

#include <string_view>

#include "absl/status/statusor.h"

#include "tests/local_engine/cuda/ptx/program.h"

namespace reenact::ptx {

// InvalidArgument names the kernel and the instruction that breaks the contract of profile n1, or
// that the interpreter does not know.
absl::StatusOr<Module> ParseModule(std::string_view text);

}  // namespace reenact::ptx

#endif  // REENACT_TESTS_LOCAL_ENGINE_CUDA_PTX_PARSER_H_
