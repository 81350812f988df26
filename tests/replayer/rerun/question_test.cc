#include "replayer/rerun/question.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tests/replayer/rerun/scripted_server.h"

namespace reenact::rerun {
namespace {

TEST(Question, WithoutEditsItIsTheRecordedBytes) {
  const std::string odd = "{ \"model\" : \"m\",\n \"messages\":[], \"x\": 1.10 }";
  const Question question = QuestionOf(RecordedChat(odd, ""), {});
  EXPECT_EQ(question.request, odd);
  EXPECT_TRUE(question.changes.empty());
}

TEST(Question, AnEditChangesItsMemberAndNoOtherByte) {
  const std::string odd = "{ \"model\" : \"m\",\n \"messages\":[], \"seed\": 7 , \"x\": 1.10 }";
  const Question question =
      QuestionOf(RecordedChat(odd, ""), {.model = "a\"b", .logprobs = true, .seed = 9});
  EXPECT_EQ(question.request,
            "{ \"model\" : \"a\\\"b\",\n \"messages\":[], \"seed\": 9 , \"x\": 1.10 "
            ",\"logprobs\":true,\"top_logprobs\":5}");
  EXPECT_EQ(question.changes,
            (std::vector<std::string>{"model", "logprobs", "top_logprobs", "seed"}));
}

TEST(Question, WhatIsAskedForAlreadyIsNoChange) {
  const std::string request =
      R"({"model":"m","messages":[],"logprobs":true,"top_logprobs":2,"seed":9})";
  const Question question = QuestionOf(RecordedChat(request, ""), {.logprobs = true, .seed = 9});
  EXPECT_EQ(question.request, request);
  EXPECT_TRUE(question.changes.empty());
}

TEST(Question, ResponsesAreAskedForLogprobsInTheirOwnWay) {
  schema::Event event = RecordedChat(R"({"model":"m","input":"Hi","include":["a"]})", "");
  event.endpoint = "https://api.openai.com/v1/responses";
  const Question question =
      QuestionOf(event, {.logprobs = true, .top_logprobs = 3, .seed = 4, .max_tokens = 8});
  EXPECT_EQ(question.request,
            R"({"model":"m","input":"Hi","include":["a","message.output_text.logprobs"],)"
            R"("top_logprobs":3,"max_output_tokens":8})");
}

TEST(Question, WhatIsNoObjectStaysAsItIs) {
  EXPECT_EQ(WithMember("[1]", "a", "2"), std::nullopt);
  EXPECT_EQ(WithMember("{", "a", "2"), std::nullopt);
  EXPECT_EQ(WithMember("{}", "a", "2"), "{\"a\":2}");
  EXPECT_EQ(WithMember(R"({"a":1,"a":3})", "a", "2"), R"({"a":1,"a":2})") << "the last one counts";
}

}  // namespace
}  // namespace reenact::rerun
