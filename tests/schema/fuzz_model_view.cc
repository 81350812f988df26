// libFuzzer: whatever a provider sends, a view is made of it, and cuts do not change it.
// Run: fuzz_model_view -max_len=4096 CORPUS_DIR

#include <cstdint>
#include <cstdlib>
#include <string>

#include "schema/model_view.h"
#include "tests/schema/chat_call.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace reenact::schema;
  if (size < 2) return 0;
  // The first byte chooses where the body is cut, the second what was asked.
  const size_t cut = data[0] % size;
  ChatCall call;
  if ((data[1] & 1) != 0) call.request = R"({"model":"m","logprobs":true,"n":2,"messages":[]})";
  if ((data[1] & 2) != 0) call.status = 500;
  if ((data[1] & 4) != 0) call.headers = {{"content-type", "application/json"}};
  const std::string body(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::string whole = Describe(ViewModelCall(MakeEvent(body, call)));
  if (Describe(ViewModelCall(MakeEvent(body, call, cut))) != whole) std::abort();
  int64_t unknown = 0;
  for (const Choice& choice : ViewModelCall(MakeEvent(body, call)).choices) {
    FindNearTies(choice.logprobs, kNearTieNats, &unknown);
  }
  // The same bytes as a request.
  call.request = body;
  ViewModelCall(MakeEvent("{}", call));
  return 0;
}
