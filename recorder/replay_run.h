// Runs, scopes and calls in replay mode: every boundary asks the replayer, and whatever it cannot
// answer diverges. Nothing here is ever live.

#ifndef REENACT_RECORDER_REPLAY_RUN_H_
#define REENACT_RECORDER_REPLAY_RUN_H_

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "recorder/handles.h"
#include "recorder/replay_client.h"

namespace reenact::recorder {

class ReplayRecorder;

class ReplayScope final : public reenact_scope {
 public:
  // `run_token` 0: the replayer refused the run, for `refusal`.
  ReplayScope(ReplayRecorder* recorder, uint64_t run_token, std::string path, std::string refusal)
      : recorder_(recorder),
        run_token_(run_token),
        path_(std::move(path)),
        refusal_(std::move(refusal)) {}

  bool replaying() const noexcept override { return true; }

  reenact_disposition BeginCall(const reenact_call_info& info,
                                reenact_call** out) noexcept override;
  reenact_code Now(std::string_view name, int64_t* unix_ns) noexcept override;

  void Sleep(int64_t) noexcept override {}

  reenact_code RandomSeed(std::string_view name, uint64_t* seed) noexcept override;
  reenact_code WantLogprobs(std::string_view name, int32_t* want) noexcept override;
  reenact_code AddComponent(const reenact_component& component) noexcept override;

  reenact_code ComponentContent(const reenact_component& own,
                                reenact_bytes* content) noexcept override;

  // What the recording said about the run stands on the tape.
  reenact_code Tag(std::string_view, std::string_view) noexcept override { return REENACT_OK; }

  reenact_code MarkIncident(const reenact_incident_info&) noexcept override { return REENACT_OK; }

  reenact_code BeginChild(std::string_view key, reenact_scope** out) noexcept override;
  // The id of the run on the tape: a host that shows it to a model shows the same again.
  void RunId(char out[27]) noexcept override;

  void EndScope() noexcept override { delete this; }

  reenact_code EndRun(int32_t end_state, std::string_view detail,
                      std::string_view output) noexcept override;

 private:
  ~ReplayScope() = default;
  // Diverged, when this run or this boundary is not to be asked about; else an empty message.
  std::string WhyNotAsked(int32_t boundary) const;
  reenact_code Read(schema::Boundary boundary, std::string_view name, uint64_t* value);

  ReplayRecorder* const recorder_;
  const uint64_t run_token_;
  const std::string path_;
  const std::string refusal_;
  std::mutex contents_mutex_;
  std::deque<std::string> contents_;  // Handed out by ComponentContent; they stay where they are.
};

class ReplayCall final : public reenact_call {
 public:
  ReplayCall(ReplayRecorder* recorder, uint64_t run_token)
      : recorder_(recorder), run_token_(run_token) {}

  // Before anything else, one of these. Serve is false for an answer that cannot be handed out.
  bool Serve(schema::OnTape answer) noexcept;
  void Diverge(std::string message) noexcept;

  reenact_code Head(int32_t, const reenact_pair*, size_t) noexcept override {
    return REENACT_INVALID_ARGUMENT;
  }

  reenact_code Chunk(std::string_view) noexcept override { return REENACT_INVALID_ARGUMENT; }

  reenact_code AttemptFailed(std::string_view) noexcept override {
    return REENACT_INVALID_ARGUMENT;
  }

  reenact_code Next(reenact_item* item) noexcept override;

  std::string_view Error() const noexcept override { return message_; }

  reenact_code End(int32_t end_state, const reenact_call_meta& meta) noexcept override;

 private:
  ~ReplayCall() = default;
  void FillItem(const schema::ExchangeItem& from, reenact_item* item);

  ReplayRecorder* const recorder_;
  const uint64_t run_token_;
  bool diverged_ = true;
  std::string message_;
  schema::OnTape answer_;
  size_t next_item_ = 0;
  uint64_t consumed_bytes_ = 0;
  std::vector<reenact_pair> headers_;  // Of the item handed out last.
};

}  // namespace reenact::recorder

#endif  // REENACT_RECORDER_REPLAY_RUN_H_
