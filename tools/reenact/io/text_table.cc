#include "tools/reenact/io/text_table.h"

#include <algorithm>
#include <optional>

namespace reenact::tools {
namespace {

constexpr size_t kMinimumColumnWidth = 4;

}  // namespace

void Table::AddRow(std::vector<std::string> cells, Ink ink) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = Printable(cell);
  rows_.push_back({std::move(cells), ink});
}

std::string Table::Render(const Style& style) const {
  std::vector<size_t> widths;
  size_t total = columns_.empty() ? 0 : columns_.size() - 1;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = DisplayWidth(columns_[i].title);
    for (const Row& row : rows_) width = std::max(width, DisplayWidth(row.cells[i]));
    widths.push_back(width);
    total += width;
  }
  while (total > max_width_) {
    std::optional<size_t> widest;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (!columns_[i].shrinks || widths[i] <= kMinimumColumnWidth) continue;
      if (!widest || widths[i] > widths[*widest]) widest = i;
    }
    if (!widest) break;
    --widths[*widest];
    --total;
  }
  auto render_row = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string cell = Shortened(cells[i], widths[i]);
      if (i > 0) line += ' ';
      line += columns_[i].right ? PadLeft(cell, widths[i]) : PadRight(cell, widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  };
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string out = style(Ink::kBold, render_row(titles)) + "\n";
  for (const Row& row : rows_) out += style(row.ink, render_row(row.cells)) + "\n";
  return out;
}

}  // namespace reenact::tools
