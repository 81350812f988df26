// Reads GGUF files, versions 2 and 3, little-endian: metadata and tensors.
// Source: docs/gguf.md of the ggml project.

#ifndef REENACT_LOCAL_ENGINE_WEIGHTS_GGUF_H_
#define REENACT_LOCAL_ENGINE_WEIGHTS_GGUF_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

#include "local_engine/weights/tensor_set.h"

namespace reenact::local_engine {

// Integers of any width are int64_t or uint64_t, both float widths double (exact). Arrays hold one
// of these; an array of arrays is refused.
using GgufValue = std::variant<bool, int64_t, uint64_t, double, std::string, std::vector<bool>,
                               std::vector<int64_t>, std::vector<uint64_t>, std::vector<double>,
                               std::vector<std::string>>;

struct GgufFile {
  std::map<std::string, GgufValue> metadata;
  TensorSet tensors;  // Shapes outermost first, the reverse of the file's.
};

// Every length is checked against what is left of the file before anything is allocated. Errors
// name `file` and the key or tensor: InvalidArgument for a damaged file, Unimplemented for a
// version or tensor type that is not supported (F32, F16, BF16, Q8_0, I8 are). The tensors point
// into `bytes`, which begins at an address that 32 divides.
absl::StatusOr<GgufFile> ReadGguf(const std::string& file, std::span<const std::byte> bytes);

// The same on a file, which the result keeps mapped.
absl::StatusOr<GgufFile> OpenGguf(const std::string& path);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_WEIGHTS_GGUF_H_
