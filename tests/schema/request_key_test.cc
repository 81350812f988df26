#include "schema/request_key.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace reenact::schema {
namespace {

RequestKey Chat(std::string_view body) {
  return KeyOf(Boundary::kModel, "openai", body);
}

constexpr std::string_view kQuestion =
    R"({"model":"m","messages":[{"role":"user","content":"hi"}],"temperature":0})";

TEST(RequestKey, SpellingDoesNotCount) {
  EXPECT_EQ(Chat(kQuestion),
            Chat(R"({ "temperature": 0.0, "messages": [ {"content":"h\u0069","role":"user"} ],
                      "model": "m" })"));
  EXPECT_EQ(Chat(kQuestion).basis, KeyBasis::kCanonicalJson);
}

TEST(RequestKey, MeaningCounts) {
  for (const char* other :
       {R"({"model":"m","messages":[{"role":"user","content":"ho"}],"temperature":0})",
        R"({"model":"n","messages":[{"role":"user","content":"hi"}],"temperature":0})",
        R"({"model":"m","messages":[{"role":"user","content":"hi"}],"temperature":0.2})",
        R"({"model":"m","messages":[{"role":"system","content":"hi"}],"temperature":0})",
        R"({"model":"m","messages":[{"role":"user","content":"hi"}],"temperature":0,"seed":1})",
        R"({"model":"m","messages":[{"role":"user","content":"hi"}],"temperature":0,
               "response_format":{"type":"json_object"}})"}) {
    EXPECT_NE(Chat(kQuestion), Chat(other)) << other;
    EXPECT_FALSE(DiffRequests(Boundary::kModel, "openai", kQuestion, other).empty()) << other;
  }
}

TEST(RequestKey, VolatileMembersOfAChatDoNotCount) {
  const std::string_view decorated =
      R"({"model":"m","messages":[{"role":"user","content":"hi"}],"temperature":0,"user":"u-1",
          "metadata":{"a":"b"},"prompt_cache_key":"k","safety_identifier":"s","store":true,
          "stream_options":{"include_usage":true}})";
  EXPECT_EQ(Chat(kQuestion), Chat(decorated));
  EXPECT_TRUE(DiffRequests(Boundary::kModel, "openai", kQuestion, decorated).empty());
  // Of a tool they are arguments like any other.
  EXPECT_NE(KeyOf(Boundary::kTool, "", R"({"user":"a"})"),
            KeyOf(Boundary::kTool, "", R"({"user":"b"})"));
}

// A conversation whose two tool calls have the given ids, answered in the given order.
std::string WithToolCalls(const std::string& a, const std::string& b, const std::string& first,
                          const std::string& second) {
  return R"({"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[
    {"id":")" +
         a + R"(","type":"function","function":{"name":"f","arguments":"{}"}},
    {"id":")" +
         b + R"(","type":"function","function":{"name":"g","arguments":"{}"}}]},
    {"role":"tool","tool_call_id":")" +
         first + R"(","content":"1"},
    {"role":"tool","tool_call_id":")" +
         second + R"(","content":"2"}]})";
}

TEST(RequestKey, ToolCallIdsCountByOrderOfAppearance) {
  const std::string recorded = WithToolCalls("call_a7", "call_b2", "call_a7", "call_b2");
  const std::string rerun = WithToolCalls("call_x", "call_y", "call_x", "call_y");
  const std::string crossed = WithToolCalls("call_x", "call_y", "call_y", "call_x");
  EXPECT_EQ(Chat(recorded), Chat(rerun));
  EXPECT_TRUE(DiffRequests(Boundary::kModel, "openai", recorded, rerun).empty());
  EXPECT_NE(Chat(recorded), Chat(crossed));
  const auto differences = DiffRequests(Boundary::kModel, "openai", recorded, crossed);
  ASSERT_EQ(differences.size(), 2u);
  EXPECT_EQ(differences[0].path, "messages[2].tool_call_id");
}

TEST(RequestKey, OtherBodiesCountByTheirBytes) {
  EXPECT_EQ(KeyOf(Boundary::kRetrieval, "", "refund policy").basis, KeyBasis::kRawBytes);
  EXPECT_NE(KeyOf(Boundary::kRetrieval, "", "a b"), KeyOf(Boundary::kRetrieval, "", "a  b"));
  EXPECT_NE(KeyOf(Boundary::kRetrieval, "", "1.0"), KeyOf(Boundary::kRetrieval, "", "1"));
  EXPECT_NE(Chat("{\"model\""), Chat("{ \"model\""));
  EXPECT_EQ(KeyOf(Boundary::kTool, "", "").basis, KeyBasis::kRawBytes);
  const auto differences = DiffRequests(Boundary::kTool, "", "abcd", "abXd");
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_EQ(differences[0].path, "(bytes)");
  EXPECT_EQ(differences[0].first_difference, 2u);
  EXPECT_TRUE(DiffRequests(Boundary::kTool, "", "same", "same").empty());
}

// cases/reports.md 23
TEST(RequestKey, LargeIntegersKeepTheirLastDigit) {
  EXPECT_NE(KeyOf(Boundary::kTool, "", R"({"order_id":9007199254740993123})"),
            KeyOf(Boundary::kTool, "", R"({"order_id":9007199254740993122})"));
}

TEST(RequestKey, ShortFormIsForMessages) {
  const std::string text = Shorten(Chat(kQuestion));
  EXPECT_EQ(text.substr(0, 7), "sha256:");
  EXPECT_EQ(text.size(), 19u);
}

std::string RandomConversation(std::mt19937& random) {
  std::string body = R"({"model":"m)" + std::to_string(random() % 3) + R"(","messages":[)";
  const size_t count = 1 + random() % 5;
  for (size_t i = 0; i < count; ++i) {
    const std::string text = "t" + std::to_string(random() % 4);
    if (i > 0) body += ",";
    switch (random() % 4) {
      case 0:
        body += R"({"role":"user","content":")" + text + R"("})";
        break;
      case 1:
        body += R"({"role":"assistant","content":null,"tool_calls":[{"id":"c)" + text +
                R"(","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]})";
        break;
      case 2:
        body += R"({"role":"tool","tool_call_id":"c)" + text + R"(","content":"r"})";
        break;
      default:
        body += R"({"role":"user","content":[{"type":"text","text":")" + text + R"("}]})";
        break;
    }
  }
  return body + R"(],"n":)" + std::to_string(random() % 2) + "}";
}

// cases/replay.md 4: record and match use one predicate.
TEST(RequestKey, KeysAreEqualExactlyWhenNothingDiffers) {
  std::mt19937 random(11);
  std::set<RequestKey> keys;
  for (int i = 0; i < 2000; ++i) {
    const std::string a = RandomConversation(random);
    const std::string b = RandomConversation(random);
    EXPECT_EQ(Chat(a), Chat(a));
    EXPECT_EQ(Chat(a) == Chat(b), DiffRequests(Boundary::kModel, "openai", a, b).empty())
        << a << "\n"
        << b;
    keys.insert(Chat(a));
  }
  EXPECT_GT(keys.size(), 200u);
}

}  // namespace
}  // namespace reenact::schema
