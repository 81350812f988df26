// Runs strangers' programs against the library, and reads what they left in the store.

#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "store/reader/store_reader.h"
#include "tests/support/temp_folder.h"

extern char** environ;

namespace reenact::testing {
namespace {

// The exit status, or the negative signal.
int RunProgram(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  if (posix_spawn(&pid, argv[0], nullptr, nullptr, argv.data(), environ) != 0) return -999;
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

class Host : public ::testing::Test {
 protected:
  // Entry of each complete run, with the number of its complete events.
  std::multimap<std::string, size_t> CompleteRuns() const {
    std::multimap<std::string, size_t> found;
    auto reader = store::StoreReader::Open(store_);
    if (!reader.ok()) {
      ADD_FAILURE() << reader.status().ToString();
      return found;
    }
    const auto runs = (*reader)->ListRuns({});
    if (!runs.ok()) {
      ADD_FAILURE() << runs.status().ToString();
      return found;
    }
    for (const store::RunSummary& summary : *runs) {
      if (summary.state != schema::EndState::kComplete) continue;
      const auto run = (*reader)->LoadRun(summary.id, {});
      if (!run.ok()) {
        ADD_FAILURE() << run.status().ToString();
        continue;
      }
      size_t complete = 0;
      for (const schema::Event& event : run->events) {
        if (event.end_state == schema::EndState::kComplete) ++complete;
      }
      found.emplace(summary.entry, complete);
    }
    return found;
  }

  using Expected = std::multimap<std::string, size_t>;
  const TempFolder folder_;
  const std::string store_ = folder_.File("store");
};

TEST_F(Host, StrictC99UsesNullHandlesAndRecords) {
  EXPECT_EQ(RunProgram({C99_HOST, store_}), 0);
  EXPECT_EQ(CompleteRuns(), (Expected{{"main", 1}}));
}

TEST_F(Host, ExitWithoutCloseIsQuickAndLosesNothing) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(RunProgram({C99_HOST, store_, "leave"}), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_EQ(CompleteRuns(), (Expected{{"main", 1}}));
}

TEST_F(Host, CppWithoutExceptionsAndRttiRecords) {
  EXPECT_EQ(RunProgram({NO_EXCEPTIONS_HOST, store_}), 0);
  EXPECT_EQ(CompleteRuns(), (Expected{{"main", 4}}));
}

TEST_F(Host, StaticInitialisersMayCallBeforeAnythingIsOpened) {
  ASSERT_EQ(setenv("REENACT_STORE", store_.c_str(), 1), 0);
  EXPECT_EQ(RunProgram({STATIC_INITIALISER_HOST}), 0);
  unsetenv("REENACT_STORE");
  EXPECT_EQ(CompleteRuns(), (Expected{{"before main", 1}}));
}

// cases/reports.md 79
TEST_F(Host, StaticDestructorsMayRecordAfterClose) {
  EXPECT_EQ(RunProgram({STATIC_DESTRUCTOR_HOST, store_}), 0);
}

TEST_F(Host, HostsOwnSqliteIsNotCalled) {
  EXPECT_EQ(RunProgram({OWN_SQLITE_HOST, store_}), 0);
  EXPECT_EQ(CompleteRuns(), (Expected{{"main", 0}}));
}

TEST_F(Host, TwoLibrariesInOneProcessRecordSideBySide) {
  EXPECT_EQ(RunProgram({TWO_LIBRARIES_HOST, store_}), 0);
  EXPECT_EQ(CompleteRuns(), (Expected{{"a", 0}, {"b", 0}}));
}

TEST_F(Host, LoadedLateStartsNothingAndUnloads) {
  EXPECT_EQ(RunProgram({DLOPEN_HOST, LIBRARY, store_}), 0);
  EXPECT_EQ(CompleteRuns(), (Expected{{"main", 0}, {"main", 0}, {"main", 0}}));
}

TEST_F(Host, CancelledThreadsHurtNobodyElse) {
  EXPECT_EQ(RunProgram({KILLED_THREAD_HOST, store_}), 0);
  EXPECT_EQ(CompleteRuns().count("main"), 1u);
}

}  // namespace
}  // namespace reenact::testing
