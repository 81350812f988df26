#include "local_engine/numerics/sha256.h"

#include <algorithm>
#include <string>

#include "gtest/gtest.h"

namespace reenact::local_engine {
namespace {

std::string HexOf(const std::string& text) {
  return HexText(Sha256Of(text.data(), text.size()));
}

TEST(Sha256, GivesThePublishedAnswers) {  // FIPS 180-4 and NIST's example values.
  EXPECT_EQ(HexOf(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HexOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HexOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(HexOf(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnHowItIsFed) {
  const std::string text(1000, 'x');
  for (size_t piece : {1, 3, 63, 64, 65, 127, 999}) {
    Sha256 hash;
    for (size_t at = 0; at < text.size(); at += piece) {
      hash.Update(text.data() + at, std::min(piece, text.size() - at));
    }
    EXPECT_EQ(HexText(hash.Finish()), HexOf(text)) << piece;
  }
}

}  // namespace
}  // namespace reenact::local_engine
