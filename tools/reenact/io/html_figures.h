// The figures of a page, as markup: two answers token by token, with the margins as shade; and a
// survival curve.

#ifndef REENACT_TOOLS_REENACT_IO_HTML_FIGURES_H_
#define REENACT_TOOLS_REENACT_IO_HTML_FIGURES_H_

#include <string>
#include <string_view>

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

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_IO_HTML_FIGURES_H_
