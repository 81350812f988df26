// Bodies as large as a provider or a tool may hand over: the host gets each byte through, what is
// kept is whole or says that it is not, and what is small beside it is not hurt.

#include <string>
#include <string_view>

#include "tests/recorder/recorder_fixture.h"

namespace reenact::testing {
namespace {

using schema::EndState;

constexpr size_t kMebibyte = size_t{1} << 20;
constexpr int64_t kManyFramesCount = 10'000;
constexpr int64_t kFlushMs = 120'000;

// Text that says where in it one is, so that bytes which are missing or moved are seen.
std::string Numbered(size_t size) {
  std::string text;
  text.reserve(size + 16);
  while (text.size() < size) text += std::to_string(text.size()) + ' ';
  text.resize(size);
  return text;
}

class HugeBody : public RecorderTest {
 protected:
  reenact_call* BeginCall(reenact_scope* run, const reenact_call_info& info) {
    reenact_call* call = nullptr;
    EXPECT_EQ(reenact_call_begin(run, &info, &call), REENACT_LIVE);
    return call;
  }

  static void EndCall(reenact_call* call) {
    EXPECT_EQ(reenact_call_end(call, REENACT_END_COMPLETE, nullptr), REENACT_OK);
  }

  static const schema::Event& Find(const schema::RecordedRun& run, std::string_view name) {
    for (const schema::Event& event : run.events) {
      if (event.name == name) return event;
    }
    ADD_FAILURE() << "there is no " << name;
    return run.events.front();
  }
};

// cases/replay.md 28
TEST_F(HugeBody, ComesBackWholeOrSaysThatItIsCutAndHurtsNoNeighbour) {
  Open(Options());
  reenact_scope* run = Begin();
  const std::string huge = Numbered(64 * kMebibyte);
  const std::string large = Numbered(10 * kMebibyte);

  // 64 MiB that arrive piece by piece, and others that begin meanwhile: 64 MiB more in one request
  // are beyond the memory that bodies may take together.
  reenact_call* const download = BeginCall(run, ToolCall("download", "{}"));
  for (size_t at = 0; at < huge.size(); at += kMebibyte) {
    EXPECT_EQ(reenact_call_chunk(download, B(std::string_view(huge).substr(at, kMebibyte))),
              REENACT_OK);
  }
  EXPECT_EQ(Call(run, ToolCall("small before", "{}"), "whole"), REENACT_OK);
  EXPECT_EQ(Call(run, ToolCall("upload", huge), "taken"), REENACT_OK);
  EXPECT_EQ(Call(run, ToolCall("small after", "{}"), "whole"), REENACT_OK);
  EndCall(download);
  ASSERT_EQ(reenact_flush(recorder_, kFlushMs), REENACT_OK);

  EXPECT_EQ(Call(run, ToolCall("result", "{}"), large), REENACT_OK);
  reenact_call* const stream = BeginCall(run, ToolCall("stream", "{}"));
  std::string frames;
  for (int64_t i = 0; i < kManyFramesCount; ++i) {
    const std::string frame = "data: {\"i\":" + std::to_string(i) + "}\n\n";
    EXPECT_EQ(reenact_call_chunk(stream, B(frame)), REENACT_OK);
    frames += frame;
  }
  EndCall(stream);
  Finish(run);
  ASSERT_EQ(reenact_flush(recorder_, kFlushMs), REENACT_OK);
  const reenact_metrics metrics = Metrics();
  EXPECT_EQ(metrics.accepted, metrics.stored + metrics.lost);
  EXPECT_EQ(metrics.lost, 0u);
  Close();

  const schema::RecordedRun stored = OnlyRun();
  ASSERT_EQ(stored.events.size(), 6u);
  EXPECT_EQ(Find(stored, "download").end_state, EndState::kComplete);
  EXPECT_TRUE(Find(stored, "download").response.bytes == huge);
  const schema::Body& cut = Find(stored, "upload").request;
  EXPECT_TRUE(cut.cut);
  EXPECT_EQ(cut.original_size, huge.size());
  EXPECT_TRUE(huge.starts_with(cut.bytes));
  EXPECT_EQ(Find(stored, "upload").response.bytes, "taken");
  EXPECT_EQ(Find(stored, "small before").response.bytes, "whole");
  EXPECT_EQ(Find(stored, "small after").response.bytes, "whole");
  EXPECT_TRUE(Find(stored, "result").response.bytes == large);
  EXPECT_TRUE(Find(stored, "stream").response.bytes == frames);
  EXPECT_EQ(Find(stored, "stream").exchange.size(), static_cast<size_t>(kManyFramesCount));
}

}  // namespace
}  // namespace reenact::testing
