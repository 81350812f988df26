// Every allocation of a host's thread fails in turn, from opening to closing. Record mode stays
// live, replay mode never becomes it.

#include <filesystem>
#include <string>

#include "tests/recorder/failing_allocator.h"
#include "tests/recorder/fake_replayer.h"
#include "tests/recorder/recorder_fixture.h"
#include "tests/store/memory_folder.h"

namespace reenact::testing {
namespace {

// What one pass through the API saw. Written without an allocation of its own.
struct Pass {
  long allocations = 0;
  int live = 0;
  int on_tape = 0;
  int diverged = 0;
  bool opened = false;
};

void Count(reenact_disposition disposition, Pass* pass) {
  if (disposition == REENACT_LIVE) ++pass->live;
  if (disposition == REENACT_ON_TAPE) ++pass->on_tape;
  if (disposition == REENACT_DIVERGED) ++pass->diverged;
}

void OneCall(reenact_scope* scope, const reenact_call_info& info, std::string_view large,
             Pass* pass) {
  reenact_call* call = nullptr;
  const reenact_disposition disposition = reenact_call_begin(scope, &info, &call);
  Count(disposition, pass);
  if (disposition == REENACT_LIVE) {
    const reenact_pair headers[] = {{B("content-type"), B("application/json; charset=utf-8")}};
    reenact_call_head(call, 200, headers, 1);
    reenact_call_chunk(call, B("an answer that is longer than a small string"));
    reenact_call_chunk(call, B(large));
  } else {
    auto item = Sized<reenact_item>();
    while (reenact_call_next(call, &item) == REENACT_OK) {
    }
  }
  reenact_call_end(call, REENACT_END_COMPLETE, nullptr);
}

// Everything a host does, with the n-th allocation failing. The recorder is opened before when
// `recorder` is given.
Pass RunOnce(const reenact_options& options, long fail_from, std::string_view large) {
  Pass pass;
  reenact_recorder* recorder = nullptr;
  FailAllocationsFrom(fail_from);
  reenact_open(&options, &recorder);
  pass.opened = recorder != nullptr;
  auto component = Sized<reenact_component>();
  component.kind = B("prompt_template");
  component.name = B("a name that does not fit a small string");
  auto info = Sized<reenact_run_info>();
  info.entry = B("POST /an-entry-of-some-length");
  info.input = B("an input that does not fit a small string");
  info.components = &component;
  info.component_count = 1;
  reenact_scope* run = nullptr;
  reenact_run_begin(recorder, &info, &run);
  reenact_scope* child = nullptr;
  reenact_scope_begin(run, B("a key that does not fit a small string"), &child);
  reenact_call_info model = ModelCall(R"({"model":"gpt-4o"})");
  const reenact_pair headers[] = {{B("authorization"), B("Bearer sk-0123456789abcdef")}};
  model.headers = headers;
  model.header_count = 1;
  OneCall(run, model, large, &pass);
  OneCall(child, ToolCall("a_tool_with_quite_a_long_name", large), "x", &pass);
  int64_t now = 0;
  uint64_t seed = 0;
  int32_t want = 0;
  reenact_now(child, B("a reading with quite a long name"), &now);
  reenact_random_seed(child, B("a draw with quite a long name"), &seed);
  reenact_want_logprobs(child, B("a policy with quite a long name"), &want);
  reenact_tag(run, B("tag"), B("value"));
  auto incident = Sized<reenact_incident_info>();
  incident.title = B("a title that does not fit a small string");
  reenact_incident(run, &incident);
  char text[64];
  reenact_error(recorder, text, sizeof(text));
  auto metrics = Sized<reenact_metrics>();
  reenact_get_metrics(recorder, &metrics);
  reenact_scope_end(child);
  reenact_run_end(run, REENACT_END_COMPLETE, {}, B("an output of some length, say so"));
  pass.allocations = AllocationsSeen();
  FailAllocationsFrom(0);
  reenact_close(recorder, kPatienceMs);
  return pass;
}

class AllocationFault : public RecorderTest {
 protected:
  bool RingsAreLeft() const {
    std::error_code none;
    return !std::filesystem::is_empty(memory_.rings(), none) && !none;
  }

  store::MemoryFolder memory_;
};

TEST_F(AllocationFault, RecordModeIsAlwaysLive) {
  const std::string large(200 * 1024, 'l');
  const reenact_options options = Options();
  const Pass clean = RunOnce(options, 0, large);
  ASSERT_TRUE(clean.opened);
  ASSERT_GT(clean.allocations, 20);
  bool failed_to_open = false;
  for (long n = 1; n <= clean.allocations; ++n) {
    const Pass pass = RunOnce(options, n, large);
    EXPECT_EQ(pass.live, 2) << "allocation " << n;
    EXPECT_FALSE(RingsAreLeft()) << "allocation " << n;
    failed_to_open = failed_to_open || !pass.opened;
  }
  EXPECT_TRUE(failed_to_open);  // The faults did reach the library.
}

TEST_F(AllocationFault, ReplayModeIsNeverLive) {
  FakeReplayer replayer(folder_.File("socket"), ServeEverything);
  auto options = Sized<reenact_options>();
  options.mode = REENACT_MODE_REPLAY;
  options.replay_socket = B(replayer.path());
  const std::string large(2000, 'l');
  const Pass clean = RunOnce(options, 0, large);
  ASSERT_EQ(clean.on_tape, 2);
  ASSERT_GT(clean.allocations, 20);
  int diverged = 0;
  for (long n = 1; n <= clean.allocations; ++n) {
    const Pass pass = RunOnce(options, n, large);
    EXPECT_TRUE(pass.opened) << "allocation " << n;
    EXPECT_EQ(pass.live, 0) << "allocation " << n;
    EXPECT_EQ(pass.on_tape + pass.diverged, 2) << "allocation " << n;
    diverged += pass.diverged;
  }
  EXPECT_GT(diverged, 0);
}

}  // namespace
}  // namespace reenact::testing
