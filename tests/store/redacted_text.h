// What tests of redaction share: a text in all of its disguises, a run that says it everywhere, and
// searches of every byte of a store.

#ifndef REENACT_TESTS_STORE_REDACTED_TEXT_H_
#define REENACT_TESTS_STORE_REDACTED_TEXT_H_

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "store/reader/bundle.h"
#include "store/reader/incidents.h"
#include "store/reader/redact_store.h"
#include "store/reader/verify.h"
#include "tests/store/file_bytes.h"
#include "tests/store/recorded_store.h"

namespace reenact::store {

// Encodings change it, and an index for search holds its first word as it is.
inline constexpr char kSecret[] = "zebulon quigley/4711";
inline constexpr char kFirstWord[] = "zebulon";

// Every byte of every file of a store, by path.
inline std::map<std::string, std::string> FilesOf(const std::string& root) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.is_regular_file())
      files[entry.path().string()] = testing::FileBytes(entry.path().string());
  }
  return files;
}

// The files that hold `text`, names only.
inline std::vector<std::string> FilesWith(const std::string& root, const std::string& text) {
  std::vector<std::string> names;
  for (const auto& [path, bytes] : FilesOf(root)) {
    if (bytes.find(text) != std::string::npos)
      names.push_back(std::filesystem::path(path).filename().string());
  }
  return names;
}

inline RedactionOptions ErasureOf(const std::string& text) {
  RedactionOptions options;
  options.policy.secrets = {text};
  return options;
}

inline RedactionReport RedactAll(const std::string& path, const RedactionOptions& options) {
  auto report = RedactStore(path, options);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *std::move(report) : RedactionReport();
}

inline void ExpectSound(const std::string& path) {
  const auto report = VerifyStore(path, {});
  ASSERT_TRUE(report.ok()) << report.status();
  for (const VerifyFinding& finding : report->findings)
    ADD_FAILURE() << finding.segment << ": " << finding.record << ": " << finding.problem;
}

// The disguises in which it travels, and by which of their bytes each is found.
struct Disguise {
  std::string text;
  std::string trace;
};

inline std::vector<Disguise> Disguises() {
  return {{kSecret, kFirstWord},
          {"zebulon%20quigley%2F4711", kFirstWord},
          {R"(zebulon quigley\/4711)", kFirstWord},
          {"emVidWxvbiBxdWlnbGV5LzQ3MTE=", "emVidWxvbiBxdWlnbGV5"}};
}

// A run that says `text` in every place that a run has.
inline schema::RecordedRun RunThatSays(const std::string& text, uint8_t number) {
  schema::RecordedRun said = SampleRun(number);
  said.run.service = "service of " + text;
  said.run.entry = "POST /" + text;
  said.run.input = Bytes("input " + text);
  said.run.tags = {{"tenant", text}, {"tag " + text, "x"}};
  said.run.process = {{"host", text}, {"argv " + text, "y"}};
  said.components[0].kind = "kind " + text;
  said.components[0].name = "name " + text;
  said.components[0].version = "version " + text;
  said.components[0].content = Bytes("content " + text);
  said.events = {ModelCall(1, "from " + text, "to " + text)};
  for (uint64_t boundary = 2; boundary <= 6; ++boundary) {
    schema::Event event = ToolCallEvent(2 * boundary, "lookup " + text, R"({"id":")" + text + "\"}",
                                        R"({"total":")" + text + "\"}");
    event.boundary = static_cast<schema::Boundary>(boundary);
    said.events.push_back(event);
  }
  for (schema::Event& event : said.events) {
    event.run = said.run.id;
    event.scope = "turn-1/" + text;
    event.provider = "provider " + text;
    event.endpoint = "https://" + text + "@host.example/v1/" + text + "?q=" + text + "#" + text;
    event.request_headers = {{"user-agent", text}, {"x-" + text, "z"}};
    event.end_detail = "detail " + text;
    event.meta = {{"fact", text}, {"fact " + text, "w"}};
    event.exchange.insert(event.exchange.begin(),
                          {.kind = schema::ExchangeItemKind::kAttemptEnd, .detail = "no " + text});
    event.exchange.insert(event.exchange.begin(), {.kind = schema::ExchangeItemKind::kHead,
                                                   .status = 500,
                                                   .headers = {{"via", text}, {text, "v"}}});
  }
  said.gaps = {{.at = At(number * 1000 + 5),
                .reason = "reason " + text,
                .count = 1,
                .first_sequence = 1,
                .last_sequence = 1}};
  schema::Mark mark;
  mark.id = RunId(static_cast<uint8_t>(200 + number));
  mark.run = said.run.id;
  mark.title = "title " + text;
  mark.notes = "notes " + text;
  mark.at = At(number * 1000 + 6);
  said.marks = {mark};
  said.end->detail = "end " + text;
  said.end->output = Bytes("output " + text);
  return said;
}

// Everything that readers say of a store, as one text.
inline std::string EverythingIn(const std::string& path) {
  const auto store = OpenStore(path);
  const auto summaries = store->ListRuns({});
  EXPECT_TRUE(summaries.ok()) << summaries.status();
  if (!summaries.ok()) return "";
  std::string everything;
  for (const RunSummary& summary : *summaries) {
    auto run = store->LoadRun(summary.id, {.bodies = true});
    EXPECT_TRUE(run.ok()) << run.status();
    if (!run.ok()) continue;
    everything += run->run.input.bytes + run->end->output.bytes;
    for (const schema::Event& event : run->events)
      everything += event.request.bytes + event.response.bytes;
    Bundle bundle;
    bundle.runs.push_back(*std::move(run));
    everything += ToJsonl(bundle);
  }
  return everything;
}

inline bool HoldsAny(const std::string& text) {
  const auto disguises = Disguises();
  return std::any_of(disguises.begin(), disguises.end(), [&](const Disguise& disguise) {
    return text.find(disguise.trace) != std::string::npos;
  });
}

inline void ExpectNoTrace(const std::string& root) {
  for (const Disguise& disguise : Disguises()) {
    for (const std::string& file : FilesWith(root, disguise.trace))
      ADD_FAILURE() << file << " holds " << disguise.text;
  }
}

// A sealed segment with a run that holds the secret in a short body, which is stored as it is, and
// one without it.
class StoreRedaction : public ::testing::Test {
 protected:
  StoreRedaction() {
    schema::RecordedRun told = SampleRun(1);
    told.run.input = Bytes(kSecret);
    auto writer = store_.NewSegment();
    WriteRun(writer.get(), told);
    WriteRun(writer.get(), SampleRun(2));
    store_.Seal(writer.get());
    segment_ = writer->path();
  }

  RecordedStore store_;
  std::string segment_;
};

}  // namespace reenact::store

#endif  // REENACT_TESTS_STORE_REDACTED_TEXT_H_
