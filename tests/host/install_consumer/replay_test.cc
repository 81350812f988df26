// A stranger's test suite on an installed fixture.
// usage: replay_test FIXTURE PROGRAM STORE

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <reenact/testing/expect_replay.hpp>

namespace {

std::string g_fixture;
std::vector<std::string> g_program;

// What a test that does this would have failed with.
std::vector<std::string> FailuresOf(const std::string& fixture,
                                    const std::vector<std::string>& program) {
  ::testing::TestPartResultArray results;
  {
    const ::testing::ScopedFakeTestPartResultReporter reporter(
        ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
    reenact::testing::ExpectReplay(fixture, program);
  }
  std::vector<std::string> failures;
  for (int i = 0; i < results.size(); ++i) {
    failures.emplace_back(results.GetTestPartResult(i).message());
  }
  return failures;
}

bool Holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ExpectReplay, ProgramThatDoesTheSamePasses) {
  reenact::testing::ExpectReplay(g_fixture, g_program);
}

TEST(ExpectReplay, EachDivergenceIsAFailure) {
  std::vector<std::string> changed = g_program;
  changed.push_back("changed");
  const std::vector<std::string> failures = FailuresOf(g_fixture, changed);
  ASSERT_EQ(failures.size(), 3u);
  EXPECT_TRUE(Holds(failures[0], "novel_call")) << failures[0];
  EXPECT_FALSE(Holds(failures[0], "omitted_call")) << failures[0];
  EXPECT_TRUE(Holds(failures[1], "omitted_call")) << failures[1];
  EXPECT_TRUE(Holds(failures[2], "failed:")) << failures[2];
}

TEST(ExpectReplay, MissingFixtureAndMissingProgramFail) {
  const std::vector<std::string> no_fixture = FailuresOf("nowhere.reenact", g_program);
  ASSERT_EQ(no_fixture.size(), 1u);
  EXPECT_TRUE(Holds(no_fixture[0], "nowhere.reenact")) << no_fixture[0];
  const std::vector<std::string> no_program = FailuresOf(g_fixture, {"./no-such-program"});
  ASSERT_EQ(no_program.size(), 1u);
  EXPECT_TRUE(Holds(no_program[0], "no-such-program")) << no_program[0];
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (argc != 4) return 2;
  g_fixture = argv[1];
  g_program = {argv[2], argv[3]};
  return RUN_ALL_TESTS();
}
