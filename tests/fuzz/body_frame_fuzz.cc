// Compressed bodies as rows hold them, before their digest is checked: chains of frames, in any
// order and circles too, and packed columns. The input is rows of a codec, a base and a size.

#include "store/format/body_codec.h"
#include "tests/fuzz/fuzz_target.h"

namespace reenact::fuzz::body_frame {
namespace {

constexpr size_t kMaxUnpacked = size_t{1} << 20;

std::vector<store::BodyFrame> Rows(std::string_view bytes) {
  std::vector<store::BodyFrame> rows;
  while (bytes.size() >= 4) {
    store::BodyFrame row;
    row.codec = static_cast<store::BodyCodec>(bytes[0]);
    row.base = static_cast<int8_t>(bytes[1]);
    row.raw_size = uint64_t{1} << (static_cast<uint8_t>(bytes[2]) % 64);
    if ((bytes[2] & 0x40) == 0) row.raw_size = static_cast<uint8_t>(bytes[2]) * 16;
    const size_t size = std::min<size_t>(static_cast<uint8_t>(bytes[3]), bytes.size() - 4);
    row.bytes = bytes.substr(4, size);
    bytes.remove_prefix(4 + size);
    rows.push_back(std::move(row));
  }
  return rows;
}

void AppendRow(const store::BodyFrame& row, std::string* out) {
  *out += static_cast<char>(row.codec);
  *out += static_cast<char>(row.base);
  *out += static_cast<char>(row.raw_size / 16);
  *out += static_cast<char>(row.bytes.size());
  *out += row.bytes;
}

}  // namespace

void FuzzOne(std::string_view bytes) {
  const std::vector<store::BodyFrame> rows = Rows(bytes);
  const auto fetch = [&](int64_t ordinal, store::BodyFrame* frame, std::string* why) {
    if (ordinal < 1 || ordinal > static_cast<int64_t>(rows.size())) {
      *why = "no such row";
      return false;
    }
    *frame = rows[static_cast<size_t>(ordinal) - 1];
    return true;
  };
  store::BodyDecoder decoder;
  for (size_t row = 1; row <= std::min<size_t>(rows.size(), 32); ++row) {
    std::string body;
    std::string why;
    if (!decoder.Decode(static_cast<int64_t>(row), fetch, &body, &why)) {
      if (why.empty()) Broken("an error without words");
      continue;
    }
    if (body.size() != rows[row - 1].raw_size) Broken("a body of another size");
    if (rows[row - 1].codec == store::BodyCodec::kZstdPrefix) Reached();
  }
  std::string unpacked;
  if (store::Unpack(bytes, kMaxUnpacked, &unpacked) && unpacked.size() > kMaxUnpacked) {
    Broken("more bytes than allowed");
  }
}

std::vector<std::string> Seeds() {
  store::BodyEncoder encoder(3);
  std::string text;
  std::string rows;
  std::string before;
  for (int turn = 0; turn < 4; ++turn) {
    text.append(80, static_cast<char>('a' + turn))
        .append("Please refund order A-7 today, of 120 euros.    ");
    text.resize(text.size() / 16 * 16);
    store::BodyFrame frame;
    if (!encoder.Encode(text, before, &frame)) Broken("no memory");
    if (frame.codec == store::BodyCodec::kZstdPrefix) frame.base = turn;
    AppendRow(frame, &rows);
    before = text;
  }
  std::string packed;
  if (!encoder.Pack(text, &packed)) Broken("no memory");
  return {rows, packed};
}

std::vector<std::string> Tokens() {
  return {"\x28\xb5\x2f\xfd", std::string("\x02\x01", 2), std::string(4, '\0'),
          "\x01\xff\xff\xff\x7f"};
}

const bool added = AddTarget({"body_frame", FuzzOne, Seeds, Tokens});

}  // namespace reenact::fuzz::body_frame
