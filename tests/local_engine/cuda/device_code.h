// What nvcc put into objects and archives: PTX as text, and machine code as cubins, which are ELF
// files. Device code has to be there uncompressed (cmake/ReenactCuda.cmake asks for that).

#ifndef REENACT_TESTS_LOCAL_ENGINE_CUDA_DEVICE_CODE_H_
#define REENACT_TESTS_LOCAL_ENGINE_CUDA_DEVICE_CODE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace reenact::device_code {

// The bytes of a file. NotFound when it cannot be read.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// The PTX texts within the bytes of an object or an archive, in order; a .ptx file is one of them.
std::vector<std::string_view> PtxTexts(std::string_view bytes);

// From the first byte of each cubin to the end of `bytes`: ELF files for the machine CUDA, number
// 190.
std::vector<std::string_view> Cubins(std::string_view bytes);

}  // namespace reenact::device_code

#endif  // REENACT_TESTS_LOCAL_ENGINE_CUDA_DEVICE_CODE_H_
