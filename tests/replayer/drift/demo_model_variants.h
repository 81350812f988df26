// The demo's model as other servers might hold it: wider, narrower and shorter. Written from the
// folder that is committed, in F32, so that no variant needs a format of its own.

#ifndef REENACT_TESTS_REPLAYER_DRIFT_DEMO_MODEL_VARIANTS_H_
#define REENACT_TESTS_REPLAYER_DRIFT_DEMO_MODEL_VARIANTS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "local_engine/numerics/narrow_floats.h"
#include "nlohmann/json.hpp"

namespace reenact::drift {

enum class Weights { kF32, kBf16, kQ8_0 };

struct Variant {
  Weights weights = Weights::kBf16;
  int layers = 3;  // Of the three that the model has.
};

// What blocks of 32 eight-bit numbers, each with a scale of sixteen bits, are read as.
inline void RoundToQ8_0(std::vector<float>* values) {
  constexpr size_t kBlock = 32;
  for (size_t begin = 0; begin < values->size(); begin += kBlock) {
    const size_t end = std::min(begin + kBlock, values->size());
    float largest = 0;
    for (size_t i = begin; i < end; ++i) largest = std::fmax(largest, std::fabs((*values)[i]));
    const float scale = local_engine::widen_fp16(local_engine::narrow_to_fp16(largest / 127));
    for (size_t i = begin; i < end; ++i)
      (*values)[i] = scale == 0 ? 0 : std::round((*values)[i] / scale) * scale;
  }
}

inline void RoundTo(Weights weights, std::vector<float>* values) {
  if (weights == Weights::kQ8_0) RoundToQ8_0(values);
  if (weights != Weights::kBf16) return;
  for (float& value : *values)
    value = local_engine::widen_bf16(local_engine::narrow_to_bf16(value));
}

inline std::string FileBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void WriteVariant(const std::string& demo, const Variant& variant,
                         const std::string& folder) {
  using nlohmann::ordered_json;
  std::filesystem::create_directories(folder);
  std::filesystem::copy(
      demo, folder,
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  const std::string stored = FileBytes(demo + "/model.safetensors");
  uint64_t size = 0;
  std::memcpy(&size, stored.data(), sizeof size);
  ordered_json header;
  std::string data;
  const ordered_json stored_header = ordered_json::parse(stored.substr(8, size), nullptr, false);
  for (const auto& [name, entry] : stored_header.items()) {
    bool is_left_out = !entry.contains("dtype");
    for (int layer = variant.layers; layer < 3; ++layer)
      is_left_out |= name.find(".layers." + std::to_string(layer) + ".") != std::string::npos;
    if (is_left_out) continue;
    std::vector<float> values;
    for (uint64_t at = entry["data_offsets"][0]; at < entry["data_offsets"][1]; at += 2) {
      uint16_t half = 0;
      std::memcpy(&half, stored.data() + 8 + size + at, sizeof half);
      values.push_back(local_engine::widen_fp16(half));
    }
    if (entry["shape"].size() > 1) RoundTo(variant.weights, &values);
    const size_t begin = data.size();
    data.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    header[name] = {
        {"dtype", "F32"}, {"shape", entry["shape"]}, {"data_offsets", {begin, data.size()}}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // The data are aligned to their type.
  size = text.size();
  std::ofstream file(folder + "/model.safetensors", std::ios::binary);
  file.write(reinterpret_cast<const char*>(&size), sizeof size);
  file << text << data;
  ordered_json config = ordered_json::parse(FileBytes(demo + "/config.json"), nullptr, false);
  config["num_hidden_layers"] = variant.layers;
  std::ofstream(folder + "/config.json") << config.dump();
}

}  // namespace reenact::drift

#endif  // REENACT_TESTS_REPLAYER_DRIFT_DEMO_MODEL_VARIANTS_H_
