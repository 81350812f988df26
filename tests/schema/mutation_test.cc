// Seeded mutations of bodies that hold everything we know: what fuzzers do, in seconds, on every
// run. A failure prints the bytes; put them into the corpus.

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "schema/exchange.h"
#include "schema/replay_protocol.h"
#include "untrusted_input.h"

namespace reenact::schema {
namespace {

using Check = std::optional<std::string> (*)(std::string_view bytes);

// Pieces that mutations put in: what begins, ends and escapes things.
constexpr std::string_view kPieces[] = {"\"",
                                        "\\",
                                        "\\\\",
                                        "\\\"",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        ",",
                                        ":",
                                        "\n",
                                        "\r\n",
                                        "data: ",
                                        "\n\n",
                                        "\\u0073",
                                        "\\ud83d",
                                        "\xf0\x9f\x98\x80",
                                        "\xed\xa0\xbd",
                                        "sk-Ab3dEf6hIj9lMn2pQr5tUv",
                                        "password=",
                                        "\"api_key\":\"",
                                        "[redacted]",
                                        "[redacted",
                                        "redacted]",
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
                                        "\"name\":\"api_key\",\"value\":\"",
                                        "null",
                                        "-0.0e9",
                                        "1e999999999",
                                        "customer_pin",
                                        "\\n",
                                        "AKIAIOSFODNN7EXAMPLE"};

std::string Mutate(std::string bytes, std::mt19937& random) {
  const size_t count = 1 + random() % 4;
  for (size_t i = 0; i < count; ++i) {
    const size_t at = bytes.empty() ? 0 : random() % (bytes.size() + 1);
    switch (random() % 5) {
      case 0:
        if (at < bytes.size()) bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes.erase(at, random() % 9);
        break;
      case 2:
        bytes.insert(at, kPieces[random() % std::size(kPieces)]);
        break;
      case 3:
        bytes.insert(at, bytes.substr(bytes.size() - random() % (bytes.size() + 1), 40));
        break;
      default:
        if (random() % 4 == 0) bytes.resize(at);
        break;
    }
  }
  return bytes;
}

void RunMutations(const std::vector<std::string>& corpus, size_t count, uint32_t seed,
                  Check check) {
  std::mt19937 random(seed);
  for (const std::string& bytes : corpus) {
    ASSERT_EQ(check(bytes), std::nullopt) << bytes;
  }
  std::string last = corpus.front();
  for (size_t i = 0; i < count; ++i) {
    // Now and then mutate the mutated, to get further away.
    const std::string& from = random() % 3 == 0 ? last : corpus[random() % corpus.size()];
    std::string mutated = Mutate(from, random);
    ASSERT_EQ(check(mutated), std::nullopt) << "mutation " << i << " of seed " << seed << ":\n"
                                            << mutated;
    last = mutated.size() < 4000 ? std::move(mutated) : corpus.front();
  }
}

std::vector<std::string> Bodies() {
  return {
      R"({"model":"m","messages":[{"role":"user","content":"use sk-Ab3dEf6hIj9lMn2pQr5tUv \u0073k"},
          {"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f",
          "arguments":"{\"password\":\"p\\\"w\",\"n\":9007199254740993123}"}}]},
          {"role":"tool","tool_call_id":"a","content":"https:\/\/bob:pw@h\/?key=v&sig=w"}],
          "tools":[{"authorization":"tok","headers":{"X-Key":"v"}}],"n":1.50e1,"z":NaN})",
      "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a sk-Ab3d\"}}]}\n\n"
      "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Ef6hIj9lMn2pQr5t b\"}}]}\n\n"
      "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":"
      "\"{\\\"api_key\\\":\\\"\"}}]}}]}\n\ndata: "
      "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,"
      "\"function\":{\"arguments\":\"v\\\"}\"}}]}}]}\n\ndata: [DONE]\n\n",
      R"({"choices":[{"logprobs":{"content":[{"token":"correct-","bytes":[99],"top_logprobs":[
          {"token":"c"}]},{"token":"horse-1","bytes":null,"top_logprobs":[]}],"tokens":["a","b"],
          "top_logprobs":[{"a":-1}]}}]})",
      "{\"response\":\"correct-\"}\n{\"response\":\"horse-1\"}\n",
      "OPENAI_API_KEY=abc\nAuthorization: Bearer abc123def\r\nlog {'password': 'x'} 777888999\n"
      "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n",
      "grant_type=x&client_secret=1%2Fj2x%2Bq8Zr%3D&u=https%3A%2F%2Fx%3Fkey%3Dv",
      "https://bob:pw@h/p?X-Amz-Signature=ab#access_token=v",
      R"({"a":1,"a":2,"\ud83d":"\u0000","b":[[[]]],"c":{"":-0.0}})",
  };
}

TEST(Mutations, JsonIsReadWithoutHarm) {
  RunMutations(Bodies(), 3000, 1, CheckJson);
}

TEST(Mutations, RedactionKeepsItsRules) {
  RunMutations(Bodies(), 3000, 2, CheckRedaction);
}

TEST(Mutations, FramesAreReadWithoutHarm) {
  const Exchange exchange = {
      {.kind = ExchangeItemKind::kHead, .offset_ns = 5, .status = 200, .headers = {{"a", "b"}}},
      {.kind = ExchangeItemKind::kBytes, .offset_ns = 9, .size = 300},
      {.kind = ExchangeItemKind::kAttemptEnd, .offset_ns = 11, .detail = "reset"}};
  Component component;
  component.kind = "k";
  component.content.bytes = "content";
  RunMutations({EncodeExchange(exchange),
                EncodeMessage(OnTape{1, exchange, "abc", EndState::kReset, "d"}).substr(4),
                EncodeMessage(BeginRun{"e", "i", {component, component}}).substr(4),
                "01ARZ3NDEKTSV4RRFFQ69G5FAV"},
               20000, 3, CheckProtocol);
}

}  // namespace
}  // namespace reenact::schema
