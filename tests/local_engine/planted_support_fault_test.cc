// The tests of what stands around the arithmetic catch what they are there for. This program is
// made of them and of the sources under test, built once more with the faults; it starts itself
// with each fault, and some test of the part must fail, and none without one.

#include "local_engine/numerics/planted_support_fault.h"

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "gtest/gtest.h"

namespace reenact::local_engine {
namespace {

constexpr const char* kVariable = "REENACT_SUPPORT_FAULT";

SupportFault FaultOfProcess() {
  const char* number = std::getenv(kVariable);
  return number == nullptr ? SupportFault::kNone : static_cast<SupportFault>(std::atoi(number));
}

}  // namespace

const SupportFault support_fault = FaultOfProcess();

namespace {

struct FaultyPart {
  SupportFault fault;
  const char* name;   // Of the fault.
  const char* tests;  // A filter.
};

#define FAULT(name, tests) \
  { SupportFault::name, #name, tests }
constexpr FaultyPart kFaults[] = {
    FAULT(kHashDropsTheRest, "Sha256.*"),
    FAULT(kHashCountsBytes, "Sha256.*"),
    FAULT(kDigestForgetsChange, "DigestCacheTest.AFileThatWasWrittenToIsAnother"),
    FAULT(kDigestOfSizeAlone, "DigestCacheTest.AFileInItsPlaceIsAnother"),
    FAULT(kDigestBelievesDamage, "DigestCacheTest.ADamagedEntryIsAsGoodAsNone"),
    FAULT(kDigestOfMovingFile, "DigestCacheTest.NothingIsKeptOfAFileThatChanged*"),
    FAULT(kGrammarTakesFirstChoice, "Grammar.ObjectsOfJsonAndNothingElse"),
    FAULT(kGrammarEndsAnywhere, "AllowedTokensTest.TheSameAsEachTokenTriedAlone"),
    FAULT(kGrammarSharesTooMuch, "AllowedTokensTest.TheSameAsEachTokenTriedAlone"),
    FAULT(kGrammarMarksAnywhere, "AllowedTokensTest.AMarkerStandsForItsName*"),
    FAULT(kJsonLeadingZeros, "Grammar.ObjectsOfJsonAndNothingElse"),
    FAULT(kJsonLoneSurrogates, "Grammar.ObjectsOfJsonAndNothingElse"),
    FAULT(kJsonControlCharacters, "Grammar.ObjectsOfJsonAndNothingElse"),
    FAULT(kCoreTwiceBeforeOthers, "ProcessorOrder.*"),
    FAULT(kUnknownCoresAreOne, "ProcessorOrder.*"),
};
#undef FAULT

// The exit code of this program with a fault; 0: all of the tests passed, 1: one of them failed.
int RunTests(SupportFault fault, const std::string& tests) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command = std::string(kVariable) + "=" +
                              std::to_string(static_cast<int>(fault)) + " '" + program +
                              "' '--gtest_filter=" + tests + "' >/dev/null 2>&1";
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(PlantedSupportFault, EveryFaultIsSeenByATestOfItsPart) {
  std::set<SupportFault> tried;
  std::set<std::string> filters;
  for (const FaultyPart& planted : kFaults) {
    tried.insert(planted.fault);
    EXPECT_EQ(RunTests(planted.fault, planted.tests), 1) << planted.name;
    if (!filters.insert(planted.tests).second) continue;
    EXPECT_EQ(RunTests(SupportFault::kNone, planted.tests), 0) << planted.tests;
  }
  EXPECT_EQ(tried.size(), static_cast<size_t>(SupportFault::kCount) - 1) << "a fault is not tried";
}

}  // namespace
}  // namespace reenact::local_engine
