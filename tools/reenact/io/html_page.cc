#include "tools/reenact/io/html_page.h"

#include <algorithm>
#include <utility>

#include <CLI/CLI.hpp>

#include "tools/reenact/io/terminal_text.h"
#include "tools/reenact/io/write_file.h"

namespace reenact::tools {
namespace {

// The policy is a second lock: were something to slip through, it could fetch and run nothing.
constexpr std::string_view kHead =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light\">\n";

constexpr std::string_view kStyle =
    "<style>\n"
    "body{font:15px/1.5 system-ui,sans-serif;color:#1b1f24;background:#fff;max-width:72rem;"
    "margin:2rem auto;padding:0 1.5rem}\n"
    "h1{font-size:1.35rem;line-height:1.35;margin:.2rem 0 1.5rem}\n"
    "h2{font-size:1rem;margin:2rem 0 .5rem}\n"
    ".kind{color:#59636e;font-size:.85rem;text-transform:uppercase;letter-spacing:.06em;margin:0}\n"
    "pre,.tokens{font:13px/1.7 ui-monospace,monospace}\n"
    "pre{background:#f6f8fa;padding:1rem;white-space:pre-wrap;line-height:1.45}\n"
    "table{border-collapse:collapse;font-size:.9rem}\n"
    "th,td{text-align:left;vertical-align:top;padding:.3rem .8rem .3rem 0;"
    "border-bottom:1px solid #d8dee4;overflow-wrap:anywhere}\n"
    "tr.bold td{font-weight:600}\n"
    ".side{display:grid;grid-template-columns:7rem 1fr;gap:.2rem 1rem;margin:.6rem 0}\n"
    ".tokens{white-space:pre-wrap;overflow-wrap:anywhere}\n"
    ".tokens span{border-radius:2px}\n"
    ".tokens .parts{outline:2px solid #cf222e}\n"
    ".tokens .after{color:#8250df}\n"
    ".note{color:#59636e;font-size:.85rem}\n"
    "svg text{font:11px system-ui,sans-serif;fill:#59636e}\n"
    "</style>\n";

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  for (const char c : PrintableLines(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

HtmlPage::HtmlPage(std::string_view title, std::string_view sentence) {
  html_ = std::string(kHead) + "<title>" + EscapeHtml(title) + "</title>\n" + std::string(kStyle) +
          "</head>\n<body>\n<p class=\"kind\">" + EscapeHtml(title) + "</p>\n<h1>" +
          EscapeHtml(sentence) + "</h1>\n";
}

void HtmlPage::Section(std::string_view heading, std::string_view html) {
  html_ += "<section>\n<h2>" + EscapeHtml(heading) + "</h2>\n" + std::string(html) + "</section>\n";
}

void HtmlPage::Report(std::string_view heading, std::string_view text) {
  Section(heading, "<pre>" + EscapeHtml(text) + "</pre>\n");
}

std::string HtmlPage::Take() && {
  return std::move(html_) + "</body>\n</html>\n";
}

std::string HtmlTable(const std::vector<std::string>& titles,
                      const std::vector<std::vector<std::string>>& rows,
                      const std::vector<size_t>& bold) {
  std::string html = "<table>\n<tr>";
  for (const std::string& title : titles) html += "<th>" + EscapeHtml(title) + "</th>";
  html += "</tr>\n";
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool is_bold = std::find(bold.begin(), bold.end(), i) != bold.end();
    html += is_bold ? "<tr class=\"bold\">" : "<tr>";
    for (const std::string& cell : rows[i]) html += "<td>" + EscapeHtml(cell) + "</td>";
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

void AddHtmlFlag(CLI::App* verb, std::string* path) {
  verb->add_option("--html", *path, "write the report as one self-contained page, too")
      ->type_name("FILE");
}

absl::Status WriteHtml(const std::string& path, HtmlPage page) {
  if (path.empty()) return absl::OkStatus();
  return WriteFile(path, std::move(page).Take(), /*replace=*/true);
}

}  // namespace reenact::tools
