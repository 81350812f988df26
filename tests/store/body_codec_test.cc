#include "store/format/body_codec.h"

#include <map>
#include <optional>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace reenact::store {
namespace {

std::string RandomBytes(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

std::string RepetitiveText(size_t size) {
  std::string text;
  for (uint64_t i = 0; text.size() < size; ++i)
    text += "{\"index\":" + std::to_string(i % 977) + "},";
  text.resize(size);
  return text;
}

// Bodies of one segment, by ordinal.
class Bodies {
 public:
  void Add(int64_t ordinal, const std::string& bytes, int64_t base = 0) {
    BodyFrame frame;
    ASSERT_TRUE(encoder_.Encode(bytes, base == 0 ? "" : raw_[base], &frame));
    if (frame.codec == BodyCodec::kZstdPrefix) frame.base = base;
    raw_[ordinal] = bytes;
    frames[ordinal] = frame;
  }

  bool Decode(int64_t ordinal, std::string* bytes, std::string* why) {
    const auto fetch = [this](int64_t id, BodyFrame* frame, std::string* problem) {
      ++fetched;
      if (!frames.contains(id)) {
        *problem = "body " + std::to_string(id) + " is not there";
        return false;
      }
      *frame = frames[id];
      return true;
    };
    return decoder->Decode(ordinal, fetch, bytes, why);
  }

  // Decodes with a new decoder and expects a failure that names `name`.
  void ExpectFailure(int64_t ordinal, const std::string& name) {
    decoder.emplace();
    std::string bytes;
    std::string why;
    EXPECT_FALSE(Decode(ordinal, &bytes, &why));
    EXPECT_NE(why.find(name), std::string::npos) << why;
  }

  std::map<int64_t, BodyFrame> frames;
  int fetched = 0;
  std::optional<BodyDecoder> decoder{std::in_place};

 private:
  BodyEncoder encoder_{1};
  std::map<int64_t, std::string> raw_;
};

TEST(BodyCodec, BodiesOfEverySizeAndKindComeBack) {
  Bodies bodies;
  int64_t ordinal = 0;
  std::vector<std::string> given;
  for (const size_t size : {0, 1, 31, 96, 97, 1000, 4096, 70'000, 300'000, 3'000'000}) {
    given.push_back(RandomBytes(size, 1));
    given.push_back(RepetitiveText(size));
    given.push_back(std::string(size, '\0'));
  }
  for (const std::string& bytes : given) bodies.Add(++ordinal, bytes);
  for (ordinal = 1; ordinal <= static_cast<int64_t>(given.size()); ++ordinal) {
    std::string bytes;
    std::string why;
    ASSERT_TRUE(bodies.Decode(ordinal, &bytes, &why)) << why;
    EXPECT_TRUE(bytes == given[static_cast<size_t>(ordinal - 1)]);
    EXPECT_LE(bodies.frames[ordinal].bytes.size(), bytes.size());
  }
}

TEST(BodyCodec, ARequestThatExtendsAnotherCostsWhatIsNew) {
  // Noise, so that nothing but the prefix can make it small. Far beyond the window of a low level.
  for (const size_t size : {20'000, 200'000, 1'000'000, 2'000'000}) {
    Bodies bodies;
    const std::string first = RandomBytes(size, 7);
    const std::string second = first + RandomBytes(4000, 8);
    bodies.Add(1, first);
    bodies.Add(2, second, 1);
    EXPECT_EQ(bodies.frames[2].codec, BodyCodec::kZstdPrefix) << size;
    EXPECT_LT(bodies.frames[2].bytes.size(), 4500U) << size;
    std::string bytes;
    std::string why;
    ASSERT_TRUE(bodies.Decode(2, &bytes, &why)) << why;
    EXPECT_TRUE(bytes == second);
  }
}

TEST(BodyCodec, AnEditInTheMiddleOfALongPrefixCostsLittle) {
  Bodies bodies;
  std::string first = RandomBytes(1'500'000, 7);
  std::string second = first;
  second.insert(100, "inserted");
  second.erase(900'000, 50);
  bodies.Add(1, first);
  bodies.Add(2, second, 1);
  EXPECT_LT(bodies.frames[2].bytes.size(), 2000U);
  std::string bytes;
  std::string why;
  ASSERT_TRUE(bodies.Decode(2, &bytes, &why)) << why;
  EXPECT_TRUE(bytes == second);
}

TEST(BodyCodec, ReadingAChainInOrderDecodesEachBodyOnce) {
  Bodies bodies;
  std::string history;
  for (int64_t turn = 1; turn <= kMaxPrefixLinks; ++turn) {
    history += RandomBytes(3000, static_cast<uint32_t>(turn));
    bodies.Add(turn, history, turn - 1);
  }
  std::string bytes;
  std::string why;
  for (int64_t turn = 1; turn <= kMaxPrefixLinks; ++turn) {
    ASSERT_TRUE(bodies.Decode(turn, &bytes, &why)) << why;
  }
  EXPECT_TRUE(bytes == history);
  EXPECT_EQ(bodies.fetched, kMaxPrefixLinks);
  bodies.decoder.emplace();
  ASSERT_TRUE(bodies.Decode(kMaxPrefixLinks, &bytes, &why)) << why;
  EXPECT_TRUE(bytes == history);
}

// cases/replay.md 20
TEST(BodyCodec, DamageIsAnErrorThatNamesTheBody) {
  Bodies bodies;
  const std::string text = RepetitiveText(5000);
  bodies.Add(3, text);
  bodies.Add(4, text + "more", 3);
  const std::map<int64_t, BodyFrame> good = bodies.frames;

  bodies.frames[4].base = 4;
  bodies.ExpectFailure(4, "body 4");
  bodies.frames[4].base = 5;
  bodies.ExpectFailure(4, "body 4");
  bodies.frames[4].base = -1;
  bodies.ExpectFailure(4, "body 4");
  bodies.frames[4].base = 1;
  bodies.ExpectFailure(4, "body 1");
  bodies.frames = good;
  bodies.frames[3].raw_size = uint64_t{1} << 62;
  bodies.ExpectFailure(3, "body 3");
  bodies.frames[3].raw_size = kMaxBodyBytes;
  bodies.ExpectFailure(3, "body 3");
  bodies.frames[3].raw_size = 4999;
  bodies.ExpectFailure(3, "body 3");
  bodies.frames[3].raw_size = 5001;
  bodies.ExpectFailure(4, "body 3");
  bodies.frames = good;
  bodies.frames[3].codec = static_cast<BodyCodec>(9);
  bodies.ExpectFailure(3, "codec 9");
  bodies.frames[3].codec = BodyCodec::kPlain;
  bodies.ExpectFailure(3, "body 3");
  bodies.frames.erase(3);
  bodies.ExpectFailure(4, "body 3 is not there");
}

TEST(BodyCodec, AChainThatIsTooLongIsRefused) {
  Bodies bodies;
  std::string history;
  for (int64_t turn = 1; turn <= kMaxPrefixLinks + 3; ++turn) {
    history += RandomBytes(500, static_cast<uint32_t>(turn));
    bodies.Add(turn, history, turn - 1);
  }
  bodies.ExpectFailure(kMaxPrefixLinks + 3, "too long");
}

TEST(BodyCodec, RandomDamageNeverCrashesAndNeverPassesForAnotherSize) {
  Bodies bodies;
  const std::string text = RepetitiveText(3000);
  bodies.Add(1, text);
  bodies.Add(2, text + text.substr(0, 777), 1);
  const std::map<int64_t, BodyFrame> good = bodies.frames;
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    bodies.frames = good;
    std::string& frame = bodies.frames[1 + random() % 2].bytes;
    for (uint32_t edits = 1 + random() % 4; edits > 0; --edits) {
      frame[random() % frame.size()] = static_cast<char>(random());
    }
    if (random() % 4 == 0) frame.resize(random() % frame.size());
    bodies.decoder.emplace();
    std::string bytes;
    std::string why;
    if (bodies.Decode(2, &bytes, &why)) {
      EXPECT_EQ(bytes.size(), text.size() + 777);
    } else {
      EXPECT_NE(why.find("body "), std::string::npos);
    }
  }
}

TEST(BodyCodec, AColumnComesBackAndDamageIsRefused) {
  BodyEncoder encoder(1);
  for (const std::string& bytes : {std::string(), std::string("\0", 1), std::string("short"),
                                   RepetitiveText(100'000), RandomBytes(500, 1)}) {
    std::string packed;
    std::string unpacked;
    ASSERT_TRUE(encoder.Pack(bytes, &packed));
    ASSERT_TRUE(Unpack(packed, 100'000, &unpacked));
    EXPECT_TRUE(unpacked == bytes);
    if (!bytes.empty()) {
      EXPECT_FALSE(Unpack(packed, bytes.size() - 1, &unpacked));
    }
  }
  std::string unpacked;
  EXPECT_FALSE(
      Unpack("\x02"
             "abc",
             1000, &unpacked));
  EXPECT_FALSE(Unpack("\x01", 1000, &unpacked));
  EXPECT_FALSE(Unpack(std::string("\x01\xff\xff\xff\xff\x0f", 6), size_t{1} << 40, &unpacked));
}

}  // namespace
}  // namespace reenact::store
