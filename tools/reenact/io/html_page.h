// One self-contained HTML page: no script, nothing fetched, and nothing that a provider or a host
// sent is ever markup.

#ifndef REENACT_TOOLS_REENACT_IO_HTML_PAGE_H_
#define REENACT_TOOLS_REENACT_IO_HTML_PAGE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace CLI {
class App;
}

namespace reenact::tools {

// Text between tags and in quoted attributes. Control characters and bytes that are no UTF-8 become
// visible, as on a terminal; line feeds and tabs stay.
std::string EscapeHtml(std::string_view text);

class HtmlPage {
 public:
  // `sentence`: the verdict. Both are text.
  HtmlPage(std::string_view title, std::string_view sentence);

  // `heading` is text, `html` is markup.
  void Section(std::string_view heading, std::string_view html);
  // What a terminal shows, as it is.
  void Report(std::string_view heading, std::string_view text);

  std::string Take() &&;

 private:
  std::string html_;
};

// Rows of text, as markup; `bold` are the indexes of rows that matter most.
std::string HtmlTable(const std::vector<std::string>& titles,
                      const std::vector<std::vector<std::string>>& rows,
                      const std::vector<size_t>& bold = {});

// --html FILE, empty where it was not given.
void AddHtmlFlag(CLI::App* verb, std::string* path);

// Writes over what is there. OK where no path was given.
absl::Status WriteHtml(const std::string& path, HtmlPage page);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_IO_HTML_PAGE_H_
