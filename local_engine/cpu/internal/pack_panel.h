// Arranges rows of weights as a panel. Panels are drawn in matrix.h.

#ifndef REENACT_LOCAL_ENGINE_CPU_INTERNAL_PACK_PANEL_H_
#define REENACT_LOCAL_ENGINE_CPU_INTERNAL_PACK_PANEL_H_

#include <cstddef>

#include "local_engine/cpu/internal/panel_layout.h"

namespace reenact::local_engine {

// The rows of a panel as they lie in their file. Null: there is no such output, it becomes zeros.
struct PanelSource {
  const void* rows[kPanelOutputs];
  size_t dim;  // Values of a row.
};

void PackF32Panel(const PanelSource& source, std::byte* to);
void PackF16Panel(const PanelSource& source, std::byte* to);
void PackBf16Panel(const PanelSource& source, std::byte* to);
void PackQ8Panel(const PanelSource& source, std::byte* to);
void PackW8A8Panel(const PanelSource& source, std::byte* to);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CPU_INTERNAL_PACK_PANEL_H_
