// Whatever answers in whatever dialect, a view is made of it, and how the bytes were cut into reads
// does not change it; whatever is asked, it is the same request as itself. The first byte chooses
// the call, the second where the body is cut.

#include "schema/model_view.h"
#include "schema/request_key.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/schema/dialect_samples.h"

namespace reenact::fuzz::dialect_answer {

using namespace reenact::schema;

namespace {

constexpr size_t kMostAnomalies = 300;

void CheckRequest(const ChatCall& call, const std::string& body) {
  const CallRequest request{Boundary::kModel, call.provider, call.endpoint, body};
  if (KeyOf(request) != KeyOf(request)) Broken("a request that is not itself");
  if (!DiffRequests(request, request).empty()) Broken("a request that differs from itself");
  const CallKind kind = ClassifyCall({"POST", "", "", call.endpoint, body});
  if (kind.boundary == Boundary::kModel &&
      DialectOf(kind.provider, call.endpoint, body) != kind.dialect) {
    Broken("recorder and views see two dialects");
  }
  // The same bytes as a path.
  const CallRequest plain{Boundary::kTool, kPlainHttp, body, {}};
  if (!DiffRequests(plain, plain).empty()) Broken("a URL that differs from itself");
  ClassifyCall({"POST", body, "", body, body});
}

}  // namespace

void FuzzOne(std::string_view bytes) {
  if (bytes.size() < 2) return;
  const std::vector<DialectSample>& samples = DialectSamples();
  ChatCall call = samples[static_cast<uint8_t>(bytes[0]) % samples.size()].call;
  const std::string body(bytes.substr(2));
  const size_t cut = static_cast<uint8_t>(bytes[1]) % (body.size() + 1);
  const ModelView view = ViewModelCall(MakeEvent(body, call));
  if (Describe(ViewModelCall(MakeEvent(body, call, cut))) != Describe(view)) {
    Broken("a cut changes the view");
  }
  if (view.anomalies.size() > kMostAnomalies) Broken("anomalies without a bound");
  if (!view.choices.empty()) Reached();
  CheckRequest(call, body);
  call.request = body;
  ViewModelCall(MakeEvent("{}", call));
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (size_t i = 0; i < DialectSamples().size(); ++i) {
    const DialectSample& sample = DialectSamples()[i];
    const std::string head = {static_cast<char>(i), '\x30'};
    seeds.push_back(head + sample.body);
    seeds.push_back(head + sample.call.request);
  }
  return seeds;
}

std::vector<std::string> Tokens() {
  return {"data: ",
          "\n\n",
          "\r\n\r\n",
          "[DONE]",
          "event: error\n",
          "\"type\":\"",
          "\"content_block\":{",
          "\"index\":",
          "\"delta\":{",
          "\"partial_json\":\"",
          "\"output_index\":",
          "\"response.output_text.done\"",
          "\"candidates\":[",
          "\"parts\":[{",
          "\"functionCall\":{",
          "\"logprobsResult\":{",
          "\"tokens\":[",
          "\"usage\":{\"input_tokens\":9223372036854775807",
          "\"done\":true",
          "null",
          "[",
          "]",
          "}\n{",
          "\\ud83d",
          "?key=",
          "/deployments/",
          "/models/m:generateContent",
          "--x\r\n"};
}

const bool added = AddTarget({"dialect_answer", FuzzOne, Seeds, Tokens});

}  // namespace reenact::fuzz::dialect_answer
