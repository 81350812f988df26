// No way into the store is without redaction: a value that the host names as secret, in every place
// that the C ABI has for text, in each of its disguises, whole and cut by reads, small and spilled.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "store/reader/incidents.h"
#include "tests/recorder/recorder_fixture.h"

namespace reenact::testing {
namespace {

constexpr char kNamedSecret[] = "zebulon quigley/4711";
// The last two are found by parts of them that nothing else has.
constexpr const char* kSecretForms[] = {kNamedSecret, "zebulon%20quigley%2F4711",
                                        R"(zebulon quigley\/4711)", "emVidWxvbiBxdWlnbGV5LzQ3MTE="};
constexpr const char* kSecretTraces[] = {"zebulon", "emVidWxvbiBxdWlnbGV5"};

class SecretPlaces : public RecorderTest {
 protected:
  // Says `text` in every place of a run, and marks it.
  void Say(const std::string& text) {
    auto component = Sized<reenact_component>();
    component.kind = component.name = component.version = component.content = B(text);
    const reenact_pair pairs[] = {{B("accept"), B(text)}, {B(text), B("x")}};
    auto info = Sized<reenact_run_info>();
    info.entry = info.input = B(text);
    info.components = &component;
    info.component_count = 1;
    info.tags = pairs;
    info.tag_count = 2;
    reenact_scope* run = nullptr;
    ASSERT_EQ(reenact_run_begin(recorder_, &info, &run), REENACT_OK);
    reenact_tag(run, B("later " + text), B(text));
    reenact_scope* part = nullptr;
    ASSERT_EQ(reenact_scope_begin(run, B(text), &part), REENACT_OK);
    for (const int32_t boundary : {REENACT_MODEL, REENACT_TOOL, REENACT_RETRIEVAL}) {
      Exchange(part, boundary, text, 0);
    }
    Exchange(part, REENACT_MODEL, text, 1'100'000);  // Beyond what the ring holds: spilled.
    int64_t now = 0;
    uint64_t seed = 0;
    int32_t want = 0;
    reenact_now(part, B(text), &now);
    reenact_random_seed(part, B(text), &seed);
    reenact_want_logprobs(part, B(text), &want);
    auto incident = Sized<reenact_incident_info>();
    incident.title = incident.notes = B(text);
    reenact_incident(run, &incident);
    reenact_scope_end(part);
    EXPECT_EQ(reenact_run_end(run, REENACT_END_ERROR, B(text), B(text)), REENACT_OK);
  }

  void Exchange(reenact_scope* scope, int32_t boundary, const std::string& text, size_t padding) {
    const std::string body = std::string(padding, '.') + "<" + text + ">";
    const std::string endpoint = "https://user@example.com/" + text + "?q=" + text;
    const reenact_pair headers[] = {{B("user-agent"), B(text)}, {B("x-request-id"), B(text)}};
    auto info = Sized<reenact_call_info>();
    info.boundary = boundary;
    info.name = info.provider = B(text);
    info.endpoint = B(endpoint);
    info.request = B(body);
    info.headers = headers;
    info.header_count = 2;
    reenact_call* call = nullptr;
    ASSERT_EQ(reenact_call_begin(scope, &info, &call), REENACT_LIVE);
    EXPECT_EQ(reenact_call_head(call, 500, headers, 2), REENACT_OK);
    EXPECT_EQ(reenact_call_chunk(call, B(body)), REENACT_OK);
    EXPECT_EQ(reenact_call_attempt_failed(call, B(text)), REENACT_OK);
    EXPECT_EQ(reenact_call_head(call, 200, headers, 2), REENACT_OK);
    // In reads that cut it.
    for (size_t at = 0; at < body.size();) {
      const size_t size = at < padding ? std::min<size_t>(padding - at + 3, 100'000) : 7;
      EXPECT_EQ(reenact_call_chunk(call, B(body.substr(at, size))), REENACT_OK);
      at += size;
    }
    const reenact_pair facts[] = {{B("fact"), B(text)}, {B(text), B("y")}};
    auto meta = Sized<reenact_call_meta>();
    meta.detail = B(text);
    meta.facts = facts;
    meta.fact_count = 2;
    EXPECT_EQ(reenact_call_end(call, REENACT_END_ERROR, &meta), REENACT_OK);
  }

  void RecordEverything(const reenact_options& options) {
    Open(options);
    for (const char* form : kSecretForms) {
      Say(form);
      ASSERT_EQ(reenact_flush(recorder_, kPatienceMs), REENACT_OK);
    }
    Close();
    // Adopts the marks, copies the runs, and fills the index.
    ASSERT_TRUE((*store::Incidents::Open(store_path_))->Sync().ok());
    ASSERT_TRUE((*store::StoreReader::Open(store_path_))->Search("anything", 0).ok());
  }

  // Files and stored bodies that hold a trace of it.
  std::vector<std::string> Traces() const {
    std::vector<std::string> places;
    const auto look = [&](const std::string& place, std::string_view bytes) {
      for (const char* trace : kSecretTraces) {
        if (bytes.find(trace) != std::string_view::npos) places.push_back(place);
      }
    };
    for (const auto& entry : std::filesystem::recursive_directory_iterator(store_path_)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      std::stringstream bytes;
      bytes << file.rdbuf();
      look(entry.path().filename().string(), bytes.str());
    }
    for (const schema::RecordedRun& run : Runs()) {
      for (const schema::Event& event : run.events) {
        look("request", event.request.bytes);
        look("response", event.response.bytes);
      }
    }
    return places;
  }
};

TEST_F(SecretPlaces, NoneKeepsASecretThatTheHostNamed) {
  const reenact_bytes secrets[] = {B(kNamedSecret)};
  reenact_options options = Options();
  options.secrets = secrets;
  options.secret_count = 1;
  RecordEverything(options);
  EXPECT_EQ(Traces(), std::vector<std::string>());
  for (const schema::RecordedRun& run : Runs()) {
    EXPECT_EQ(run.events.size(), 7u);
    EXPECT_TRUE(run.events[3].response.redacted);
    EXPECT_FALSE(run.events[3].response.cut);
  }
}

// What finds nothing above finds it here, in every kind of file.
TEST_F(SecretPlaces, AllKeepWhatNobodyNamed) {
  RecordEverything(Options());
  const std::vector<std::string> traces = Traces();
  for (const char* place : {"request", "response", "catalog.db", "incidents.db"})
    EXPECT_NE(std::count(traces.begin(), traces.end(), place), 0) << place;
}

}  // namespace
}  // namespace reenact::testing
