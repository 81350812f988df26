#include "schema/request_edit.h"

#include <gtest/gtest.h>

#include <memory>

#include "schema/canonical_json.h"
#include "schema/json_view.h"

namespace reenact::schema {
namespace {

std::string CanonicalForm(std::string_view json) {
  const std::unique_ptr<JsonDocument> document = JsonDocument::Parse(json);
  return document ? CanonicalJson(document->root()) : "no JSON";
}

// Makes `edit` in `json`, checks that it can be taken back, and returns what was sent.
std::string Edited(std::string_view json, std::string_view edit) {
  std::optional<RequestEdit> parsed = ParseRequestEdit(edit);
  if (!parsed) return "no edit";
  const std::optional<std::string> sent = ApplyEdit(json, &*parsed);
  if (!sent) return "leads nowhere";
  const Tags facts = {{"method", "POST"}, {std::string(kRequestEditsFact), EncodeEdits({*parsed})}};
  EXPECT_EQ(CanonicalForm(WithoutEdits(*sent, facts)), CanonicalForm(json)) << edit;
  return *sent;
}

TEST(RequestEdit, ChangesNoOtherByte) {
  EXPECT_EQ(Edited(R"({ "model" : "a", "t": 1.0, "x": "\ud800" })", "model=b"),
            R"({ "model" : "b", "t": 1.0, "x": "\ud800" })");
  EXPECT_EQ(Edited(R"({"m":[{"c":"hi"},{"c":"ho"}]})", "m[1].c=Be \"brief\"."),
            R"({"m":[{"c":"hi"},{"c":"Be \"brief\"."}]})");
}

TEST(RequestEdit, AMemberThatIsMissingIsAddedAtTheEnd) {
  EXPECT_EQ(Edited(R"({"a":1 })", "b=true"), R"({"a":1 ,"b":true})");
  EXPECT_EQ(Edited("{}", "seed=7"), R"({"seed":7})");
  EXPECT_EQ(Edited(R"({"a":{}})", R"(a["odd key"]=[1])"), R"({"a":{"odd key":[1]}})");
}

TEST(RequestEdit, WhatIsNoJsonIsText) {
  EXPECT_EQ(Edited(R"({"m":"a"})", "m=gpt-4o"), R"({"m":"gpt-4o"})");
  EXPECT_EQ(Edited(R"({"m":"a"})", "m="), R"({"m":""})");
  EXPECT_EQ(Edited(R"({"m":"a"})", "m=a=b"), R"({"m":"a=b"})");
}

TEST(RequestEdit, TheLastOfEqualKeysCounts) {
  EXPECT_EQ(Edited(R"({"a":1,"a":2})", "a=3"), R"({"a":1,"a":3})");
}

TEST(RequestEdit, LeadsNowhere) {
  for (const char* edit : {"m[2]=1", "m.x=1", "t.x=1", "x.y=1", "m[0][0]=1"}) {
    EXPECT_EQ(Edited(R"({"m":[1,2],"t":0})", edit), "leads nowhere") << edit;
  }
  EXPECT_EQ(Edited("not JSON", "m=1"), "leads nowhere");
  for (const char* text : {"m", "=1", "m..x=1", "m[=1", "m[x]=1", ".m=1", "m[0]x=1"}) {
    EXPECT_FALSE(ParseRequestEdit(text)) << text;
  }
}

TEST(RequestEdit, SeveralAreTakenBackInReverse) {
  const std::string asked = R"({"include":["a"],"model":"m"})";
  std::vector<RequestEdit> edits = {{.path = "include", .value = R"(["a","b"])"},
                                    {.path = "logprobs", .value = "true"},
                                    {.path = "logprobs", .value = "false"}};
  std::string sent = asked;
  for (RequestEdit& edit : edits) sent = *ApplyEdit(sent, &edit);
  EXPECT_EQ(sent, R"({"include":["a","b"],"model":"m","logprobs":false})");
  const Tags facts = {{std::string(kRequestEditsFact), EncodeEdits(edits)}};
  EXPECT_EQ(WithoutEdits(sent, facts), asked);
  // Control: without the fact nothing is taken back, and a fact that is none does no harm.
  EXPECT_EQ(WithoutEdits(sent, {}), sent);
  EXPECT_EQ(WithoutEdits(sent, {{std::string(kRequestEditsFact), "[{\"path\":3}"}}), sent);
}

}  // namespace
}  // namespace reenact::schema
