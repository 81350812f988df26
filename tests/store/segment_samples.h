// Runs and events for tests of the segment writer, the same on every call.

#ifndef REENACT_TESTS_STORE_SEGMENT_SAMPLES_H_
#define REENACT_TESTS_STORE_SEGMENT_SAMPLES_H_

#include <memory>
#include <string>

#include "gtest/gtest.h"

#include "schema/record.h"
#include "store/writer/segment_writer.h"

namespace reenact::testing {

inline std::string SampleKey() {
  return std::string(32, 'k');
}

inline schema::Ulid SampleId(uint8_t number) {
  schema::Ulid id;
  id.bytes[0] = 1;
  id.bytes[15] = number;
  return id;
}

inline schema::Run SampleRun(uint8_t number = 1) {
  schema::Run run;
  run.id = SampleId(number);
  run.service = "refund-agent";
  run.entry = "POST /refund";
  run.input.bytes = R"({"order":4711})";
  run.trace_id = "0af7651916cd43dd8448eb211c80319c";
  run.tags = {{"tenant", "acme"}, {"env", "prod"}};
  run.process = {{"host", "db-7"}, {"pid", "4242"}};
  run.started = {1'700'000'000'000'000'000, 99};
  return run;
}

inline schema::Event SampleEvent(uint64_t sequence, uint8_t run = 1) {
  schema::Event event;
  event.sequence = sequence;
  event.end_sequence = sequence + 1;
  event.run = SampleId(run);
  event.scope = "turn-1";
  event.boundary = schema::Boundary::kModel;
  event.name = "chat";
  event.provider = "openai";
  event.endpoint = "https://api.example/v1/chat";
  event.request_headers = {{"content-type", "application/json"}};
  event.request.bytes = R"({"model":"m","messages":[{"role":"user","content":"question )" +
                        std::to_string(sequence) + R"("}]})";
  event.response.bytes =
      R"({"choices":[{"message":{"content":"answer )" + std::to_string(sequence) + R"("}}]})";
  event.exchange = {{.kind = schema::ExchangeItemKind::kHead,
                     .offset_ns = 5,
                     .size = 0,
                     .status = 200,
                     .headers = {{"content-type", "application/json"}},
                     .detail = ""},
                    {.kind = schema::ExchangeItemKind::kBytes,
                     .offset_ns = 9,
                     .size = event.response.bytes.size(),
                     .status = 0,
                     .headers = {},
                     .detail = ""}};
  event.started = {1'700'000'000'000'000'100, 123};
  event.elapsed_ns = 5'000'000;
  event.end_state = schema::EndState::kComplete;
  event.attempt = 1;
  event.in_flight = 3;
  event.meta = {{"cache", "miss"}};
  return event;
}

inline store::SegmentOptions SampleOptions(const std::string& path) {
  store::SegmentOptions options;
  options.path = path;
  options.store_key = SampleKey();
  options.segment_id = SampleId(200);
  return options;
}

// Null, with a failed test, when it cannot be opened.
inline std::unique_ptr<store::SegmentWriter> OpenWriter(const store::SegmentOptions& options) {
  std::unique_ptr<store::SegmentWriter> writer;
  std::string why;
  EXPECT_EQ(store::SegmentWriter::Open(options, &writer, &why), store::WriteCode::kOk) << why;
  return writer;
}

}  // namespace reenact::testing

#endif  // REENACT_TESTS_STORE_SEGMENT_SAMPLES_H_
