// Verdicts for CI systems, as JUnit XML.

#ifndef REENACT_TOOLS_REENACT_IO_JUNIT_H_
#define REENACT_TOOLS_REENACT_IO_JUNIT_H_

#include <string>
#include <vector>

namespace reenact::tools {

// Failed, in error, or passed where both are empty.
struct JunitCase {
  std::string name;
  std::string failure = {};
  std::string error = {};  // Could not be judged.
};

struct JunitSuite {
  std::string name;
  std::vector<JunitCase> cases;
};

// Whatever bytes names and messages hold, the result is XML.
std::string JunitText(const std::vector<JunitSuite>& suites);

}  // namespace reenact::tools

#endif  // REENACT_TOOLS_REENACT_IO_JUNIT_H_
