#include "schema/canonical_json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace reenact::schema {
namespace {

std::string Canonical(std::string_view text) {
  const std::unique_ptr<JsonDocument> document = JsonDocument::Parse(text);
  EXPECT_NE(document, nullptr) << text;
  return document == nullptr ? "" : CanonicalJson(document->root());
}

std::vector<JsonDifference> Diff(std::string_view expected, std::string_view actual,
                                 size_t limit = 50) {
  const auto ours = JsonDocument::Parse(expected);
  const auto theirs = JsonDocument::Parse(actual);
  return DiffJson(ours->root(), theirs->root(), limit);
}

// cases/reports.md 25
TEST(CanonicalJson, OrderAndSpaceDoNotCount) {
  EXPECT_EQ(Canonical(R"({"model":"m","stream":false})"),
            Canonical(R"({ "stream": false, "model": "m" })"));
  EXPECT_EQ(Canonical(R"({"b":{"d":1,"c":2},"a":[]})"), R"({"a":[],"b":{"c":2,"d":1}})");
  EXPECT_EQ(Canonical("\xef\xbb\xbf{}"), "{}");
}

TEST(CanonicalJson, DifferentValuesStayDifferent) {
  EXPECT_NE(Canonical("[1,2]"), Canonical("[2,1]"));
  EXPECT_NE(Canonical("1"), Canonical("\"1\""));
  EXPECT_NE(Canonical("{}"), Canonical(R"({"a":null})"));
  EXPECT_NE(Canonical("[]"), Canonical("{}"));
  EXPECT_NE(Canonical("true"), Canonical("\"true\""));
}

TEST(CanonicalJson, EscapesDoNotCount) {
  EXPECT_EQ(Canonical(R"("\u0041\/\u00e9\ud83d\ude00\u000a")"),
            "\"A/\xc3\xa9\xf0\x9f\x98\x80\\n\"");
  EXPECT_EQ(Canonical(R"("\u0000\u001f\u007f")"), "\"\\u0000\\u001f\x7f\"");
  EXPECT_EQ(Canonical(R"({"\u0061":1})"), R"({"a":1})");
}

// cases/reports.md 67
TEST(CanonicalJson, LoneSurrogatesAreTextsOfTheirOwn) {
  EXPECT_EQ(Canonical(R"("\uD83D")"), R"("\ud83d")");
  EXPECT_NE(Canonical(R"("\ud83d")"), Canonical(R"("\ud83e")"));
  EXPECT_NE(Canonical(R"("\ud83d\ud83d\ude00")"), Canonical(R"("\ud83d\ude00\ud83d")"));
}

// cases/reports.md 71
TEST(CanonicalJson, LastDuplicateCounts) {
  EXPECT_EQ(Canonical(R"({"a":1,"b":3,"a":2})"), Canonical(R"({"b":3,"a":2})"));
}

// cases/reports.md 23, 25
TEST(CanonicalJson, NumbersAreExactDecimals) {
  for (const char* one : {"1", "1.0", "1e0", "10e-1", "0.1E+1", "1.000"}) {
    EXPECT_EQ(CanonicalNumber(one), "1") << one;
  }
  for (const char* zero : {"0", "-0", "0.0", "-0.0e7", "0e99999999999999999999"}) {
    EXPECT_EQ(CanonicalNumber(zero), "0") << zero;
  }
  EXPECT_EQ(CanonicalNumber("1.50e1"), "15");
  EXPECT_EQ(CanonicalNumber("-12.5"), "-12.5");
  EXPECT_EQ(CanonicalNumber("1e-7"), "0.0000001");
  EXPECT_EQ(CanonicalNumber("123e-2"), "1.23");
  EXPECT_EQ(CanonicalNumber("9007199254740993"), "9007199254740993");
  EXPECT_NE(CanonicalNumber("9007199254740993"), CanonicalNumber("9007199254740992"));
  EXPECT_EQ(CanonicalNumber("9007199254740993123"), "9007199254740993123");
  EXPECT_EQ(CanonicalNumber("-0.31326168775558472"), "-0.31326168775558472");
  EXPECT_EQ(CanonicalNumber("1e40"), "1" + std::string(40, '0'));
}

TEST(CanonicalJson, HugeExponentsAreNotWrittenOut) {
  EXPECT_EQ(CanonicalNumber("1e999999999"), "1e999999999");
  EXPECT_EQ(CanonicalNumber("10e999999998"), "1e999999999");
  EXPECT_EQ(CanonicalNumber("-120e-99999"), "-12e-99998");
  EXPECT_EQ(CanonicalNumber("1e99999999999999999999"), "1e99999999999999999999");
  EXPECT_EQ(CanonicalNumber("NaN"), "NaN");
}

// A random value written in a random style; equal values have equal canonical forms.
class Writer {
 public:
  explicit Writer(uint32_t style_seed) : style_(style_seed) {}

  // The value depends on `value` alone, its spelling on the style.
  std::string Write(std::mt19937& value, int depth) {
    switch (value() % (depth > 0 ? 6 : 4)) {
      case 0:
        return Number(static_cast<uint32_t>(value() % 1000));
      case 1:
        return String("k" + std::to_string(value() % 50) + "/\n\xc3\xa9");
      case 2:
        return "true";
      case 3:
        return "null";
      case 4:
        return Array(value, depth);
      default:
        return Object(value, depth);
    }
  }

 private:
  std::string Space() { return std::string(style_() % 3, " \n\t"[style_() % 3]); }

  std::string Number(uint32_t hundredths) {
    const std::string digits = std::to_string(hundredths);
    if (style_() % 2 == 0) return digits + "e-2";
    const std::string padded = std::string(digits.size() < 3 ? 3 - digits.size() : 0, '0') + digits;
    return padded.substr(0, padded.size() - 2) + "." + padded.substr(padded.size() - 2);
  }

  std::string String(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
      if (c == '\n') {
        out += style_() % 2 == 0 ? "\\n" : "\\u000A";
      } else if (c == '/') {
        out += style_() % 2 == 0 ? "/" : "\\/";
      } else if (c == 'k' && style_() % 2 == 0) {
        out += "\\u006b";
      } else {
        out += c;
      }
    }
    return out + "\"";
  }

  std::string Array(std::mt19937& value, int depth) {
    std::string out = "[";
    const size_t count = value() % 4;
    for (size_t i = 0; i < count; ++i) {
      out += (i > 0 ? "," : "") + Space() + Write(value, depth - 1) + Space();
    }
    return out + "]";
  }

  std::string Object(std::mt19937& value, int depth) {
    std::vector<std::string> members;
    const size_t count = value() % 4;
    for (size_t i = 0; i < count; ++i) {
      members.push_back(String("k" + std::to_string(i)) + Space() + ":" + Space() +
                        Write(value, depth - 1));
    }
    std::shuffle(members.begin(), members.end(), style_);
    std::string out = "{";
    for (size_t i = 0; i < members.size(); ++i) out += (i > 0 ? "," : "") + Space() + members[i];
    return out + Space() + "}";
  }

  std::mt19937 style_;
};

TEST(CanonicalJson, EqualValuesInAnyStyleHaveOneForm) {
  size_t distinct_spellings = 0;
  for (uint32_t seed = 0; seed < 500; ++seed) {
    std::mt19937 value_a(seed);
    std::mt19937 value_b(seed);
    const std::string a = Writer(seed * 2 + 1).Write(value_a, 4);
    const std::string b = Writer(seed * 2 + 2).Write(value_b, 4);
    distinct_spellings += a != b;
    EXPECT_EQ(Canonical(a), Canonical(b)) << a << "\n" << b;
    EXPECT_EQ(Canonical(Canonical(a)), Canonical(a));
    EXPECT_TRUE(Diff(a, b).empty()) << a << "\n" << b;
  }
  EXPECT_GT(distinct_spellings, 100u);
}

// cases/replay.md 19
TEST(DiffJson, NamesExactlyThePathsThatDiffer) {
  const auto differences =
      Diff(R"({"temperature":0,"messages":[{"content":"a"},{"content":"the cat"}],"n":1.0})",
           R"({"n":1,"messages":[{"content":"a"},{"content":"the dog"}],"temperature":0.2})");
  ASSERT_EQ(differences.size(), 2u);
  EXPECT_EQ(differences[0].path, "temperature");
  EXPECT_EQ(differences[0].expected, "0");
  EXPECT_EQ(differences[0].actual, "0.2");
  EXPECT_EQ(differences[1].path, "messages[1].content");
  EXPECT_EQ(differences[1].first_difference, 4u);
}

TEST(DiffJson, AbsentIsNamedOnItsSide) {
  const auto differences = Diff(R"({"a":null,"l":[1,2]})", R"({"b c":1,"l":[1]})");
  ASSERT_EQ(differences.size(), 3u);
  EXPECT_EQ(differences[0].path, "a");
  EXPECT_FALSE(differences[0].actual_present);
  EXPECT_EQ(differences[0].expected, "null");
  EXPECT_EQ(differences[1].path, "l[1]");
  EXPECT_FALSE(differences[1].actual_present);
  EXPECT_EQ(differences[2].path, R"(["b c"])");
  EXPECT_FALSE(differences[2].expected_present);
}

TEST(DiffJson, DifferentTypesAreOneDifference) {
  EXPECT_EQ(Diff(R"({"a":[1,2,3]})", R"({"a":{"x":1}})").size(), 1u);
  EXPECT_EQ(Diff("1", "\"1\"")[0].path, "");
}

TEST(DiffJson, StopsAtItsLimit) {
  std::string a = "[0";
  std::string b = "[1";
  for (int i = 0; i < 100; ++i) {
    a += ",0";
    b += ",1";
  }
  EXPECT_EQ(Diff(a + "]", b + "]").size(), 50u);
  EXPECT_EQ(Diff(a + "]", b + "]", 3).size(), 3u);
}

// cases/reports.md 67: our own cuts fall on code points.
TEST(DiffJson, LongTextsAreShownAroundTheDifference) {
  for (size_t shift = 0; shift < 4; ++shift) {
    std::string common(shift, 'x');
    for (int i = 0; i < 300; ++i) common += "\xf0\x9f\x98\x80";
    const auto differences =
        Diff("\"" + common + "A" + common + "\"", "\"" + common + "B" + common + "\"");
    ASSERT_EQ(differences.size(), 1u);
    const std::string& shown = differences[0].expected;
    EXPECT_LE(shown.size(), 200u);
    EXPECT_NE(shown.find('A'), std::string::npos);
    EXPECT_NE(differences[0].actual.find('B'), std::string::npos);
    EXPECT_EQ(differences[0].first_difference, common.size());
    EXPECT_TRUE(JsonDocument::Parse("\"" + shown + "\"")->anomalies().empty());
  }
}

}  // namespace
}  // namespace reenact::schema
