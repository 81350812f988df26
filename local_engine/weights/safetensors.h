// Reads .safetensors files: eight bytes of header length, a JSON header, and the data.
// Source: the format's description in the safetensors project, version 0.4.

#ifndef REENACT_LOCAL_ENGINE_WEIGHTS_SAFETENSORS_H_
#define REENACT_LOCAL_ENGINE_WEIGHTS_SAFETENSORS_H_

#include <cstddef>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "local_engine/weights/tensor_set.h"

namespace reenact::local_engine {

// Adds the tensors of one file to `tensors`; they point into `bytes`, which begins at an address
// that 8 divides.
//
// Every tensor's name, type, shape and place are checked, and that the tensors cover the data
// section exactly: no overlap, no bytes that belong to none. Errors name `file` and the tensor:
// InvalidArgument for a damaged file, Unimplemented for a type other than F32, F16, BF16, I8.
absl::Status ReadSafetensors(const std::string& file, std::span<const std::byte> bytes,
                             TensorSet* tensors);

// The tensors of a Hugging Face folder: model.safetensors, or the shards that
// model.safetensors.index.json lists. Every listed tensor must be in the shard that the index
// names, every tensor of a shard must be listed, and a shard's name may not leave the folder.
// NotFound when the folder has neither file.
absl::StatusOr<TensorSet> OpenSafetensorsFolder(const std::string& folder);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_WEIGHTS_SAFETENSORS_H_
