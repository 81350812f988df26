// A recorder on a store of its own, through the C ABI, and what a reader finds in it afterwards.

#ifndef REENACT_TESTS_RECORDER_RECORDER_FIXTURE_H_
#define REENACT_TESTS_RECORDER_RECORDER_FIXTURE_H_

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

#include "reenact/reenact.h"
#include "schema/record.h"
#include "store/reader/store_reader.h"
#include "tests/support/temp_folder.h"

namespace reenact::testing {

constexpr int64_t kPatienceMs = 30'000;

inline reenact_bytes B(std::string_view text) {
  return {text.data(), text.size()};
}

template <class Struct>
Struct Sized() {
  Struct value{};
  value.struct_size = sizeof(Struct);
  return value;
}

inline std::string OpenError() {
  char text[1024];
  reenact_error(nullptr, text, sizeof(text));
  return text;
}

inline std::string ErrorOf(reenact_call* call) {
  char text[4096];
  reenact_call_error(call, text, sizeof(text));
  return text;
}

inline reenact_call_info ToolCall(std::string_view name, std::string_view request) {
  auto info = Sized<reenact_call_info>();
  info.boundary = REENACT_TOOL;
  info.name = B(name);
  info.request = B(request);
  return info;
}

inline reenact_call_info ModelCall(std::string_view request) {
  auto info = Sized<reenact_call_info>();
  info.boundary = REENACT_MODEL;
  info.name = B("chat");
  info.provider = B("openai");
  info.endpoint = B("https://api.example.com/v1/chat/completions");
  info.request = B(request);
  return info;
}

class RecorderTest : public ::testing::Test {
 protected:
  RecorderTest() {
    for (const char* name : {"REENACT_MODE", "REENACT_STORE", "REENACT_REPLAY_SOCKET"}) {
      unsetenv(name);
    }
  }

  ~RecorderTest() override { reenact_close(recorder_, kPatienceMs); }

  reenact_options Options() const {
    auto options = Sized<reenact_options>();
    options.store = B(store_path_);
    options.service = B("refund-agent");
    options.mode = REENACT_MODE_RECORD;
    return options;
  }

  void Open(const reenact_options& options) {
    ASSERT_EQ(reenact_open(&options, &recorder_), REENACT_OK) << OpenError();
    ASSERT_NE(recorder_, nullptr);
  }

  reenact_scope* Begin(std::string_view entry = "POST /refund", std::string_view input = "in") {
    auto info = Sized<reenact_run_info>();
    info.entry = B(entry);
    info.input = B(input);
    reenact_scope* scope = nullptr;
    EXPECT_EQ(reenact_run_begin(recorder_, &info, &scope), REENACT_OK);
    return scope;
  }

  reenact_code Finish(reenact_scope* run, std::string_view output = "out") {
    return reenact_run_end(run, REENACT_END_COMPLETE, {}, B(output));
  }

  // Begins, answers and ends one live call.
  reenact_code Call(reenact_scope* scope, const reenact_call_info& info, std::string_view answer) {
    reenact_call* call = nullptr;
    EXPECT_EQ(reenact_call_begin(scope, &info, &call), REENACT_LIVE);
    reenact_call_chunk(call, B(answer));
    return reenact_call_end(call, REENACT_END_COMPLETE, nullptr);
  }

  void Close() {
    EXPECT_EQ(reenact_close(recorder_, kPatienceMs), REENACT_OK);
    recorder_ = nullptr;
  }

  // Every run in the store, oldest first.
  std::vector<schema::RecordedRun> Runs() const {
    std::vector<schema::RecordedRun> runs;
    auto reader = store::StoreReader::Open(store_path_);
    if (!reader.ok()) {
      ADD_FAILURE() << reader.status().ToString();
      return runs;
    }
    auto summaries = (*reader)->ListRuns({});
    if (!summaries.ok()) {
      ADD_FAILURE() << summaries.status().ToString();
      return runs;
    }
    for (const std::string& problem : (*reader)->problems()) ADD_FAILURE() << problem;
    for (const store::RunSummary& summary : *summaries) {
      auto run = (*reader)->LoadRun(summary.id, {});
      if (run.ok()) {
        runs.push_back(*std::move(run));
      } else {
        ADD_FAILURE() << run.status().ToString();
      }
    }
    return runs;
  }

  schema::RecordedRun OnlyRun() const {
    std::vector<schema::RecordedRun> runs = Runs();
    EXPECT_EQ(runs.size(), 1u);
    return runs.empty() ? schema::RecordedRun() : std::move(runs.front());
  }

  reenact_metrics Metrics() const {
    auto metrics = Sized<reenact_metrics>();
    EXPECT_EQ(reenact_get_metrics(recorder_, &metrics), REENACT_OK);
    return metrics;
  }

  const TempFolder folder_;
  const std::string store_path_ = folder_.File("store");
  reenact_recorder* recorder_ = nullptr;
};

}  // namespace reenact::testing

#endif  // REENACT_TESTS_RECORDER_RECORDER_FIXTURE_H_
