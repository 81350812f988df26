// A run's records, as a recorder would append them, and a folder for the store they end up in.

#ifndef REENACT_TESTS_STORE_RECORDING_H_
#define REENACT_TESTS_STORE_RECORDING_H_

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "schema/record.h"
#include "store/ring/ring_record.h"
#include "store/store_layout.h"

namespace reenact::store {

class DiskFolder {
 public:
  DiskFolder() {
    std::string name = std::filesystem::temp_directory_path() / "reenact-store-XXXXXX";
    path_ = mkdtemp(name.data());
  }

  ~DiskFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  DiskFolder(const DiskFolder&) = delete;
  DiskFolder& operator=(const DiskFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

// The files below `folder` (or `folder` itself) that hold `text`.
inline std::vector<std::string> FilesWith(const std::string& folder, std::string_view text) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, ignored)) {
    if (!entry.is_regular_file()) continue;
    if (ReadBytes(entry.path()).find(text) != std::string::npos) found.push_back(entry.path());
  }
  return found;
}

// Appends one record; 0 when it was dropped.
using AppendRecord =
    std::function<uint64_t(RecordKind kind, std::string_view head, std::string_view tail)>;

class Recording {
 public:
  explicit Recording(AppendRecord append, std::string service = "refunds")
      : append_(std::move(append)), service_(std::move(service)), run_(NewUlid()) {}

  const schema::Ulid& run() const { return run_; }

  void SetAppend(AppendRecord append) { append_ = std::move(append); }

  uint64_t Begin(std::string_view input = "input") {
    schema::Run run;
    run.id = run_;
    run.service = service_;
    run.entry = "POST /refund";
    run.started = {WallNowNs(), MonotonicNowNs()};
    std::string head;
    EncodeRun(run, &head);
    return append_(RecordKind::kRun, head, input);
  }

  uint64_t Component(std::string_view content) {
    schema::Component component{.kind = "prompt_template", .name = "refund", .version = "v1"};
    std::string head;
    EncodeComponent(run_, component, &head);
    return append_(RecordKind::kComponent, head, content);
  }

  uint64_t BeginCall(std::string_view request, const SpilledBody& spilled = {},
                     const schema::Headers& headers = {}) {
    schema::Event event;
    event.run = run_;
    event.boundary = schema::Boundary::kModel;
    event.name = "chat";
    event.provider = "openai";
    event.endpoint = "https://host/v1/chat/completions";
    event.request_headers = headers;
    event.started = {WallNowNs(), MonotonicNowNs()};
    std::string head;
    EncodeCallBegin(event, spilled, &head);
    return append_(RecordKind::kCallBegin, head, request);
  }

  // One read of the whole body, behind a head with these headers.
  uint64_t EndCall(uint64_t begin, std::string_view response, const schema::Headers& headers = {},
                   const SpilledBody& spilled = {}) {
    schema::ExchangeItem head_item;
    head_item.kind = schema::ExchangeItemKind::kHead;
    head_item.status = 200;
    head_item.headers = headers;
    schema::ExchangeItem bytes;
    bytes.size = spilled.cut ? spilled.original_size
                             : (spilled.path.empty() ? response.size() : spilled.size);
    CallEnd end;
    end.begin_sequence = begin;
    end.elapsed_ns = 5;
    end.exchange = schema::EncodeExchange({head_item, bytes});
    end.spilled = spilled;
    std::string head;
    EncodeCallEnd(end, &head);
    return append_(RecordKind::kCallEnd, head, response);
  }

  uint64_t Call(std::string_view request, std::string_view response) {
    const uint64_t begin = BeginCall(request);
    return begin == 0 ? 0 : EndCall(begin, response);
  }

  uint64_t Read(uint64_t value) {
    schema::Event event;
    event.run = run_;
    event.boundary = schema::Boundary::kClock;
    event.name = "today";
    event.value = value;
    event.started = {WallNowNs(), MonotonicNowNs()};
    event.end_state = schema::EndState::kComplete;
    std::string head;
    EncodeReading(event, &head);
    return append_(RecordKind::kReading, head, {});
  }

  uint64_t End(std::string_view output = "output") {
    schema::RunEnd end;
    end.run = run_;
    end.at = {WallNowNs(), MonotonicNowNs()};
    std::string head;
    EncodeRunEnd(end, &head);
    return append_(RecordKind::kRunEnd, head, output);
  }

 private:
  AppendRecord append_;
  std::string service_;
  schema::Ulid run_;
};

}  // namespace reenact::store

#endif  // REENACT_TESTS_STORE_RECORDING_H_
