// Replays a fixture inside a GoogleTest process: the code under test calls the SDK as in
// production, and the recorded answers come from the file.
//
//   TEST(Refund, WrongRefundOfMayStaysAsItWas) {
//     reenact::testing::ReplayFixture fixture("tests/wrong_refund.reenact");
//     reenact::Recorder recorder(fixture.Replaying(reenact::Options{.service = "refund-agent"}));
//     HandleRefund(&recorder, fixture.input());
//     fixture.Verify();
//   }
//
// A fixture fails the test when the replay diverges, when records are left unused, when nothing was
// compared (no run began, or the tape is empty), when it is stale (older than its own max age), and
// when the file is not one.
//
// What it is not: a network guard. The test process is not guarded, so the level is R1 at most; use
// `reenact fixture run` for R2. One run of one thread of tests at a time: the recorder under test
// must be given the options, not the environment.

#ifndef REENACT_REPLAYER_TESTING_REPLAY_FIXTURE_H_
#define REENACT_REPLAYER_TESTING_REPLAY_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "replayer/replay_session.h"

namespace reenact::testing {

struct FixtureOptions {
  replayer::ReplayOptions replay;
  int64_t now_wall_ns = 0;  // Decides about staleness; 0: the system's clock.
};

class ReplayFixture {
 public:
  // Opens a fixture or any other bundle, of which the first run is replayed, and starts the replay
  // server. What is wrong with the file becomes a failure of the current test, and nothing is
  // served.
  explicit ReplayFixture(const std::string& path, const FixtureOptions& options = {});
  // Verifies, unless that was done.
  ~ReplayFixture();
  ReplayFixture(const ReplayFixture&) = delete;
  ReplayFixture& operator=(const ReplayFixture&) = delete;

  // False: the file could not be used, and the test has failed already.
  bool ok() const;
  // Of the recorded run: what started it. Empty when not ok.
  const std::string& entry() const;
  const std::string& input() const;
  // Of the replay server; when not ok, a path where nobody listens, so that nothing goes live.
  const std::string& socket_path() const;

  // `options` (reenact_options of reenact.h, or reenact::Options of reenact.hpp) made those of a
  // replay of this fixture. The fixture must outlive the recorder.
  template <typename Options>
  Options Replaying(Options options) const {
    constexpr int kReplayMode = 3;  // REENACT_MODE_REPLAY, permanent.
    options.mode = static_cast<decltype(options.mode)>(kReplayMode);
    if constexpr (std::is_assignable_v<decltype((options.replay_socket)), std::string>) {
      options.replay_socket = socket_path();
    } else {
      options.replay_socket = {socket_path().data(), socket_path().size()};
    }
    return options;
  }

  // Ends the replay and adds a failure to the current test for everything that is wrong with it.
  // Call it when the run has ended; the second call does nothing more.
  const replayer::ReplayReport& Verify();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace reenact::testing

#endif  // REENACT_REPLAYER_TESTING_REPLAY_FIXTURE_H_
