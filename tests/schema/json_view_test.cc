#include "schema/json_view.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace reenact::schema {
namespace {

// A document that a test knows to be one.
class Json {
 public:
  explicit Json(std::string text) : text_(std::move(text)) {
    document_ = JsonDocument::Parse(text_, &error_);
    EXPECT_NE(document_, nullptr) << text_ << ": " << error_;
  }

  JsonValue root() const { return document_->root(); }

  const std::vector<std::string>& anomalies() const { return document_->anomalies(); }

 private:
  std::string text_;
  std::string error_;
  std::unique_ptr<JsonDocument> document_;
};

using Anomalies = std::vector<std::string>;

TEST(JsonView, KeepsWhatWasWritten) {
  const Json json(R"( {"b" : [1.50e1, "x\/y"], "a":null} )");
  const JsonValue root = json.root();
  ASSERT_EQ(root.size(), 2u);
  EXPECT_EQ(root.KeyAt(0), "b");
  EXPECT_EQ(root[0].raw(), R"([1.50e1, "x\/y"])");
  EXPECT_EQ(root["b"][0].raw(), "1.50e1");
  EXPECT_EQ(root["b"][1].AsString(), "x/y");
  EXPECT_TRUE(root["a"].is_null());
  EXPECT_EQ(root["a"].begin_offset(), 30u);
  EXPECT_EQ(root.RawKeyAt(1), "\"a\"");
}

TEST(JsonView, AbsentIsNotNull) {
  const Json json(R"({"a":null})");
  EXPECT_TRUE(json.root()["a"].is_present());
  const JsonValue absent = json.root()["b"]["c"][7];
  EXPECT_FALSE(absent.is_present());
  EXPECT_FALSE(absent.is_null());
  EXPECT_EQ(absent.size(), 0u);
  EXPECT_EQ(absent.raw(), "");
  EXPECT_EQ(absent.AsString(), "");
  EXPECT_FALSE(absent.AsDouble());
}

// cases/reports.md 23
TEST(JsonView, DigitsBeyondDoublesAreKept) {
  const Json json(R"({"order_id":9007199254740993123,"n":18446744073709551615,"m":1e3,"f":1.5,
                      "min":-9223372036854775808,"over":18446744073709551616})");
  const JsonValue root = json.root();
  EXPECT_EQ(root["order_id"].AsInt64(), 9007199254740993123);
  EXPECT_EQ(root["n"].AsUint64(), 18446744073709551615u);
  EXPECT_FALSE(root["n"].AsInt64());
  EXPECT_EQ(root["m"].AsInt64(), 1000);
  EXPECT_FALSE(root["f"].AsInt64());
  EXPECT_EQ(root["f"].AsDouble(), 1.5);
  EXPECT_EQ(root["min"].AsInt64(), std::numeric_limits<int64_t>::min());
  EXPECT_FALSE(root["min"].AsUint64());
  EXPECT_FALSE(root["over"].AsUint64());
  EXPECT_TRUE(json.anomalies().empty());
}

// cases/reports.md 67, 71
TEST(JsonView, OdditiesAreReadAndNamed) {
  EXPECT_EQ(Json("\xef\xbb\xbf{}").anomalies(), Anomalies{"bom"});
  EXPECT_EQ(Json(R"("done \ud83d")").anomalies(), Anomalies{"lone_surrogate"});
  EXPECT_EQ(Json(R"("\ude00")").anomalies(), Anomalies{"lone_surrogate"});
  EXPECT_EQ(Json("[NaN,NaN]").anomalies(), Anomalies{"nan"});
  EXPECT_EQ(Json("-Infinity").anomalies(), Anomalies{"infinity"});
  EXPECT_EQ(Json("1e400").anomalies(), Anomalies{"number_overflow"});
  EXPECT_EQ(Json("1e-400").anomalies(), Anomalies{});
  EXPECT_EQ(Json(R"({"a":1,"\u0061":2})").anomalies(), Anomalies{"duplicate_key"});
  EXPECT_EQ(Json("\"\xf0\x9f\x2f\"").anomalies(), Anomalies{"invalid_utf8"});
  EXPECT_EQ(Json("\"\xed\xa0\xbd\"").anomalies(), Anomalies{"invalid_utf8"});
  EXPECT_EQ(Json("\"a\nb\"").anomalies(), Anomalies{"control_character"});
  EXPECT_EQ(Json("\"caf\xc3\xa9\"").anomalies(), Anomalies{});
}

TEST(JsonView, LeniencyKeepsTexts) {
  EXPECT_EQ(Json(R"("\ud83d\ude00")").root().AsString(), "\xf0\x9f\x98\x80");
  EXPECT_EQ(Json(R"("a\ud83d")").root().AsString(), "a\xed\xa0\xbd");
  EXPECT_EQ(Json(R"("a\u0000b")").root().AsString(), std::string("a\0b", 3));
  EXPECT_EQ(Json(R"({"a":1,"a":2})").root()["a"].raw(), "2");
  EXPECT_TRUE(std::isnan(*Json("NaN").root().AsDouble()));
  EXPECT_EQ(*Json("-1e400").root().AsDouble(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(*Json("1e-400").root().AsDouble(), 0.0);
}

TEST(JsonView, OtherTextsAreRefusedWithAPlace) {
  for (const char* text :
       {"",        " ",       "{",           "[1,]", "{\"a\":1,}", "[1 2]",
        "{a:1}",   "{'a':1}", "01",          "1.",   "1e",         "-",
        "\"a",     "\"\\x\"", "\"\\u12g4\"", "nul",  "{} {}",      "\xef\xbb\xbf\xef\xbb\xbf{}",
        "{\"a\"}", "[}",      "+1",          ".5",   "tru",        "\"a\\"}) {
    std::string error;
    EXPECT_EQ(JsonDocument::Parse(text, &error), nullptr) << text;
    EXPECT_NE(error.find("at offset"), std::string::npos) << text;
  }
}

// cases/reports.md 71: 100,000 nested arrays.
TEST(JsonView, DepthIsLimited) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_NE(JsonDocument::Parse(nested(kMaxJsonDepth)), nullptr);
  EXPECT_EQ(JsonDocument::Parse(nested(kMaxJsonDepth + 1)), nullptr);
  EXPECT_EQ(JsonDocument::Parse(nested(100'000)), nullptr);
}

TEST(JsonView, ElementsAreReachedInConstantTime) {
  std::string text = "[0";
  constexpr size_t kCount = 200'000;
  for (size_t i = 1; i < kCount; ++i) text += ",[" + std::to_string(i) + "]";
  text += "]";
  const Json json(text);
  ASSERT_EQ(json.root().size(), kCount);
  int64_t sum = 0;  // A linear look-up would take minutes.
  for (size_t i = 1; i < kCount; ++i) sum += *json.root()[i][size_t{0}].AsInt64();
  EXPECT_EQ(sum, static_cast<int64_t>(kCount * (kCount - 1) / 2));
}

}  // namespace
}  // namespace reenact::schema
