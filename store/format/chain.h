// The integrity chain of a segment: one definition for the writer and for `verify`.
//
//   link 0 = SHA-256("reenact segment chain 1" || segment id)
//   link n = SHA-256(link n-1 || table || ordinal n || columns)
//
// table and ordinal are varints. A column is its type and its content: 'n' (NULL), 'i' and a zigzag
// varint, 't' or 'b' and a length and the bytes. Which columns: ChainedTable::chained_columns. An
// edit, a removal or a change of order of any row breaks every link from there on.

#ifndef REENACT_STORE_FORMAT_CHAIN_H_
#define REENACT_STORE_FORMAT_CHAIN_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "schema/sha256.h"
#include "schema/ulid.h"
#include "store/format/sqlite.h"
#include "store/format/tables.h"

namespace reenact::store {

using Salt = std::array<uint8_t, 32>;

schema::Digest FirstLink(const schema::Ulid& segment_id) noexcept;

// What a body row commits to: SHA-256(salt || bytes).
schema::Digest BodyDigest(std::string_view salt, std::string_view bytes) noexcept;

// The salt of a body in a deterministic file, where it is the row of this ordinal.
Salt DeterministicSalt(int64_t ordinal, std::string_view bytes);

// What is stored of the whole of a body that was cut: SHA-256(salt || SHA-256(whole)), so that
// whoever has the whole can tell it, and nobody can once the salt is erased. Zeros, which say that
// the whole is not known, stay zeros.
schema::Digest SaltedOriginalDigest(std::string_view salt,
                                    const schema::Digest& sha256_of_whole) noexcept;

// Builds one link, column by column in the table's order, the ordinal excepted.
class Link {
 public:
  void Begin(const schema::Digest& previous, Table table, int64_t ordinal);
  void Null();
  void Integer(int64_t value);
  void Text(std::string_view value);
  void Blob(std::string_view value);
  schema::Digest Finish() const noexcept;

 private:
  std::string buffer_;  // Kept between links.
};

// The link of a row that ChainedTable::select yielded. A column of a type that the writer never
// writes gives a link that fits nothing.
schema::Digest LinkOfRow(Link* link, const schema::Digest& previous, const ChainedTable& table,
                         const sqlite::Statement& row);

// A line of manifest.jsonl without its `mac`, and the line with it. `mac` is an HMAC with the
// store's key over the unsigned line, so that lines can be neither edited nor added without the
// key. `previous` in each line is the mac of the line before, so that none can be removed or moved.
std::string SignManifestLine(std::string_view unsigned_line, std::string_view store_key);
// Splits a signed line. False when it does not have the form that SignManifestLine gives, or when
// its mac does not fit the key (`*unsigned_line` and `*mac` are set in the second case).
bool CheckManifestLine(std::string_view line, std::string_view store_key,
                       std::string* unsigned_line, std::string* mac);

}  // namespace reenact::store

#endif  // REENACT_STORE_FORMAT_CHAIN_H_
