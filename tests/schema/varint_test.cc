#include "schema/varint.h"

#include "gtest/gtest.h"

namespace reenact::schema {
namespace {

TEST(Varint, AWriterWritesWhatTheFunctionsWrite) {
  // Around the size of what a writer gathers, where it has to append in between.
  for (size_t size = 0; size < 600; ++size) {
    const std::string text(size, 'x');
    std::string expected = "before";
    std::string written = "before";
    Writer writer(&written);
    for (int i = 0; i < 3; ++i) {
      PutString(&expected, text);
      PutVarint(&expected, UINT64_MAX >> (size % 64));
      PutSigned(&expected, -static_cast<int64_t>(size));
      expected += text;
      writer.String(text);
      writer.Varint(UINT64_MAX >> (size % 64));
      writer.Signed(-static_cast<int64_t>(size));
      writer.Bytes(text);
    }
    writer.Flush();
    ASSERT_EQ(written, expected) << size;
  }
}

TEST(Varint, NumbersOfEveryLengthComeBack) {
  std::string bytes;
  for (int bit = 0; bit < 64; ++bit) {
    PutVarint(&bytes, (uint64_t{1} << bit) - 1);
    PutSigned(&bytes, INT64_MIN >> bit);
  }
  Reader reader(bytes);
  for (int bit = 0; bit < 64; ++bit) {
    EXPECT_EQ(reader.Varint(), (uint64_t{1} << bit) - 1);
    EXPECT_EQ(reader.Signed(), INT64_MIN >> bit);
  }
  EXPECT_TRUE(reader.ok() && reader.AtEnd());
}

}  // namespace
}  // namespace reenact::schema
