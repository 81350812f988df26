#include "schema/sse.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/schema/chat_call.h"

namespace reenact::schema {
namespace {

std::vector<std::string> DataOf(const SseStream& stream) {
  std::vector<std::string> data;
  for (const SseEvent& event : stream.events) data.push_back(event.data);
  return data;
}

using Data = std::vector<std::string>;

TEST(Sse, RecordsEndAtABlankLine) {
  const SseStream stream = ParseSse("data: a\n\nevent: ping\ndata: b\n\n");
  ASSERT_EQ(stream.events.size(), 2u);
  EXPECT_EQ(stream.events[0].data, "a");
  EXPECT_EQ(stream.events[0].event, "");
  EXPECT_EQ(stream.events[1].event, "ping");
  EXPECT_EQ(stream.events[1].data, "b");
  EXPECT_TRUE(stream.anomalies.empty());
  EXPECT_FALSE(stream.missing_final_blank);
}

TEST(Sse, OffsetsSpanTheStream) {
  const std::string text = ": hello\n\ndata: a\n\nevent: e\ndata: b\n\n";
  const SseStream stream = ParseSse(text);
  ASSERT_EQ(stream.events.size(), 2u);
  EXPECT_EQ(text.substr(stream.events[0].begin_offset,
                        stream.events[0].end_offset - stream.events[0].begin_offset),
            "data: a\n\n");
  EXPECT_EQ(text.substr(stream.events[1].begin_offset), "event: e\ndata: b\n\n");
  EXPECT_EQ(stream.events[1].end_offset, text.size());
}

// cases/reports.md 4
TEST(Sse, CommentsAreCountedAndMakeNoRecord) {
  const SseStream stream =
      ParseSse(": still working\n\n: still working\n\n:\n\ndata: a\n\n: cache=hit\n\ndata: b\n\n");
  EXPECT_EQ(DataOf(stream), (Data{"a", "b"}));
  EXPECT_EQ(stream.comment_count, 4);
  EXPECT_TRUE(stream.anomalies.empty());
}

// cases/reports.md 5
TEST(Sse, OnlyTheFirstColonSplitsALine) {
  EXPECT_EQ(DataOf(ParseSse("data: k: [v: w]\n\n")), (Data{"k: [v: w]"}));
}

TEST(Sse, OneSpaceAfterTheColonIsTakenAway) {
  EXPECT_EQ(DataOf(ParseSse("data:{}\n\ndata:  x\n\n")), (Data{"{}", " x"}));
}

TEST(Sse, DataLinesAreJoinedByALineFeed) {
  EXPECT_EQ(DataOf(ParseSse("data: {\"a\":\ndata: 1}\n\n")), (Data{"{\"a\":\n1}"}));
}

TEST(Sse, AllThreeLineEndsAreReadAndNamed) {
  const SseStream crlf = ParseSse("data: a\r\n\r\ndata: b\r\n\r\n");
  EXPECT_EQ(DataOf(crlf), (Data{"a", "b"}));
  EXPECT_TRUE(Has(crlf.anomalies, "crlf"));
  EXPECT_FALSE(Has(crlf.anomalies, "cr"));
  const SseStream cr = ParseSse("data: a\r\rdata: b\r\r");
  EXPECT_EQ(DataOf(cr), (Data{"a", "b"}));
  EXPECT_TRUE(Has(cr.anomalies, "cr"));
  const SseStream mixed = ParseSse("data: a\n\r\ndata: b\r\n\n");
  EXPECT_EQ(DataOf(mixed), (Data{"a", "b"}));
}

TEST(Sse, ByteOrderMarkIsSkippedAndNamed) {
  const SseStream stream = ParseSse(
      "\xef\xbb\xbf"
      "data: a\n\n");
  EXPECT_EQ(DataOf(stream), (Data{"a"}));
  EXPECT_TRUE(Has(stream.anomalies, "bom"));
}

TEST(Sse, RecordWithoutDataIsKeptAndNamed) {
  for (const std::string_view text : {"event: ping\n\n", "id: 1\n\n", "retry: 10\n\n"}) {
    const SseStream stream = ParseSse(text);
    ASSERT_EQ(stream.events.size(), 1u) << text;
    EXPECT_FALSE(stream.events[0].has_data);
    EXPECT_TRUE(Has(stream.anomalies, "dataless_event"));
  }
  const SseStream empty = ParseSse("data:\n\n");
  ASSERT_EQ(empty.events.size(), 1u);
  EXPECT_TRUE(empty.events[0].has_data);
  EXPECT_TRUE(Has(empty.anomalies, "empty_data"));
}

TEST(Sse, IdThenCommentIsOneRecordOfData) {
  const SseStream stream = ParseSse("id: 1\ndata: a\n\n: comment\n\n");
  EXPECT_EQ(DataOf(stream), (Data{"a"}));
}

TEST(Sse, LastRecordWithoutBlankLineIsReadAndNamed) {
  for (const std::string_view text : {"data: a\n\ndata: b\n", "data: a\n\ndata: b"}) {
    const SseStream stream = ParseSse(text);
    EXPECT_EQ(DataOf(stream), (Data{"a", "b"})) << text;
    EXPECT_TRUE(stream.missing_final_blank);
    EXPECT_TRUE(Has(stream.anomalies, "missing_final_blank"));
    EXPECT_EQ(stream.events[1].end_offset, text.size());
  }
  EXPECT_FALSE(ParseSse("data: a\n\n: bye").missing_final_blank);
  EXPECT_TRUE(ParseSse("data: a\n\ndat").missing_final_blank);
}

TEST(Sse, BytesThatAreNoUtf8AreKeptAndNamed) {
  const SseStream broken = ParseSse(
      "data: a\xff"
      "b\n\n");
  EXPECT_EQ(DataOf(broken), (Data{"a\xff"
                                  "b"}));
  EXPECT_TRUE(Has(broken.anomalies, "invalid_utf8"));
  EXPECT_FALSE(Has(broken.anomalies, "incomplete_utf8"));
  for (const std::string_view tail : {"\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xed\x9f", "\xf4\x8f"}) {
    const SseStream cut = ParseSse("data: a" + std::string(tail));
    EXPECT_TRUE(Has(cut.anomalies, "incomplete_utf8")) << tail;
    EXPECT_FALSE(Has(cut.anomalies, "invalid_utf8")) << tail;
    EXPECT_EQ(DataOf(cut), (Data{"a" + std::string(tail)}));
  }
  // A surrogate's first two bytes begin no character.
  EXPECT_TRUE(Has(ParseSse("data: a\xed\xa0").anomalies, "invalid_utf8"));
}

TEST(Sse, UnknownFieldsMakeNoRecordAndAreNamed) {
  const SseStream stream = ParseSse("hello\n\n<html>\n\n");
  EXPECT_TRUE(stream.events.empty());
  EXPECT_TRUE(Has(stream.anomalies, "unknown_field"));
}

TEST(Sse, LooksLikeSseBelievesTheFirstLineOnly) {
  EXPECT_TRUE(LooksLikeSse("data: {}\n\n"));
  EXPECT_TRUE(LooksLikeSse("\n\n: ping\n\n"));
  EXPECT_TRUE(
      LooksLikeSse("\xef\xbb\xbf"
                   "event: x\n"));
  EXPECT_FALSE(LooksLikeSse(""));
  EXPECT_FALSE(LooksLikeSse("{\"data:\":1}"));
  EXPECT_FALSE(LooksLikeSse("database error"));
}

// Every prefix is what a cut connection leaves: it never yields a record that the whole does not
// have, except a last one that was cut.
TEST(Sse, EveryPrefixHoldsAPrefixOfTheRecords) {
  const std::string text =
      "\xef\xbb\xbf: x\r\n\r\nevent: e\r\ndata: caf\xc3\xa9\r\ndata: b\r\n\r\ndata: c\r\rdata: "
      "d\n\n";
  const Data whole = DataOf(ParseSse(text));
  ASSERT_EQ(whole, (Data{"caf\xc3\xa9\nb", "c", "d"}));
  for (size_t size = 0; size <= text.size(); ++size) {
    const SseStream prefix = ParseSse(std::string_view(text).substr(0, size));
    const size_t ended =
        prefix.events.size() - (prefix.missing_final_blank && !prefix.events.empty() ? 1 : 0);
    ASSERT_LE(prefix.events.size(), whole.size()) << size;
    for (size_t i = 0; i < ended; ++i) EXPECT_EQ(prefix.events[i].data, whole[i]) << size;
  }
}

// Hostile line ends must not make the cost quadratic: this takes minutes if they do.
TEST(Sse, CostIsLinearForEveryLineEnd) {
  constexpr size_t kSize = 4 << 20;
  EXPECT_TRUE(ParseSse(std::string(kSize, '\r')).events.empty());
  EXPECT_TRUE(ParseSse(std::string(kSize, '\n')).events.empty());
  EXPECT_TRUE(ParseSse(std::string(kSize, '\r') + "\n").events.empty());
}

}  // namespace
}  // namespace reenact::schema
