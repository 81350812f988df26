// What the writer thread can take: events a second into one segment on one core, compressed and
// hurried. Each event has a JSON request and a JSON answer of about 1 kB; 100 events a transaction.
//
//   segment_bench [FOLDER] [EVENTS]

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "store/store_layout.h"
#include "store/writer/segment_writer.h"

namespace {

using namespace reenact;  // NOLINT(google-build-using-namespace)

constexpr int kBatch = 100;
constexpr int kEventsPerRun = 20;

// Text of words that repeat as those of a language do.
class Words {
 public:
  Words() {
    for (int i = 0; i < 4000; ++i) {
      std::string word;
      for (uint32_t letter = 0, size = 2 + random_() % 8; letter < size; ++letter) {
        word += static_cast<char>('a' + random_() % 26);
      }
      words_.push_back(word);
    }
  }

  std::string Text(size_t size) {
    std::string text;
    while (text.size() < size) {
      const double at = static_cast<double>(random_() % 100000) / 100000.0;
      text += words_[static_cast<size_t>(3999 * at * at * at)];
      text += ' ';
    }
    text.resize(size);
    return text;
  }

 private:
  std::mt19937 random_{7};
  std::vector<std::string> words_;
};

std::vector<schema::Event> MakeEvents(int count) {
  Words words;
  std::vector<schema::Event> events(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    schema::Event& event = events[static_cast<size_t>(i)];
    event.sequence = static_cast<uint64_t>(2 * i + 1);
    event.end_sequence = event.sequence + 1;
    event.boundary = schema::Boundary::kModel;
    event.name = "chat";
    event.provider = "openai";
    event.endpoint = "https://api.openai.com/v1/chat/completions";
    event.request.bytes =
        R"({"model":"gpt-4o-2024-08-06","temperature":0,"messages":[{"role":"user","content":")" +
        words.Text(910) + "\"}]}";
    event.response.bytes =
        R"({"id":"chatcmpl-)" + std::to_string(100000 + i) +
        R"(","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":")" +
        words.Text(800) +
        R"("},"finish_reason":"stop"}],"usage":{"prompt_tokens":210,"completion_tokens":190}})";
    event.exchange = {{.kind = schema::ExchangeItemKind::kHead,
                       .offset_ns = 210'000'000 + i,
                       .status = 200,
                       .headers = {{"content-type", "application/json"},
                                   {"x-request-id", "req_" + std::to_string(7000000 + i)},
                                   {"openai-processing-ms", "198"}}},
                      {.kind = schema::ExchangeItemKind::kBytes,
                       .offset_ns = 210'100'000 + i,
                       .size = event.response.bytes.size()}};
    event.started = {1'700'000'000'000'000'000 + i * 1000, 5'000'000 + i * 1000};
    event.elapsed_ns = 211'000'000;
    event.end_state = schema::EndState::kComplete;
  }
  return events;
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

void Check(store::WriteCode code, const store::SegmentWriter* writer) {
  if (code == store::WriteCode::kOk) return;
  std::fprintf(stderr, "segment_bench: code %d: %s\n", static_cast<int>(code),
               writer == nullptr ? "" : writer->last_error().c_str());
  std::exit(1);
}

void Measure(const std::string& folder, std::vector<schema::Event>* events, bool hurried) {
  const schema::Ulid id = store::NewUlid();
  const store::SegmentOptions options = {.path = folder + "/" + schema::ToString(id) + ".db",
                                         .store_key = std::string(32, 'k'),
                                         .segment_id = id};
  std::unique_ptr<store::SegmentWriter> writer;
  std::string why;
  Check(store::SegmentWriter::Open(options, &writer, &why), nullptr);
  writer->SetHurried(hurried);
  const int64_t start = store::MonotonicNowNs();
  const double cpu_start = CpuSeconds();
  int64_t worst_batch_ns = 0;
  schema::Run run;
  for (size_t i = 0; i < events->size();) {
    const int64_t batch_start = store::MonotonicNowNs();
    for (int of_batch = 0; of_batch < kBatch && i < events->size(); ++of_batch, ++i) {
      if (i % kEventsPerRun == 0) {
        if (i != 0) Check(writer->AddRunEnd({.run = run.id}), writer.get());
        run.id = store::NewUlid();
        Check(writer->AddRun(run), writer.get());
      }
      (*events)[i].run = run.id;
      Check(writer->AddEvent((*events)[i]), writer.get());
    }
    Check(writer->Commit(), writer.get());
    Check(writer->CheckpointIfDue(), writer.get());
    worst_batch_ns = std::max(worst_batch_ns, store::MonotonicNowNs() - batch_start);
  }
  const double seconds = static_cast<double>(store::MonotonicNowNs() - start) * 1e-9;
  const double cpu = CpuSeconds() - cpu_start;
  Check(writer->Seal(""), writer.get());
  const double count = static_cast<double>(events->size());
  std::printf(
      "%-10s %8.0f events/s   %8.0f events per CPU second   %6.0f bytes/event   worst batch %.1f "
      "ms\n",
      hurried ? "hurried" : "compressed", count / seconds, count / cpu,
      static_cast<double>(writer->size_bytes()) / count,
      static_cast<double>(worst_batch_ns) * 1e-6);
  ::unlink(options.path.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "/tmp";
  int count = 100'000;
  if (argc > 2) {
    const std::string_view text = argv[2];
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), count);
    if (parsed.ec != std::errc() || count <= 0) {
      std::fprintf(stderr, "segment_bench: \"%s\" is not a number of events\n", argv[2]);
      return 2;
    }
  }
  std::vector<schema::Event> events = MakeEvents(count);
  for (int round = 0; round < 2; ++round) {
    Measure(folder, &events, false);
    Measure(folder, &events, true);
  }
  return 0;
}
