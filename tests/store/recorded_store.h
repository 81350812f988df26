// A store in a temporary folder, and runs to put into it, for tests of the readers.

#ifndef REENACT_TESTS_STORE_RECORDED_STORE_H_
#define REENACT_TESTS_STORE_RECORDED_STORE_H_

#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>

#include "gtest/gtest.h"

#include "schema/record.h"
#include "store/format/chain.h"
#include "store/reader/store_reader.h"
#include "store/store_layout.h"
#include "store/writer/segment_writer.h"

namespace reenact::store {

class RecordedStore {
 public:
  RecordedStore() {
    char name[] = "/dev/shm/reenact-store-XXXXXX";
    layout_.root = mkdtemp(name);
    std::string why;
    EXPECT_TRUE(PrepareStore(layout_, &key_, &why)) << why;
  }

  ~RecordedStore() {
    std::error_code ignored;
    std::filesystem::remove_all(layout_.root, ignored);
  }

  RecordedStore(const RecordedStore&) = delete;
  RecordedStore& operator=(const RecordedStore&) = delete;

  const StoreLayout& layout() const { return layout_; }

  const std::string& path() const { return layout_.root; }

  const std::string& key() const { return key_; }

  // The segment's file, relative to nothing.
  std::string NewSegmentPath(int64_t unix_ms) {
    std::array<uint8_t, 10> entropy{};
    entropy[9] = ++segment_count_;
    last_id_ = schema::MakeUlid(unix_ms, entropy);
    return layout_.segment(last_id_);
  }

  std::unique_ptr<SegmentWriter> NewSegment(int64_t unix_ms = 1'700'000'000'000) {
    SegmentOptions options;
    options.path = NewSegmentPath(unix_ms);
    options.segment_id = last_id_;
    options.store_key = key_;
    std::unique_ptr<SegmentWriter> writer;
    std::string why;
    EXPECT_EQ(SegmentWriter::Open(options, &writer, &why), WriteCode::kOk) << why;
    return writer;
  }

  void Seal(SegmentWriter* writer) {
    ASSERT_EQ(writer->Seal(layout_.manifest()), WriteCode::kOk) << writer->last_error();
  }

 private:
  StoreLayout layout_;
  std::string key_;
  schema::Ulid last_id_;
  uint8_t segment_count_ = 0;
};

// Changes a file behind the back of its format.
inline void Tamper(const std::string& file, const std::string& sql) {
  chmod(file.c_str(), 0644);
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &handle), SQLITE_OK);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK)
      << (message != nullptr ? message : "");
  sqlite3_close(handle);
}

inline schema::Ulid RunId(uint8_t number) {
  std::array<uint8_t, 10> entropy{};
  entropy[0] = number;
  return schema::MakeUlid(1'700'000'000'000 + number, entropy);
}

inline schema::Moment At(int64_t ms) {
  return {.wall_ns = 1'700'000'000'000'000'000 + ms * 1'000'000, .monotonic_ns = ms * 1'000'000};
}

inline schema::Body Bytes(std::string bytes) {
  schema::Body body;
  body.bytes = std::move(bytes);
  return body;
}

inline schema::Event ModelCall(uint64_t sequence, const std::string& question,
                               const std::string& answer) {
  schema::Event event;
  event.sequence = sequence;
  event.end_sequence = sequence + 1;
  event.boundary = schema::Boundary::kModel;
  event.name = "chat";
  event.provider = "openai";
  event.endpoint = "https://api.openai.com/v1/chat/completions";
  event.request_headers = {{"content-type", "application/json"}};
  event.request =
      Bytes(R"({"model":"gpt-4o","messages":[{"role":"system","content":"You refund."},)"
            R"({"role":"user","content":")" +
            question + R"("}]})");
  event.response = Bytes(
      R"({"id":"c1","object":"chat.completion","model":"gpt-4o-2024-08-06",)"
      R"("system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"finish_reason":"stop",)"
      R"("message":{"role":"assistant","content":")" +
      answer + R"("}}],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}})");
  event.exchange = {{.kind = schema::ExchangeItemKind::kHead,
                     .offset_ns = 5,
                     .status = 200,
                     .headers = {{"content-type", "application/json"}, {"x-request-id", "r1"}}},
                    {.kind = schema::ExchangeItemKind::kBytes,
                     .offset_ns = 9,
                     .size = event.response.bytes.size()}};
  event.started = At(static_cast<int64_t>(sequence));
  event.elapsed_ns = 700'000;
  event.end_state = schema::EndState::kComplete;
  event.in_flight = 2;
  return event;
}

inline schema::Event ToolCallEvent(uint64_t sequence, const std::string& name,
                                   const std::string& request, const std::string& response) {
  schema::Event event;
  event.sequence = sequence;
  event.end_sequence = sequence + 1;
  event.boundary = schema::Boundary::kTool;
  event.scope = "turn-1";
  event.name = name;
  event.request = Bytes(request);
  event.response = Bytes(response);
  event.exchange = {{.kind = schema::ExchangeItemKind::kBytes, .size = response.size()}};
  event.started = At(static_cast<int64_t>(sequence));
  event.elapsed_ns = 1'000;
  event.end_state = schema::EndState::kComplete;
  event.meta = {{"cache", "hit"}};
  return event;
}

inline schema::Event RandomDraw(uint64_t sequence, uint64_t seed) {
  schema::Event event;
  event.sequence = sequence;
  event.end_sequence = sequence;
  event.boundary = schema::Boundary::kRandom;
  event.name = "draw";
  event.value = seed;
  event.started = At(static_cast<int64_t>(sequence));
  event.end_state = schema::EndState::kComplete;
  return event;
}

// A whole run with one event of each kind, a component and an end.
inline schema::RecordedRun SampleRun(uint8_t number, const std::string& trace_id = "") {
  schema::RecordedRun recorded;
  recorded.run.id = RunId(number);
  recorded.run.service = "refund-agent";
  recorded.run.entry = "POST /refund";
  recorded.run.input = Bytes(R"({"order":"A-7","amount":12})");
  recorded.run.trace_id = trace_id;
  recorded.run.tags = {{"tenant", "acme"}, {"number", std::to_string(number)}};
  recorded.run.process = {{"host", "h1"}, {"pid", "4711"}};
  recorded.run.started = At(number * 1000);
  schema::Component prompt;
  prompt.kind = "prompt_template";
  prompt.name = "refund";
  prompt.version = "v14";
  prompt.content = Bytes("You refund.");
  prompt.at = At(number * 1000);
  recorded.components = {prompt};
  const uint64_t first = uint64_t{number} * 100;
  recorded.events = {
      ModelCall(first + 1, "Please refund order A-7", "Refunding 120 euros"),
      ToolCallEvent(first + 3, "lookup_order", R"({"id":"A-7"})", R"({"total":"120.00"})"),
      RandomDraw(first + 5, 18446744073709551615U)};
  for (schema::Event& event : recorded.events) event.run = recorded.run.id;
  recorded.end = schema::RunEnd{.run = recorded.run.id,
                                .at = At(number * 1000 + 900),
                                .detail = "",
                                .output = Bytes("refunded 120")};
  recorded.state = schema::EndState::kComplete;
  return recorded;
}

inline void WriteRun(SegmentWriter* writer, const schema::RecordedRun& recorded) {
  const auto check = [&](WriteCode code) {
    ASSERT_EQ(code, WriteCode::kOk) << writer->last_error();
  };
  check(writer->AddRun(recorded.run));
  for (const auto& component : recorded.components)
    check(writer->AddComponent(recorded.run.id, component));
  for (const auto& event : recorded.events) check(writer->AddEvent(event));
  for (const auto& gap : recorded.gaps) check(writer->AddGap(gap));
  for (const auto& mark : recorded.marks) check(writer->AddMark(mark));
  if (recorded.end) check(writer->AddRunEnd(*recorded.end));
  check(writer->Commit());
}

inline void ExpectSameBody(const schema::Body& expected, const schema::Body& actual) {
  EXPECT_EQ(expected.bytes, actual.bytes);
  EXPECT_EQ(expected.redacted, actual.redacted);
  EXPECT_EQ(expected.cut, actual.cut);
  EXPECT_EQ(expected.original_size, actual.original_size);
  if (expected.salt) {
    EXPECT_EQ(expected.salt, actual.salt);
    EXPECT_EQ(expected.original_digest, actual.original_digest);
  } else if (actual.salt) {
    EXPECT_EQ(SaltedOriginalDigest({reinterpret_cast<const char*>(actual.salt->data()), 32},
                                   expected.original_digest),
              actual.original_digest);
  }
}

inline void ExpectSameEvent(const schema::Event& expected, const schema::Event& actual) {
  SCOPED_TRACE(expected.sequence);
  EXPECT_EQ(expected.sequence, actual.sequence);
  EXPECT_EQ(expected.end_sequence, actual.end_sequence);
  EXPECT_EQ(expected.run, actual.run);
  EXPECT_EQ(expected.scope, actual.scope);
  EXPECT_EQ(expected.boundary, actual.boundary);
  EXPECT_EQ(expected.name, actual.name);
  EXPECT_EQ(expected.provider, actual.provider);
  EXPECT_EQ(expected.endpoint, actual.endpoint);
  EXPECT_EQ(expected.request_headers, actual.request_headers);
  ExpectSameBody(expected.request, actual.request);
  ExpectSameBody(expected.response, actual.response);
  EXPECT_EQ(expected.exchange, actual.exchange);
  EXPECT_EQ(expected.value, actual.value);
  EXPECT_EQ(expected.started, actual.started);
  EXPECT_EQ(expected.elapsed_ns, actual.elapsed_ns);
  EXPECT_EQ(expected.end_state, actual.end_state);
  EXPECT_EQ(expected.end_detail, actual.end_detail);
  EXPECT_EQ(expected.attempt, actual.attempt);
  EXPECT_EQ(expected.in_flight, actual.in_flight);
  EXPECT_EQ(expected.meta, actual.meta);
}

inline void ExpectSameRun(const schema::RecordedRun& expected, const schema::RecordedRun& actual) {
  SCOPED_TRACE(ToString(expected.run.id));
  EXPECT_EQ(expected.run.id, actual.run.id);
  EXPECT_EQ(expected.run.parent, actual.run.parent);
  EXPECT_EQ(expected.run.origin, actual.run.origin);
  EXPECT_EQ(expected.run.service, actual.run.service);
  EXPECT_EQ(expected.run.entry, actual.run.entry);
  ExpectSameBody(expected.run.input, actual.run.input);
  EXPECT_EQ(expected.run.trace_id, actual.run.trace_id);
  EXPECT_EQ(expected.run.tags, actual.run.tags);
  EXPECT_EQ(expected.run.process, actual.run.process);
  EXPECT_EQ(expected.run.started, actual.run.started);
  ASSERT_EQ(expected.end.has_value(), actual.end.has_value());
  if (expected.end) {
    EXPECT_EQ(expected.end->run, actual.end->run);
    EXPECT_EQ(expected.end->at, actual.end->at);
    EXPECT_EQ(expected.end->state, actual.end->state);
    EXPECT_EQ(expected.end->detail, actual.end->detail);
    ExpectSameBody(expected.end->output, actual.end->output);
  }
  EXPECT_EQ(expected.state, actual.state);
  ASSERT_EQ(expected.components.size(), actual.components.size());
  for (size_t i = 0; i < expected.components.size(); ++i) {
    EXPECT_EQ(expected.components[i].kind, actual.components[i].kind);
    EXPECT_EQ(expected.components[i].name, actual.components[i].name);
    EXPECT_EQ(expected.components[i].version, actual.components[i].version);
    EXPECT_EQ(expected.components[i].at, actual.components[i].at);
    ExpectSameBody(expected.components[i].content, actual.components[i].content);
  }
  ASSERT_EQ(expected.events.size(), actual.events.size());
  for (size_t i = 0; i < expected.events.size(); ++i)
    ExpectSameEvent(expected.events[i], actual.events[i]);
  ASSERT_EQ(expected.gaps.size(), actual.gaps.size());
  for (size_t i = 0; i < expected.gaps.size(); ++i) {
    EXPECT_EQ(expected.gaps[i].reason, actual.gaps[i].reason);
    EXPECT_EQ(expected.gaps[i].count, actual.gaps[i].count);
    EXPECT_EQ(expected.gaps[i].first_sequence, actual.gaps[i].first_sequence);
    EXPECT_EQ(expected.gaps[i].last_sequence, actual.gaps[i].last_sequence);
  }
  ASSERT_EQ(expected.marks.size(), actual.marks.size());
  for (size_t i = 0; i < expected.marks.size(); ++i) {
    EXPECT_EQ(expected.marks[i].id, actual.marks[i].id);
    EXPECT_EQ(expected.marks[i].run, actual.marks[i].run);
    EXPECT_EQ(expected.marks[i].title, actual.marks[i].title);
  }
}

inline std::unique_ptr<StoreReader> OpenStore(const std::string& path) {
  auto reader = StoreReader::Open(path);
  EXPECT_TRUE(reader.ok()) << reader.status();
  return reader.ok() ? *std::move(reader) : nullptr;
}

}  // namespace reenact::store

#endif  // REENACT_TESTS_STORE_RECORDED_STORE_H_
