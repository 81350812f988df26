// Redaction of bodies, URLs and headers, whatever they hold: what is redacted redacts to itself,
// and no known secret is left.

#include "schema/redaction.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/schema/untrusted_input.h"

namespace reenact::fuzz::redaction {

void FuzzOne(std::string_view bytes) {
  if (const auto broken = schema::CheckRedaction(bytes)) Broken(*broken);
  if (schema::NeedsRedaction(bytes, {})) Reached();
}

std::vector<std::string> Seeds() {
  return {
      R"({"model":"m","messages":[{"role":"user","content":"use sk-Ab3dEf6hIj9lMn2pQr5tUv"},
          {"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f",
          "arguments":"{\"password\":\"p\\\"w\",\"n\":9007199254740993123}"}}]},
          {"role":"tool","tool_call_id":"a","content":"https:\/\/bob:pw@h\/?key=v&sig=w"}],
          "tools":[{"authorization":"tok","headers":{"X-Key":"v"}}]})",
      "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a sk-Ab3d\"}}]}\n\n"
      "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Ef6hIj9lMn2pQr5t b\"}}]}\n\n"
      "data: [DONE]\n\n",
      R"({"choices":[{"logprobs":{"content":[{"token":"correct-","bytes":[99],"top_logprobs":[
          {"token":"c"}]},{"token":"horse-1","bytes":null,"top_logprobs":[]}]}}]})",
      "{\"response\":\"correct-\"}\n{\"response\":\"horse-1\"}\n",
      "grant_type=x&client_secret=1%2Fj2x%2Bq8Zr%3D&u=https%3A%2F%2Fx%3Fkey%3Dv",
      "OPENAI_API_KEY=abc\nAuthorization: Bearer abc123def\r\nlog {'password': 'x'} 777888999\n"
      "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n",
      "https://bob:pw@h/p?X-Amz-Signature=ab#access_token=v"};
}

std::vector<std::string> Tokens() {
  return {"sk-Ab3dEf6hIj9lMn2pQr5tUv",
          "password=",
          "\"api_key\":\"",
          "[redacted]",
          "[redacted",
          "redacted]",
          "customer_pin",
          "\"name\":\"api_key\",\"value\":\"",
          "Bearer ",
          "://",
          "@",
          "?key=",
          "%3D",
          "-----BEGIN PRIVATE KEY-----",
          "correct-horse-1",
          "777888999",
          "1\\/j2x+q8Zr=",
          "eyJhbGciOi.eyJzdWIiOi.x",
          "\"headers\":{",
          "\\u0073",
          "data: ",
          "\n\n",
          "\\n",
          "AKIAIOSFODNN7EXAMPLE"};
}

const bool added = AddTarget({"redaction", FuzzOne, Seeds, Tokens});

}  // namespace reenact::fuzz::redaction
