#include "tools/reenact/io/json_output.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "schema/json_view.h"
#include "schema/ulid.h"
#include "tests/tools/sample_runs.h"
#include "tools/reenact/runs/run_json.h"

namespace reenact::tools {
namespace {

TEST(JsonWriter, WritesKeysInTheOrderGiven) {
  JsonWriter json = JsonWriter::Document("list");
  json.Key("runs");
  json.BeginArray();
  json.EndArray();
  json.IntField("b", 1);
  json.BoolField("a", true);
  json.EndObject();
  EXPECT_EQ(json.Take(),
            "{\n  \"schema_version\": 1,\n  \"verb\": \"list\",\n  \"runs\": [],\n  \"b\": 1,\n"
            "  \"a\": true\n}\n");
}

TEST(JsonWriter, NumbersPastTwoToThe53AreStrings) {
  JsonWriter json;
  json.BeginArray();
  json.Int(9007199254740992);
  json.Int(9007199254740993);
  json.Int(-9007199254740993);
  json.Uint(18446744073709551615u);
  json.Real(0.1);
  json.Real(std::nan(""));
  json.Real(-std::numeric_limits<double>::infinity());
  json.EndArray();
  EXPECT_EQ(json.Take(),
            "[\n  9007199254740992,\n  \"9007199254740993\",\n  \"-9007199254740993\",\n"
            "  \"18446744073709551615\",\n  0.1,\n  \"NaN\",\n  \"-Infinity\"\n]\n");
}

// cases/reports.md 68: bytes that are no UTF-8 neither stop the writer nor break the document.
TEST(JsonWriter, AnyBytesGiveValidJsonThatIsSafeOnATerminal) {
  for (const std::string& bytes :
       {std::string("\xF0\x9F\x2F"), std::string("\xED\xA0\xBD"), std::string("a\0b", 3),
        std::string("\x1b[2J\x7f\xC2\x9B\xE2\x80\xAE\"\\"), std::string("café"),
        std::string("\xF3\xA0\x81\x81")}) {
    JsonWriter json;
    json.Text(bytes);
    const std::string text = json.Take();
    for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<uint8_t>(c) >= 0x20);
    EXPECT_EQ(text.find("\xC2\x9B"), std::string::npos);
    EXPECT_EQ(text.find("\xE2\x80\xAE"), std::string::npos);
    EXPECT_EQ(text.find("\xF3\xA0"), std::string::npos);
    const auto document = schema::JsonDocument::Parse(text);
    ASSERT_NE(document, nullptr) << text;
    if (document->root().is_string()) {
      EXPECT_EQ(document->root().AsString(), bytes);
    } else {
      EXPECT_EQ(document->root()["base64"].AsString(), Base64(bytes));
    }
  }
}

TEST(Base64, PadsAsRfc4648Says) {
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("fo"), "Zm8=");
  EXPECT_EQ(Base64("foo"), "Zm9v");
  EXPECT_EQ(Base64("foobar"), "Zm9vYmFy");
}

TEST(RunJson, IsOneDocumentWithSeedsAndTimesAsDigits) {
  const schema::RecordedRun run = tests::WrongRefund();
  JsonWriter json;
  WriteRun(ViewRun(run), &json);
  const std::string text = json.Take();
  const auto document = schema::JsonDocument::Parse(text);
  ASSERT_NE(document, nullptr);
  const schema::JsonValue root = document->root();
  EXPECT_EQ(root["id"].AsString(), schema::ToString(run.run.id));
  EXPECT_EQ(root["events"].size(), run.events.size());
  EXPECT_EQ(root["events"][1]["seed"].AsString(), "18446744073709551615");
  EXPECT_EQ(root["events"][0]["value"].AsString(), "2026-03-01T02:11:00Z");
  EXPECT_EQ(root["started_unix_ns"].AsString(), "1772331060000000000");
  // cases/reports.md 37: asked and served are both there.
  EXPECT_EQ(root["events"][3]["model"]["asked"].AsString(), "gpt-4o");
  EXPECT_EQ(root["events"][3]["model"]["served"].AsString(), "gpt-4o-2024-11-20");
  EXPECT_TRUE(document->anomalies().empty());
}

TEST(RunJson, OfAHostileRunIsStillOneDocument) {
  const schema::RecordedRun run = tests::HostileRun();
  JsonWriter json;
  WriteRun(ViewRun(run), &json);
  EXPECT_NE(schema::JsonDocument::Parse(json.Take()), nullptr);
}

}  // namespace
}  // namespace reenact::tools
