#include "schema/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace reenact::schema {

namespace internal {
void CompressSha256Scalar(uint32_t* state, const uint8_t* blocks, size_t block_count);
}

namespace {

std::string HexOfHash(std::string_view bytes) {
  return ToHex(HashBytes(bytes));
}

// Source: FIPS 180-4 examples, published by NIST.
TEST(Sha256, KnownValues) {
  EXPECT_EQ(HexOfHash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HexOfHash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HexOfHash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(HexOfHash("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
                      "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(HexOfHash(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Source: RFC 4231, test cases 1 to 4, 6 and 7.
TEST(Sha256, KnownHmacValues) {
  const auto hmac = [](std::string_view key, std::string_view message) {
    return ToHex(HmacSha256(key, message));
  };
  EXPECT_EQ(hmac(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac(std::string(20, '\xaa'), std::string(50, '\xdd')),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  std::string counted;
  for (char c = 1; c <= 25; ++c) counted.push_back(c);
  EXPECT_EQ(hmac(counted, std::string(50, '\xcd')),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
  EXPECT_EQ(
      hmac(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  EXPECT_EQ(hmac(std::string(131, '\xaa'),
                 "This is a test using a larger than block-size key and a larger than block-size "
                 "data. The key needs to be hashed before being used by the HMAC algorithm."),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST(Sha256, EveryCutOfTheInputGivesTheSameDigest) {
  std::string text;
  for (int i = 0; i < 200; ++i) text.push_back(static_cast<char>(i * 7));
  const Digest whole = HashBytes(text);
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    Sha256 hash;
    hash.Update(std::string_view(text).substr(0, cut));
    hash.Update(std::string_view(text).substr(cut));
    EXPECT_EQ(hash.Finish(), whole) << "cut at " << cut;
  }
}

// The padding by hand, and the scalar rounds: what every machine without the instructions does.
std::string ScalarHash(std::string message) {
  const uint64_t bit_count = message.size() * 8;
  message.push_back('\x80');
  while (message.size() % 64 != 56) message.push_back('\0');
  for (int shift = 56; shift >= 0; shift -= 8) {
    message.push_back(static_cast<char>(bit_count >> shift));
  }
  std::array<uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  internal::CompressSha256Scalar(state.data(), reinterpret_cast<const uint8_t*>(message.data()),
                                 message.size() / 64);
  std::string digest;
  for (const uint32_t word : state) {
    for (int shift = 24; shift >= 0; shift -= 8) digest.push_back(static_cast<char>(word >> shift));
  }
  return ToHex(digest);
}

TEST(Sha256, ScalarCodeAndTheOneInUseAgree) {
  EXPECT_EQ(ScalarHash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  std::string message;
  for (size_t size = 0; size < 300; ++size) {
    EXPECT_EQ(ScalarHash(message), HexOfHash(message)) << size << " bytes";
    message.push_back(static_cast<char>(size * size + 3));
  }
}

TEST(Sha256, HexIsLowerCase) {
  EXPECT_EQ(ToHex(std::string_view("\x00\xaf\x10", 3)), "00af10");
}

}  // namespace
}  // namespace reenact::schema
