#include "store/ring/ring_record.h"

#include "gtest/gtest.h"

namespace reenact::store {
namespace {

schema::Ulid SomeUlid(uint8_t last) {
  schema::Ulid ulid;
  ulid.bytes[0] = 1;
  ulid.bytes[15] = last;
  return ulid;
}

schema::Body CutBody() {
  schema::Body body;
  body.cut = true;
  body.redacted = true;
  body.original_size = uint64_t{1} << 40;
  body.original_digest[31] = 9;
  return body;
}

schema::Event SomeCall() {
  schema::Event event;
  event.run = SomeUlid(1);
  event.scope = "turn-2/call_a7";
  event.boundary = schema::Boundary::kTool;
  event.name = "lookup_order";
  event.provider = "openai";
  event.endpoint = "https://host/v1";
  event.request_headers = {{"content-type", "application/json"}, {"x", std::string("\0\xff", 2)}};
  event.started = {-5, 17};
  event.attempt = 3;
  event.in_flight = 4;
  event.meta = {{"cache", "hit"}};
  return event;
}

TEST(RingRecord, CallBeginComesBackWithItsTail) {
  const schema::Event event = SomeCall();
  std::string payload;
  EncodeCallBegin(event, {"/dev/shm/x.1.spill", 77, true, 99, {}}, &payload);
  payload += std::string("tail\0bytes", 10);
  const auto decoded = DecodeCallBegin(payload);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->event.run, event.run);
  EXPECT_EQ(decoded->event.scope, event.scope);
  EXPECT_EQ(decoded->event.boundary, event.boundary);
  EXPECT_EQ(decoded->event.name, event.name);
  EXPECT_EQ(decoded->event.provider, event.provider);
  EXPECT_EQ(decoded->event.endpoint, event.endpoint);
  EXPECT_EQ(decoded->event.request_headers, event.request_headers);
  EXPECT_EQ(decoded->event.started, event.started);
  EXPECT_EQ(decoded->event.attempt, 3u);
  EXPECT_EQ(decoded->event.in_flight, 4u);
  EXPECT_EQ(decoded->event.meta, event.meta);
  EXPECT_EQ(decoded->event.request.bytes, std::string("tail\0bytes", 10));
  EXPECT_EQ(decoded->spilled.path, "/dev/shm/x.1.spill");
  EXPECT_TRUE(decoded->spilled.cut);
  EXPECT_EQ(decoded->spilled.original_size, 99u);
}

TEST(RingRecord, CallEndComesBack) {
  CallEnd end;
  end.begin_sequence = 12;
  end.elapsed_ns = 1'000'000'000'000;
  end.state = schema::EndState::kProviderError;
  end.detail = "overloaded_error";
  end.meta = {{"a", "b"}};
  end.exchange = "any bytes";
  std::string payload;
  EncodeCallEnd(end, &payload);
  payload += "response";
  const auto decoded = DecodeCallEnd(payload);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->end.begin_sequence, 12u);
  EXPECT_EQ(decoded->end.elapsed_ns, end.elapsed_ns);
  EXPECT_EQ(decoded->end.state, end.state);
  EXPECT_EQ(decoded->end.detail, end.detail);
  EXPECT_EQ(decoded->end.meta, end.meta);
  EXPECT_EQ(decoded->end.exchange, end.exchange);
  EXPECT_EQ(decoded->response, "response");
}

TEST(RingRecord, RunAndItsEndComeBack) {
  schema::Run run;
  run.id = SomeUlid(1);
  run.parent = SomeUlid(2);
  run.origin = schema::RunOrigin::kReplay;
  run.service = "refunds";
  run.entry = "POST /refund";
  run.trace_id = "abc";
  run.tags = {{"t", "v"}};
  run.process = {{"pid", "7"}};
  run.started = {1, 2};
  run.input = CutBody();
  std::string payload;
  EncodeRun(run, &payload);
  payload += "input";
  const auto decoded = DecodeRun(payload);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->id, run.id);
  EXPECT_EQ(decoded->parent, run.parent);
  EXPECT_EQ(decoded->origin, run.origin);
  EXPECT_EQ(decoded->tags, run.tags);
  EXPECT_EQ(decoded->process, run.process);
  EXPECT_EQ(decoded->started, run.started);
  EXPECT_EQ(decoded->input.bytes, "input");
  EXPECT_TRUE(decoded->input.cut && decoded->input.redacted);
  EXPECT_EQ(decoded->input.original_size, run.input.original_size);
  EXPECT_EQ(decoded->input.original_digest, run.input.original_digest);

  schema::RunEnd end;
  end.run = run.id;
  end.at = {3, 4};
  end.state = schema::EndState::kError;
  end.detail = "threw";
  payload.clear();
  EncodeRunEnd(end, &payload);
  payload += "output";
  const auto decoded_end = DecodeRunEnd(payload);
  ASSERT_TRUE(decoded_end);
  EXPECT_EQ(decoded_end->run, run.id);
  EXPECT_EQ(decoded_end->at, end.at);
  EXPECT_EQ(decoded_end->state, end.state);
  EXPECT_EQ(decoded_end->detail, "threw");
  EXPECT_EQ(decoded_end->output.bytes, "output");
}

TEST(RingRecord, SmallRecordsComeBack) {
  std::string payload;
  schema::Component component{.kind = "prompt_template", .name = "n", .version = "v", .at = {5, 6}};
  EncodeComponent(SomeUlid(3), component, &payload);
  payload += "content";
  const auto decoded = DecodeComponent(payload);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->run, SomeUlid(3));
  EXPECT_EQ(decoded->component.kind, "prompt_template");
  EXPECT_EQ(decoded->component.content.bytes, "content");
  EXPECT_EQ(decoded->component.at, component.at);

  payload.clear();
  schema::Event reading = SomeCall();
  reading.boundary = schema::Boundary::kClock;
  reading.value = UINT64_MAX;
  reading.end_state = schema::EndState::kComplete;
  EncodeReading(reading, &payload);
  const auto decoded_reading = DecodeReading(payload);
  ASSERT_TRUE(decoded_reading);
  EXPECT_EQ(decoded_reading->value, UINT64_MAX);
  EXPECT_EQ(decoded_reading->scope, reading.scope);

  payload.clear();
  EncodeMark({SomeUlid(4), SomeUlid(1), "title", -1, "notes", {1, 1}}, &payload);
  const auto mark = DecodeMark(payload);
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->severity, -1);
  EXPECT_EQ(mark->notes, "notes");

  payload.clear();
  EncodeTags(SomeUlid(1), {{"k", ""}, {"", "v"}}, &payload);
  const auto tags = DecodeTags(payload);
  ASSERT_TRUE(tags);
  EXPECT_EQ(tags->tags, (schema::Tags{{"k", ""}, {"", "v"}}));
}

TEST(RingRecord, CutShortOrDamagedIsRefusedOrHarmless) {
  std::string payload;
  EncodeMark({SomeUlid(4), SomeUlid(1), "title", 2, "notes", {1, 1}}, &payload);
  for (size_t size = 0; size < payload.size(); ++size) {
    EXPECT_FALSE(DecodeMark(std::string_view(payload).substr(0, size))) << size;
  }
  EXPECT_FALSE(DecodeMark(payload + "x")) << "a mark has no tail";
  payload.clear();
  EncodeCallBegin(SomeCall(), {}, &payload);
  for (size_t i = 0; i < payload.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = payload;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      DecodeCallBegin(damaged);
      DecodeCallEnd(damaged);
      DecodeRun(damaged);
      DecodeTags(damaged);
    }
  }
}

TEST(RingRecord, AnUnknownEndStateIsRefused) {
  CallEnd end;
  end.begin_sequence = 1;
  std::string payload;
  EncodeCallEnd(end, &payload);
  payload[2] = 77;
  EXPECT_FALSE(DecodeCallEnd(payload));
}

}  // namespace
}  // namespace reenact::store
