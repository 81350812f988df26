#include "local_engine/numerics/sha256.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/numerics/sha256_blocks.h"

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

TEST(Sha256, TheInstructionsOfTheProcessorGiveWhatPlainIntegersGive) {
  const Sha256Blocks by_instructions = Sha256BlocksByInstructions();
  if (by_instructions == nullptr) GTEST_SKIP() << "this processor has no instructions for SHA-256";
  std::vector<uint8_t> blocks(1 + 33 * kSha256BlockBytes);
  uint32_t random = 1;
  for (uint8_t& byte : blocks) {
    random = random * 1664525u + 1013904223u;
    byte = static_cast<uint8_t>(random >> 24);
  }
  for (size_t misaligned : {0, 1}) {
    for (size_t count : {0, 1, 2, 33}) {
      std::array<uint32_t, 8> state;
      for (uint32_t& word : state) word = random = random * 1664525u + 1013904223u;
      std::array<uint32_t, 8> plain = state;
      by_instructions(state.data(), blocks.data() + misaligned, count);
      Sha256BlocksPlain(plain.data(), blocks.data() + misaligned, count);
      EXPECT_EQ(state, plain) << count << " blocks";
    }
  }
}

}  // namespace
}  // namespace reenact::local_engine
