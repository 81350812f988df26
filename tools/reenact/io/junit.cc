#include "tools/reenact/io/junit.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "tools/reenact/io/terminal_text.h"

namespace reenact::tools {
namespace {

// XML 1.0 has no place for most control characters, however escaped; Printable leaves none.
std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : Printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace

std::string JunitText(const std::vector<JunitSuite>& suites) {
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const JunitSuite& suite : suites) {
    const auto count = [&](std::string JunitCase::*message) {
      return std::count_if(suite.cases.begin(), suite.cases.end(),
                           [&](const JunitCase& entry) { return !(entry.*message).empty(); });
    };
    absl::StrAppend(&out, "  <testsuite name=\"", Escaped(suite.name), "\" tests=\"",
                    suite.cases.size(), "\" failures=\"", count(&JunitCase::failure),
                    "\" errors=\"", count(&JunitCase::error), "\">\n");
    for (const JunitCase& entry : suite.cases) {
      absl::StrAppend(&out, "    <testcase classname=\"", Escaped(suite.name), "\" name=\"",
                      Escaped(entry.name), "\"");
      if (entry.failure.empty() && entry.error.empty()) {
        out += "/>\n";
        continue;
      }
      const bool failed = !entry.failure.empty();
      absl::StrAppend(&out, ">\n      <", failed ? "failure" : "error", " message=\"",
                      Escaped(failed ? entry.failure : entry.error), "\"/>\n    </testcase>\n");
    }
    out += "  </testsuite>\n";
  }
  return out + "</testsuites>\n";
}

}  // namespace reenact::tools
