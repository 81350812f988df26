// Makes the stores of the golden tests: `golden_store NAME FOLDER`. The same runs each time, with
// fixed ids and times; only the names of segment files differ.

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/reader/bundle.h"
#include "tests/tools/sample_runs.h"

namespace {

using reenact::schema::RecordedRun;

// NAME is a list of runs: "right,wrong,broken".
bool AddRuns(std::string_view names, std::vector<RecordedRun>* runs) {
  while (!names.empty()) {
    const size_t comma = names.find(',');
    const std::string_view name = names.substr(0, comma);
    names = comma == std::string_view::npos ? "" : names.substr(comma + 1);
    if (name == "right") {
      runs->push_back(reenact::tests::RightRefund());
    } else if (name == "wrong") {
      runs->push_back(reenact::tests::WrongRefund());
    } else if (name == "broken") {
      runs->push_back(reenact::tests::BrokenStream());
    } else if (name == "hostile") {
      runs->push_back(reenact::tests::HostileRun());
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<RecordedRun> runs;
  if (argc != 3 || !AddRuns(argv[1], &runs)) {
    std::fputs("golden_store right|wrong|broken|hostile[,...] FOLDER\n", stderr);
    return 2;
  }
  for (RecordedRun& run : runs) {
    reenact::store::Bundle bundle;
    bundle.runs.push_back(std::move(run));
    const auto added = reenact::store::ImportRuns(bundle, argv[2]);
    if (!added.ok()) {
      std::fprintf(stderr, "%s\n", std::string(added.status().message()).c_str());
      return 1;
    }
  }
  return 0;
}
