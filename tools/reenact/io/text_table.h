// Rows of recorded text in columns, as wide as a terminal.

#ifndef REENACT_TOOLS_REENACT_IO_TEXT_TABLE_H_
#define REENACT_TOOLS_REENACT_IO_TEXT_TABLE_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tools/reenact/io/terminal_text.h"

namespace reenact::tools {

// A table whose columns share `max_width`: columns that may shrink give up width, the widest first,
// and cells that no longer fit are shortened. Cells are made printable here.
class Table {
 public:
  struct Column {
    std::string title;
    bool right = false;    // Align right.
    bool shrinks = false;  // May be shortened to fit.
  };

  Table(std::vector<Column> columns, size_t max_width)
      : columns_(std::move(columns)), max_width_(max_width) {}

  // As many cells as there are columns. `ink` colours the whole row.
  void AddRow(std::vector<std::string> cells, Ink ink = Ink::kPlain);
  std::string Render(const Style& style) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    Ink ink = Ink::kPlain;
  };

  std::vector<Column> columns_;
  size_t max_width_ = 0;
  std::vector<Row> rows_;
};

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_IO_TEXT_TABLE_H_
