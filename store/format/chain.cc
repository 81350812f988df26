#include "store/format/chain.h"

#include "schema/varint.h"

namespace reenact::store {

using schema::AsBytes;
using schema::Digest;

Digest FirstLink(const schema::Ulid& segment_id) noexcept {
  schema::Sha256 hash;
  hash.Update("reenact segment chain 1");
  hash.Update(segment_id.AsBytes());
  return hash.Finish();
}

Digest BodyDigest(std::string_view salt, std::string_view bytes) noexcept {
  schema::Sha256 hash;
  hash.Update(salt);
  hash.Update(bytes);
  return hash.Finish();
}

Salt DeterministicSalt(int64_t ordinal, std::string_view bytes) {
  std::string prefix = "reenact salt";
  schema::PutVarint(&prefix, static_cast<uint64_t>(ordinal));
  return BodyDigest(prefix, bytes);
}

Digest SaltedOriginalDigest(std::string_view salt, const Digest& sha256_of_whole) noexcept {
  if (sha256_of_whole == Digest{}) return sha256_of_whole;
  return BodyDigest(salt, AsBytes(sha256_of_whole));
}

void Link::Begin(const Digest& previous, Table table, int64_t ordinal) {
  buffer_.assign(AsBytes(previous));
  schema::PutVarint(&buffer_, static_cast<uint64_t>(table));
  schema::PutVarint(&buffer_, static_cast<uint64_t>(ordinal));
}

void Link::Null() {
  buffer_.push_back('n');
}

void Link::Integer(int64_t value) {
  buffer_.push_back('i');
  schema::PutSigned(&buffer_, value);
}

void Link::Text(std::string_view value) {
  buffer_.push_back('t');
  schema::PutString(&buffer_, value);
}

void Link::Blob(std::string_view value) {
  buffer_.push_back('b');
  schema::PutString(&buffer_, value);
}

Digest Link::Finish() const noexcept {
  return schema::HashBytes(buffer_);
}

Digest LinkOfRow(Link* link, const Digest& previous, const ChainedTable& table,
                 const sqlite::Statement& row) {
  link->Begin(previous, table.id, row.Integer(0));
  for (int column = 1; column < table.chained_columns; ++column) {
    switch (row.Type(column)) {
      case sqlite::ValueType::kNull:
        link->Null();
        break;
      case sqlite::ValueType::kInteger:
        link->Integer(row.Integer(column));
        break;
      case sqlite::ValueType::kText:
        link->Text(row.Bytes(column));
        break;
      case sqlite::ValueType::kBlob:
        link->Blob(row.Bytes(column));
        break;
      case sqlite::ValueType::kOther:
        return Digest{};
    }
  }
  return link->Finish();
}

namespace {

constexpr std::string_view kMacStart = ",\"mac\":\"";
constexpr size_t kMacHexSize = 64;
constexpr size_t kMacPartSize = kMacStart.size() + kMacHexSize + 2;  // ...and "}

}  // namespace

std::string SignManifestLine(std::string_view unsigned_line, std::string_view store_key) {
  const Digest mac = schema::HmacSha256(store_key, unsigned_line);
  std::string line(unsigned_line.substr(0, unsigned_line.size() - 1));  // Without the last brace.
  line.append(kMacStart);
  line.append(schema::ToHex(mac));
  line.append("\"}");
  return line;
}

bool CheckManifestLine(std::string_view line, std::string_view store_key,
                       std::string* unsigned_line, std::string* mac) {
  unsigned_line->clear();
  mac->clear();
  if (line.size() <= kMacPartSize || line.front() != '{' || !line.ends_with("\"}")) return false;
  const size_t cut = line.size() - kMacPartSize;
  if (line.substr(cut, kMacStart.size()) != kMacStart) return false;
  unsigned_line->assign(line.substr(0, cut)).append("}");
  mac->assign(line.substr(cut + kMacStart.size(), kMacHexSize));
  return *mac == schema::ToHex(schema::HmacSha256(store_key, *unsigned_line));
}

}  // namespace reenact::store
