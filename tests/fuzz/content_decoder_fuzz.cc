// Compressed bodies as providers send them: cuts make no difference to what they decode to, pieces
// stay small, and there is an end. The first byte says which encoding; the rest is the body.

#include "schema/content_decoder.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/content_encodings.h"

namespace reenact::fuzz::content_decoder {
namespace {

constexpr std::string_view kEncodings[] = {"gzip", "deflate", "br", "zstd"};
constexpr size_t kLargestPiece = size_t{64} << 10;
// Kept for the comparison; what comes after it is counted.
constexpr size_t kMostKept = size_t{4} << 20;

struct Decoded {
  bool good = true;
  std::string text;
  uint64_t size = 0;
};

Decoded Decode(std::string_view encoding, std::string_view body, size_t piece) {
  const auto decoder = schema::ContentDecoder::For(encoding);
  Decoded decoded;
  const auto sink = [&](std::string_view made) {
    if (made.empty() || made.size() > kLargestPiece) Broken("a piece of no size, or too large");
    decoded.size += made.size();
    if (decoded.text.size() < kMostKept) decoded.text += made;
  };
  for (size_t at = 0; decoded.good && at < body.size(); at += piece) {
    decoded.good = decoder->Decode(body.substr(at, piece), sink);
  }
  if (decoded.size > schema::kMostDecodedBytes) Broken("more was decoded than is allowed");
  return decoded;
}

}  // namespace

void FuzzOne(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::string_view encoding = kEncodings[static_cast<uint8_t>(bytes[0]) % 4];
  const std::string_view body = bytes.substr(1);
  const Decoded whole = Decode(encoding, body, body.size() + 1);
  bool decoded = false;
  const std::string text = schema::DecodedBody(body, encoding, &decoded);
  if (decoded != whole.good) Broken("at once it is another body");
  if (!decoded && text != body) Broken("what was not decoded was changed");
  if (decoded && text.size() != whole.size) Broken("a body of another size");
  for (const size_t piece : {size_t{1}, size_t{7}}) {
    // Each call clears a piece's room; a long body makes enough of them with the larger cuts.
    if (body.size() / piece > 512) continue;
    const Decoded cut = Decode(encoding, body, piece);
    if (cut.good != whole.good) Broken("a cut decides whether it can be decoded");
    if (cut.good && (cut.text != whole.text || cut.size != whole.size)) Broken("a cut shows");
  }
  if (whole.good && whole.size != 0) Reached();
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  const std::string events =
      "data: {\"n\":1}\n\ndata: {\"n\":2}\n\ndata: {\"n\":3}\n\ndata: [DONE]\n\n";
  const std::string zeros(size_t{1} << 20, '\0');
  for (size_t i = 0; i < std::size(kEncodings); ++i) {
    const auto select = static_cast<char>(i);
    const std::string wire = testing::Encoded(events, kEncodings[i]);
    seeds.push_back(select + wire);
    seeds.push_back(select + wire.substr(0, wire.size() / 2));
    seeds.push_back(select + wire + testing::Encoded("more", kEncodings[i]));
    seeds.push_back(select + testing::Encoded(zeros, kEncodings[i]));
    seeds.push_back(select + events);
  }
  seeds.push_back('\1' + testing::RawDeflated(events));
  return seeds;
}

std::vector<std::string> Tokens() {
  return {"\x1f\x8b\x08",         "\x1f\x8b\x08\x1f", "\x78\x9c", "\x28\xb5\x2f\xfd",
          "\x50\x2a\x4d\x18",     "\x8b\x01\x80",     "\x03",     std::string("\0\0\xff\xff", 4),
          std::string(64, '\xff')};
}

const bool added = AddTarget({"content_decoder", FuzzOne, Seeds, Tokens});

}  // namespace reenact::fuzz::content_decoder
