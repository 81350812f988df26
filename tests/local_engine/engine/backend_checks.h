// What every backend is held to: a schedule that mixes prefill, chunks and decode, the golden
// hashes of whole models, and a sequence that goes wrong beside others.

#ifndef REENACT_TESTS_LOCAL_ENGINE_ENGINE_BACKEND_CHECKS_H_
#define REENACT_TESTS_LOCAL_ENGINE_ENGINE_BACKEND_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/engine/backend.h"
#include "local_engine/numerics/operations.h"
#include "local_engine/numerics/sha256.h"
#include "tests/local_engine/reference/golden_models.h"

namespace reenact::local_engine {

inline constexpr int32_t kPages = 14;
inline constexpr int32_t kPositions = 400;

struct StepPart {
  int32_t sequence = 0;
  int32_t token_count = 0;
  int32_t logits_count = 0;
};

using Schedule = std::vector<std::vector<StepPart>>;

// Three sequences: chunks that end within a page, decode beside prefill, and a second split of
// attention for the first one.
inline const Schedule kMixedSchedule = {{{0, 70, 70}, {1, 5, 1}},
                                        {{0, 1, 1}, {1, 40, 0}, {2, 33, 2}},
                                        {{2, 1, 1}, {0, 190, 3}, {1, 1, 1}},
                                        {{0, 1, 1}, {1, 1, 1}, {2, 1, 1}},
                                        {{0, 9, 9}}};

// The pages of a sequence, in no order.
inline std::vector<int32_t> PagesOf(int32_t sequence) {
  if (sequence == 0) return {3, 0, 7, 11, 2, 9, 5, 13, 1};
  return sequence == 1 ? std::vector<int32_t>{12, 4} : std::vector<int32_t>{6, 8};
}

// Runs a schedule; all logits in their order, then all pages.
inline std::vector<float> RunSchedule(Backend* backend, const Model& model,
                                      const Schedule& schedule) {
  EXPECT_TRUE(backend->ReservePages(kPages).ok());
  for (int32_t page = 0; page < kPages; ++page) backend->PoisonPage(page);
  std::vector<float> results;
  std::vector<int32_t> done(3);
  for (const std::vector<StepPart>& step : schedule) {
    std::vector<std::vector<int32_t>> tokens;
    std::vector<std::vector<int32_t>> pages;
    std::vector<StepSequence> sequences;
    for (const StepPart& part : step) {
      pages.push_back(PagesOf(part.sequence));
      tokens.emplace_back();
      for (int32_t i = 0; i < part.token_count; ++i) {
        const int32_t position = done[static_cast<size_t>(part.sequence)] + i;
        tokens.back().push_back((position * 31 + part.sequence) % model.config.vocabulary_size);
      }
    }
    for (size_t i = 0; i < step.size(); ++i) {
      int32_t& position = done[static_cast<size_t>(step[i].sequence)];
      sequences.push_back({pages[i], position, tokens[i], step[i].logits_count});
      position += step[i].token_count;
    }
    std::vector<SequenceOutput> outputs;
    EXPECT_TRUE(backend->Forward(sequences, &outputs).ok());
    for (const SequenceOutput& output : outputs) {
      EXPECT_TRUE(output.status.ok()) << output.status;
      results.insert(results.end(), output.logits.begin(), output.logits.end());
    }
  }
  const auto kv_dim = static_cast<size_t>(model.config.kv_head_count * model.config.head_dim);
  std::vector<float> rows(kPagePositions * kv_dim * 2);
  const std::span<float> keys = std::span(rows).first(rows.size() / 2);
  const std::span<float> values = std::span(rows).last(rows.size() / 2);
  for (int32_t page = 0; page < kPages; ++page) {
    for (int32_t layer = 0; layer < model.config.layer_count; ++layer) {
      backend->ReadPage(page, layer, keys, values);
      results.insert(results.end(), rows.begin(), rows.end());
    }
  }
  return results;
}

inline size_t Differences(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return a.size() + b.size();
  size_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) count += float_bits(a[i]) != float_bits(b[i]) ? 1 : 0;
  return count;
}

// Over a sequence's keys, then values, layer by layer.
inline Sha256Digest CacheDigest(const Backend& backend, const Model& model,
                                std::span<const int32_t> pages, size_t positions) {
  const auto kv_dim = static_cast<size_t>(model.config.kv_head_count * model.config.head_dim);
  const size_t page_size = kPagePositions * kv_dim;
  Sha256 hash;
  for (int32_t layer = 0; layer < model.config.layer_count; ++layer) {
    std::vector<float> keys(pages.size() * page_size), values(keys.size());
    for (size_t i = 0; i < pages.size(); ++i) {
      backend.ReadPage(pages[i], layer, std::span(keys).subspan(i * page_size, page_size),
                       std::span(values).subspan(i * page_size, page_size));
    }
    hash.UpdateValues(std::span<const float>(keys).first(positions * kv_dim));
    hash.UpdateValues(std::span<const float>(values).first(positions * kv_dim));
  }
  return hash.Finish();
}

// As in golden_models.h, a token a step.
inline std::string HashOf(Backend* backend, const Model& model) {
  EXPECT_TRUE(backend->ReservePages(2).ok());
  const std::vector<int32_t> pages = {1, 0};
  Sha256 hash;
  for (int32_t position = 0; position < kGoldenLength; ++position) {
    const int32_t token = GoldenTokenAt(position);
    const StepSequence sequence = {pages, position, {&token, 1}, 1};
    std::vector<SequenceOutput> outputs;
    EXPECT_TRUE(backend->Forward({&sequence, 1}, &outputs).ok());
    hash.UpdateValues(std::span<const float>(outputs.at(0).logits));
  }
  const Sha256Digest digest = CacheDigest(*backend, model, pages, kGoldenLength);
  hash.Update(digest.data(), digest.size());
  return HexText(hash.Finish());
}

// A model whose token 3 overflows binary16 in a value of layer 1.
inline void WriteOverflowing(const std::string& folder) {
  const RandomModelShape shape = {.type = DataType::kF16};
  std::vector<StoredTensor> tensors = RandomTensors(shape).All();
  for (StoredTensor& tensor : tensors) {
    if (tensor.name != "model.embed_tokens.weight") continue;
    // A row of one large value: RMSNorm makes it the same for all, so the residual overflows.
    std::vector<float> rows(97 * 48);
    for (size_t i = 0; i < rows.size(); ++i)
      rows[i] = i / 48 == 3 ? 65504.0f : 0.01f * static_cast<float>(i % 7);
    tensor = Store(tensor.name, DataType::kF16, tensor.shape, rows);
  }
  for (StoredTensor& tensor : tensors) {
    if (tensor.name != "model.layers.1.self_attn.v_proj.weight") continue;
    std::vector<float> steep(32 * 48);
    for (size_t i = 0; i < steep.size(); ++i) steep[i] = i / 48 % 2 == 0 ? 2000.0f : -2000.0f;
    tensor = Store(tensor.name, DataType::kF16, tensor.shape, steep);
  }
  WriteFolder(folder, ConfigOf(shape, "LlamaForCausalLM", ""), tensors);
}

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_ENGINE_BACKEND_CHECKS_H_
