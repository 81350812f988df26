// A month of synthetic production in a store: `month_of_production FOLDER CALLS [SERVICES]`. Each
// day of each service is one sealed segment, as if written by a process of its own. Planted, so
// that what reads it can be judged:
//   service-01   its alias comes to another model on day 12, with a fingerprint never seen before;
//   service-02   its prompt goes from v1 to v2 on day 20;
//   service-03   its second fingerprint goes from 10 % to 60 % of calls on day 15;
//   service-04   records no component;
// all others keep two fingerprints, 70 % and 30 %, a prompt, an index and a commit.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "schema/record.h"
#include "store/store_layout.h"
#include "store/writer/segment_writer.h"

namespace {

using reenact::schema::Boundary;
using reenact::schema::Component;
using reenact::schema::EndState;
using reenact::schema::Event;
using reenact::schema::Moment;
using reenact::store::SegmentWriter;
using reenact::store::WriteCode;

constexpr int kDays = 30;
constexpr int kCallsPerRun = 4;
constexpr int64_t kStartNs = int64_t{1'770'000'000} * 1'000'000'000;  // 2026-02-02T02:40:00Z.
constexpr int64_t kDayNs = int64_t{86'400} * 1'000'000'000;

// SplitMix64: the same month on every machine.
uint64_t Mixed(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

std::string NumberOf(int service) {
  return (service < 10 ? "0" : "") + std::to_string(service);
}

void Check(WriteCode code, const SegmentWriter& writer) {
  if (code == WriteCode::kOk) return;
  std::fprintf(stderr, "%s\n", writer.last_error().c_str());
  std::exit(1);
}

Component Of(std::string kind, std::string name, std::string version, Moment at) {
  Component component{.kind = std::move(kind),
                      .name = std::move(name),
                      .version = std::move(version),
                      .content = {},
                      .at = at};
  component.content.bytes = component.kind + " " + component.version;
  return component;
}

// What serves a call of `service` on `day`; `draw` is uniform below 1000.
struct Served {
  const char* model;
  const char* fingerprint;
};

Served ServedBy(int service, int day, uint64_t draw) {
  if (service == 1 && day >= 12) return {"gpt-4o-2024-11-20", "fp_new"};
  const uint64_t second = service == 3 ? (day >= 15 ? 600 : 100) : 300;
  return {"gpt-4o-2024-08-06", draw < second ? "fp_b" : "fp_a"};
}

Event CallOf(int service, int day, uint64_t sequence, Moment at) {
  const Served served =
      ServedBy(service, day, Mixed(sequence * 64 + static_cast<uint64_t>(day)) % 1000);
  Event event;
  event.sequence = 2 * sequence + 1;
  event.end_sequence = event.sequence + 1;
  event.boundary = Boundary::kModel;
  event.name = "chat";
  event.provider = "openai";
  event.endpoint = "https://api.openai.com/v1/chat/completions";
  event.request.bytes =
      R"({"model":"gpt-4o","temperature":0,"messages":[{"role":"system","content":"You are service )" +
      NumberOf(service) + R"(. Answer in one sentence."},{"role":"user","content":"Question )" +
      std::to_string(sequence) + R"( of day )" + std::to_string(day) + R"("}]})";
  event.response.bytes =
      R"({"id":"chatcmpl-)" + std::to_string(Mixed(sequence)) +
      R"(","object":"chat.completion","created":1770000000,"model":")" + served.model +
      R"(","system_fingerprint":")" + served.fingerprint +
      R"(","service_tier":"default","choices":[{"index":0,"finish_reason":"stop","message":{"role":)"
      R"("assistant","content":"Answer )" +
      std::to_string(sequence) +
      R"(, which is short."}}],"usage":{"prompt_tokens":38,"completion_tokens":9,"total_tokens":47}})";
  event.exchange = {{.kind = reenact::schema::ExchangeItemKind::kHead,
                     .offset_ns = 300'000'000,
                     .status = 200,
                     .headers = {{"content-type", "application/json"}}},
                    {.kind = reenact::schema::ExchangeItemKind::kBytes,
                     .offset_ns = 300'000'000,
                     .size = event.response.bytes.size()}};
  event.started = at;
  event.elapsed_ns = 301'000'000;
  event.end_state = EndState::kComplete;
  return event;
}

void WriteDay(int service, int day, int64_t run_count, SegmentWriter* writer) {
  const int64_t step_ns = kDayNs / (run_count + 1);
  for (int64_t i = 0; i < run_count; ++i) {
    const int64_t offset = i * step_ns;
    const Moment at{kStartNs + day * kDayNs + offset, offset + 1};
    reenact::schema::Run run;
    std::array<uint8_t, 10> entropy{};
    entropy[0] = static_cast<uint8_t>(service);
    entropy[1] = static_cast<uint8_t>(day);
    for (int b = 0; b < 4; ++b) entropy[2 + b] = static_cast<uint8_t>(i >> (8 * b));
    run.id = reenact::schema::MakeUlid(at.wall_ns / 1'000'000, entropy);
    run.service = "service-" + NumberOf(service);
    run.entry = "POST /answer";
    run.started = at;
    Check(writer->AddRun(run), *writer);
    if (service != 4) {
      const bool moved = service == 2 && day >= 20;
      for (const Component& component : {Of("prompt_template", "answer", moved ? "v2" : "v1", at),
                                         Of("retrieval_index", "kb", "2026-02-01", at),
                                         Of("application", run.service, "4f2a9c1", at)})
        Check(writer->AddComponent(run.id, component), *writer);
    }
    for (int call = 0; call < kCallsPerRun; ++call) {
      Event event = CallOf(service, day, static_cast<uint64_t>(i * kCallsPerRun + call),
                           {at.wall_ns + call * 400'000'000, at.monotonic_ns + call * 400'000'000});
      event.run = run.id;
      Check(writer->AddEvent(event), *writer);
    }
    const int64_t end_ns = kCallsPerRun * int64_t{400'000'000};
    Check(writer->AddRunEnd({.run = run.id, .at = {at.wall_ns + end_ns, at.monotonic_ns + end_ns}}),
          *writer);
    if (i % 20 == 19) Check(writer->Commit(), *writer);
  }
  Check(writer->Commit(), *writer);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("month_of_production FOLDER CALLS [SERVICES]\n", stderr);
    return 2;
  }
  const int64_t calls = std::atoll(argv[2]);
  const int services = argc > 3 ? std::atoi(argv[3]) : 30;
  const int64_t runs = std::max<int64_t>(calls / (int64_t{services} * kDays * kCallsPerRun), 1);
  const reenact::store::StoreLayout layout{argv[1]};
  std::string key;
  std::string why;
  if (!PrepareStore(layout, &key, &why)) {
    std::fprintf(stderr, "%s\n", why.c_str());
    return 1;
  }
  for (int day = 0; day < kDays; ++day) {
    for (int service = 1; service <= services; ++service) {
      std::array<uint8_t, 10> entropy{};
      entropy[0] = static_cast<uint8_t>(service);
      const auto id =
          reenact::schema::MakeUlid((kStartNs + day * kDayNs) / 1'000'000 + service, entropy);
      std::unique_ptr<SegmentWriter> writer;
      if (SegmentWriter::Open({.path = layout.segment(id),
                               .store_key = key,
                               .segment_id = id,
                               .exclusive_process = false},
                              &writer, &why) != WriteCode::kOk) {
        std::fprintf(stderr, "%s\n", why.c_str());
        return 1;
      }
      WriteDay(service, day, runs, writer.get());
      Check(writer->Seal(layout.manifest()), *writer);
    }
  }
  std::printf("%lld calls of %d services\n",
              static_cast<long long>(runs * kCallsPerRun * kDays * services), services);
  return 0;
}
