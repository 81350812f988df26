// The figures of a page, as markup: two answers token by token, with the margins as shade; a
// survival curve; windows of a monitor against their noise.

#ifndef REENACT_TOOLS_REENACT_IO_HTML_FIGURES_H_
#define REENACT_TOOLS_REENACT_IO_HTML_FIGURES_H_

#include <string>
#include <string_view>
#include <vector>

#include "replayer/analysis/first_divergence.h"
#include "schema/model_view.h"

namespace reenact::tools {

struct LabelledAnswer {
  std::string_view label;  // "recorded"
  const schema::ModelView* view = nullptr;
};

// The first choices of both. Where no tokens are known: their text, with the part that differs.
std::string TokenDiffHtml(const LabelledAnswer& first, const LabelledAnswer& second);

// The share of answers that agree beyond each token. Where nothing diverged it says so.
std::string SurvivalHtml(const analysis::DivergenceSurvival& survival);

struct ShownWindow {
  double nats = 0;
  bool stands_out = false;
  std::string title;  // Text: what it is called when it is pointed at.
};

// One mark a window: those of the baseline, and behind a line those of the check; what stands out
// has another shape as well as another colour. `gate` is a dashed line; 0: there is none.
std::string WindowsHtml(const std::vector<ShownWindow>& baseline,
                        const std::vector<ShownWindow>& checked, double gate);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_IO_HTML_FIGURES_H_
