// Writes bodies: salt and digest, de-duplication, the choice of a prefix, the frame, the row.

#ifndef REENACT_STORE_WRITER_INTERNAL_BODY_WRITER_H_
#define REENACT_STORE_WRITER_INTERNAL_BODY_WRITER_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "schema/record.h"
#include "store/format/body_codec.h"
#include "store/format/sqlite.h"
#include "store/writer/internal/chain_writer.h"
#include "store/writer/internal/recent_bodies.h"

namespace reenact::store {

// HMAC-SHA-256 with one key, its two key blocks hashed once.
class KeyedHash {
 public:
  explicit KeyedHash(std::string_view key);
  schema::Digest operator()(char first, std::string_view bytes) const noexcept;

 private:
  schema::Sha256 inner_;
  schema::Sha256 outer_;
};

// Where a body belongs.
struct BodyPlace {
  int64_t run = 0;
  BodyRole role = BodyRole::kOther;
  std::string_view name;
  bool always_dedupe = false;  // Components: content of any size.
};

struct BodyWriterOptions {
  std::string_view store_key;  // Empty: no de-duplication.
  bool deterministic = false;
  int compression_level = 1;
};

class BodyWriter {
 public:
  BodyWriter(ChainWriter* chain, const BodyWriterOptions& options);

  // Fills the memory of what is there from the bodies written last.
  sqlite::Failure Open(sqlite::Connection* connection);

  // The ordinal of the row that holds `body`, new or not; 0 for an empty body without flags, which
  // has none.
  sqlite::Failure Add(const schema::Body& body, const BodyPlace& place, int64_t* ordinal);

  void SetHurried(bool hurried) { hurried_ = hurried; }

  void ForgetRun(int64_t run) { recent_.ForgetRun(run); }

  // Rows were rolled back: forgets everything that may name one of them.
  void RolledBack();

 private:
  using DedupeKey = std::array<uint8_t, 16>;

  struct DedupeKeyHash {
    size_t operator()(const DedupeKey& key) const noexcept;
  };

  struct Known {
    int64_t ordinal = 0;
    uint64_t raw_size = 0;
    Salt salt{};
  };

  bool MayDedupe(const schema::Body& body, const BodyPlace& place) const;
  const Known* FindKnown(const DedupeKey& key);
  void RememberKnown(const DedupeKey& key, const Known& known);
  Salt NewSalt(const schema::Body& body, int64_t ordinal);
  RecentBodies::Prefix ChoosePrefix(const schema::Body& body, const BodyPlace& place);
  // Fills frame_, and of `*recent` what is known of the body as a prefix for others.
  sqlite::Failure Encode(const schema::Body& body, const BodyPlace& place, RecentBody* recent);
  sqlite::Failure AppendRow(const schema::Body& body, const DedupeKey* key, Known* known);

  ChainWriter* chain_;
  BodyEncoder encoder_;
  KeyedHash dedupe_hash_;
  bool dedupe_;
  bool deterministic_;
  bool hurried_ = false;
  RecentBodies recent_;
  // Two generations: what is not asked for while one fills up is forgotten.
  std::unordered_map<DedupeKey, Known, DedupeKeyHash> young_;
  std::unordered_map<DedupeKey, Known, DedupeKeyHash> old_;
  BodyFrame frame_;
  std::array<uint8_t, 2048> random_;
  size_t random_used_;
};

}  // namespace reenact::store

#endif  // REENACT_STORE_WRITER_INTERNAL_BODY_WRITER_H_
