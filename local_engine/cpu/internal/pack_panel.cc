#include "local_engine/cpu/internal/pack_panel.h"

#include <cstddef>
#include <cstdint>

#include "local_engine/cpu/internal/panel_layout.h"
#include "local_engine/numerics/q8_block.h"

namespace reenact::local_engine {
namespace {

template <typename Element>
Element At(const PanelSource& source, size_t count, size_t output, size_t index) {
  const auto* row = static_cast<const Element*>(source.rows[output]);
  return row != nullptr && index < count ? row[index] : Element{};
}

template <typename Element>
void PackFloatPanel(const PanelSource& source, bool pairs_together, Element* to) {
  const size_t chunks = FloatChunkCount(source.dim);
  for (size_t chunk = 0; chunk < chunks; ++chunk) {
    for (int sequence = 0; sequence < kDotClasses; ++sequence) {
      const size_t k = chunk * kDotChunk + 2 * static_cast<size_t>(BitReversed(sequence));
      Element* pair =
          to + (static_cast<size_t>(sequence) * chunks + chunk) * 2 * size_t{kPanelOutputs};
      for (size_t n = 0; n < kPanelOutputs; ++n) {
        pair[pairs_together ? 2 * n : n] = At<Element>(source, source.dim, n, k);
        pair[pairs_together ? 2 * n + 1 : kPanelOutputs + n] =
            At<Element>(source, source.dim, n, k + 1);
      }
    }
  }
}

std::byte Biased(int8_t weight) {
  return static_cast<std::byte>(static_cast<uint8_t>(weight) ^ 0x80u);
}

}  // namespace

void PackF32Panel(const PanelSource& source, std::byte* to) {
  PackFloatPanel(source, false, reinterpret_cast<float*>(to));
}

void PackF16Panel(const PanelSource& source, std::byte* to) {
  PackFloatPanel(source, false, reinterpret_cast<uint16_t*>(to));
}

void PackBf16Panel(const PanelSource& source, std::byte* to) {
  PackFloatPanel(source, true, reinterpret_cast<uint16_t*>(to));
}

void PackQ8Panel(const PanelSource& source, std::byte* to) {
  const size_t groups = source.dim / kQ8Group;
  for (int place = 0; place < kQ8Classes; ++place) {
    for (size_t group = static_cast<size_t>(Q8ClassAt(place)); group < groups;
         group += kQ8Classes) {
      auto* scales = reinterpret_cast<uint16_t*>(to + kQ8Group * kPanelOutputs);
      for (size_t n = 0; n < kPanelOutputs; ++n) {
        const auto block = At<Q8Block>(source, groups, n, group);
        scales[n] = block.scale_fp16;
        for (size_t k = 0; k < kQ8Group; ++k) {
          to[k / 4 * 4 * kPanelOutputs + 4 * n + k % 4] = Biased(block.values[k]);
        }
      }
      to += kQ8PanelGroupBytes;
    }
  }
}

void PackW8A8Panel(const PanelSource& source, std::byte* to) {
  for (size_t k = 0; k < 4 * QuadCount(source.dim); ++k) {
    for (size_t n = 0; n < kPanelOutputs; ++n) {
      to[k / 4 * 4 * kPanelOutputs + 4 * n + k % 4] = Biased(At<int8_t>(source, source.dim, n, k));
    }
  }
}

}  // namespace reenact::local_engine
