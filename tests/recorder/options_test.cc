// Options and environment become one checked value, or a sentence.

#include "recorder/options.h"

#include <cmath>
#include <cstdlib>

#include "gtest/gtest.h"

#include "recorder/run.h"

namespace reenact::recorder {
namespace {

class OptionsTest : public ::testing::Test {
 protected:
  OptionsTest() {
    for (const char* name :
         {"REENACT_MODE", "REENACT_STORE", "REENACT_REPLAY_SOCKET", "XDG_DATA_HOME"}) {
      unsetenv(name);
    }
    setenv("HOME", "/home-of-nobody", 1);
    given_.struct_size = sizeof(given_);
  }

  reenact_code Mode() { return ReadMode(&given_, &mode_, &why_); }

  reenact_code Read(recorder::Mode mode = recorder::Mode::kRecord) {
    checked_ = Options();
    return ReadOptions(&given_, mode, &checked_, &why_);
  }

  reenact_options given_{};
  recorder::Mode mode_ = recorder::Mode::kOff;
  Options checked_;
  std::string why_;
};

TEST_F(OptionsTest, AutoFollowsTheEnvironment) {
  EXPECT_EQ(Mode(), REENACT_OK);
  EXPECT_EQ(mode_, recorder::Mode::kRecord);
  setenv("REENACT_MODE", "off", 1);
  EXPECT_EQ(Mode(), REENACT_OK);
  EXPECT_EQ(mode_, recorder::Mode::kOff);
  setenv("REENACT_MODE", "replay", 1);
  EXPECT_EQ(Mode(), REENACT_OK);
  EXPECT_EQ(mode_, recorder::Mode::kReplay);
}

TEST_F(OptionsTest, UnknownWordOfTheEnvironmentIsNamedAndMayHaveMeantReplay) {
  setenv("REENACT_MODE", "Replay", 1);
  for (const int32_t asked : {REENACT_MODE_AUTO, REENACT_MODE_RECORD, REENACT_MODE_OFF}) {
    given_.mode = asked;
    why_.clear();
    EXPECT_EQ(Mode(), REENACT_INVALID_ARGUMENT);
    EXPECT_EQ(mode_, recorder::Mode::kReplay);
    EXPECT_NE(why_.find("\"Replay\""), std::string::npos);
  }
}

TEST_F(OptionsTest, ExplicitModeCountsOverTheEnvironmentButNotOverReplay) {
  setenv("REENACT_MODE", "off", 1);
  given_.mode = REENACT_MODE_RECORD;
  EXPECT_EQ(Mode(), REENACT_OK);
  EXPECT_EQ(mode_, recorder::Mode::kRecord);
  setenv("REENACT_MODE", "replay", 1);
  for (const int32_t asked : {REENACT_MODE_RECORD, REENACT_MODE_OFF}) {
    given_.mode = asked;
    EXPECT_EQ(Mode(), REENACT_OK);
    EXPECT_EQ(mode_, recorder::Mode::kReplay);
  }
}

TEST_F(OptionsTest, StoreFallsBackStepByStep) {
  EXPECT_EQ(Read(), REENACT_OK);
  EXPECT_EQ(checked_.log.store_path, "/home-of-nobody/.local/share/reenact");
  setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(Read(), REENACT_OK);
  EXPECT_EQ(checked_.log.store_path, "/data/reenact");
  setenv("REENACT_STORE", "/store", 1);
  EXPECT_EQ(Read(), REENACT_OK);
  EXPECT_EQ(checked_.log.store_path, "/store");
  given_.store = {"/given", 6};
  EXPECT_EQ(Read(), REENACT_OK);
  EXPECT_EQ(checked_.log.store_path, "/given");
}

TEST_F(OptionsTest, NoPlaceForAStoreIsUnavailable) {
  unsetenv("HOME");
  EXPECT_EQ(Read(), REENACT_UNAVAILABLE);
}

TEST_F(OptionsTest, ReplayWithoutASocketIsUnavailable) {
  EXPECT_EQ(Read(recorder::Mode::kReplay), REENACT_UNAVAILABLE);
  setenv("REENACT_REPLAY_SOCKET", "/run/socket", 1);
  EXPECT_EQ(Read(recorder::Mode::kReplay), REENACT_OK);
  EXPECT_EQ(checked_.replay_socket, "/run/socket");
}

TEST_F(OptionsTest, RatesOutsideTheirRangeAreRefused) {
  for (const double rate : {-0.1, 1.1, std::nan(""), HUGE_VAL}) {
    given_.run_sample_rate = rate;
    EXPECT_EQ(Read(), REENACT_INVALID_ARGUMENT) << rate;
    given_.run_sample_rate = 0;
    given_.logprob_rate = rate;
    EXPECT_EQ(Read(), REENACT_INVALID_ARGUMENT) << rate;
    given_.logprob_rate = 0;
  }
  EXPECT_EQ(Read(), REENACT_OK);
  EXPECT_EQ(checked_.run_sample_rate, 1);
}

TEST_F(OptionsTest, RingOutsideItsRangeIsRefused) {
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{1} << 40}) {
    given_.ring_bytes = bytes;
    EXPECT_EQ(Read(), REENACT_INVALID_ARGUMENT);
  }
}

TEST_F(OptionsTest, ServiceDefaultsToTheProgram) {
  EXPECT_EQ(Read(), REENACT_OK);
  EXPECT_EQ(checked_.service, "options_test");
}

TEST(ScopePath, KeysCannotPretendToBePaths) {
  EXPECT_EQ(ChildPath("", "turn-2"), "turn-2");
  EXPECT_EQ(ChildPath("turn-2", "call"), "turn-2/call");
  EXPECT_EQ(ChildPath("", "turn-2/call"), "turn-2~1call");
  EXPECT_EQ(ChildPath("", "a~1b"), "a~01b");
}

}  // namespace
}  // namespace reenact::recorder
