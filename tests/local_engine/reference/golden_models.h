// Whole random models of each architecture and type, with the hash of what profile n1 makes of 40
// tokens: of the logits after each, then of the cache. Frozen: another hash is another profile.

#ifndef REENACT_TESTS_LOCAL_ENGINE_REFERENCE_GOLDEN_MODELS_H_
#define REENACT_TESTS_LOCAL_ENGINE_REFERENCE_GOLDEN_MODELS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/local_engine/model/random_model.h"

namespace reenact::local_engine {

struct GoldenModel {
  std::string architecture;
  std::string more;  // Of config.json.
  RandomModelShape shape;
  bool w8a8 = false;  // The layers' matrices as bytes.
  std::string hash;
};

inline constexpr int32_t kGoldenLength = 40;

inline int32_t GoldenTokenAt(int32_t position) {
  return position * 31 % 97;
}

inline void WriteModel(const std::string& folder, const GoldenModel& model) {
  std::vector<StoredTensor> tensors = RandomTensors(model.shape).All();
  if (model.w8a8) tensors = QuantisedToBytes(tensors);
  WriteFolder(folder, ConfigOf(model.shape, model.architecture, model.more), tensors);
}

inline std::vector<GoldenModel> GoldenModels() {
  return {
      {"LlamaForCausalLM",
       "",
       {},
       false,
       "582c0ce9037fb5edfd0f80e1b2f1c1aad8297936fd0a7ac4b0ff89aa73906449"},
      {"LlamaForCausalLM",
       "",
       {.type = DataType::kBF16},
       false,
       "da20dc939beefd6b800c1f24a2661e39877113f26d0a38637745f05cc71b3c34"},
      {"MistralForCausalLM",
       R"(,"sliding_window":7)",
       {.type = DataType::kF16},
       false,
       "f402b4c39be271b708401e6cdb3147f888bb70a10ec093035fb08fac1da38cb1"},
      {"Qwen2ForCausalLM",
       "",
       {.tied = true, .qkv_bias = true},
       false,
       "c747c3efdf685c36247fdf2c4847be782411a0b2ed5b53dfaf60ca2abc5d529c"},
      {"LlamaForCausalLM",
       "",
       {},
       true,
       "872b363dd7c3711761d2aeaadf03d61237001023e113ffa56a35bd171a004cf3"},
      {"Qwen3ForCausalLM",
       "",
       {.qk_norm = true},
       false,
       "485bb127bcddfc867a46ecd3458d02b6498012b6019117f53f51ba3b04283569"},
  };
}

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_REFERENCE_GOLDEN_MODELS_H_
