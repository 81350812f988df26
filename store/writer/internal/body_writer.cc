#include "store/writer/internal/body_writer.h"

#include <string.h>

#include <algorithm>
#include <utility>

#include "store/store_layout.h"

namespace reenact::store {
namespace {

using schema::AsBytes;
using schema::Digest;
using sqlite::Failure;

constexpr size_t kDedupeBytes = 1024;
constexpr size_t kKnownPerGeneration = 4096;
// Bodies shorter than this gain nothing even from a prefix.
constexpr size_t kPrefixPaysBytes = 32;
// Loading a prefix costs its whole length: a small body is not worth a long one.
constexpr size_t kCheapPrefixBytes = size_t{64} << 10;
constexpr size_t kPrefixRatio = 8;

std::string_view View(const Salt& salt) {
  return {reinterpret_cast<const char*>(salt.data()), salt.size()};
}

int64_t FlagsOf(const schema::Body& body) {
  return (body.redacted ? kBodyRedacted : 0) | (body.cut ? kBodyCut : 0);
}

}  // namespace

KeyedHash::KeyedHash(std::string_view key) {
  // Source: RFC 2104; a store's key is 32 bytes, shorter than a block.
  std::array<char, 64> inner;
  std::array<char, 64> outer;
  for (size_t i = 0; i < inner.size(); ++i) {
    const char byte = i < key.size() ? key[i] : '\0';
    inner[i] = static_cast<char>(byte ^ 0x36);
    outer[i] = static_cast<char>(byte ^ 0x5c);
  }
  inner_.Update({inner.data(), inner.size()});
  outer_.Update({outer.data(), outer.size()});
}

Digest KeyedHash::operator()(char first, std::string_view bytes) const noexcept {
  schema::Sha256 inner = inner_;
  inner.Update({&first, 1});
  inner.Update(bytes);
  const Digest inner_digest = inner.Finish();
  schema::Sha256 outer = outer_;
  outer.Update(AsBytes(inner_digest));
  return outer.Finish();
}

size_t BodyWriter::DedupeKeyHash::operator()(const DedupeKey& key) const noexcept {
  size_t hash = 0;
  ::memcpy(&hash, key.data(), sizeof(hash));
  return hash;
}

BodyWriter::BodyWriter(ChainWriter* chain, const BodyWriterOptions& options)
    : chain_(chain),
      encoder_(options.compression_level),
      dedupe_hash_(options.store_key),
      dedupe_(!options.store_key.empty()),
      deterministic_(options.deterministic),
      random_used_(random_.size()) {}

Failure BodyWriter::Open(sqlite::Connection* connection) {
  if (!dedupe_) return Failure::kNone;
  sqlite::Statement statement;
  const Failure prepared =
      connection->Prepare(std::string(kBodyTable.select) +
                              " WHERE dedupe_key IS NOT NULL ORDER BY ordinal DESC LIMIT " +
                              std::to_string(kKnownPerGeneration / 2),
                          &statement);
  if (prepared != Failure::kNone) return prepared;
  while (statement.Step()) {
    DedupeKey key;
    Known known;
    const std::string_view stored_key = statement.Bytes(body_column::kDedupeKey);
    const std::string_view salt = statement.Bytes(body_column::kSalt);
    if (stored_key.size() != key.size() || salt.size() != known.salt.size()) continue;
    ::memcpy(key.data(), stored_key.data(), key.size());
    ::memcpy(known.salt.data(), salt.data(), salt.size());
    known.ordinal = statement.Integer(body_column::kOrdinal);
    known.raw_size = static_cast<uint64_t>(statement.Integer(body_column::kRawSize));
    RememberKnown(key, known);
  }
  return statement.failure();
}

void BodyWriter::RolledBack() {
  recent_.Clear();
  young_.clear();
  old_.clear();
}

bool BodyWriter::MayDedupe(const schema::Body& body, const BodyPlace& place) const {
  if (!dedupe_ || body.cut) return false;
  return place.always_dedupe || (!hurried_ && body.bytes.size() >= kDedupeBytes);
}

const BodyWriter::Known* BodyWriter::FindKnown(const DedupeKey& key) {
  if (const auto found = young_.find(key); found != young_.end()) return &found->second;
  const auto found = old_.find(key);
  if (found == old_.end()) return nullptr;
  const Known known = found->second;
  RememberKnown(key, known);
  return &young_.find(key)->second;
}

void BodyWriter::RememberKnown(const DedupeKey& key, const Known& known) {
  if (young_.size() >= kKnownPerGeneration) {
    old_.swap(young_);
    young_.clear();
  }
  young_[key] = known;
}

Salt BodyWriter::NewSalt(const schema::Body& body, int64_t ordinal) {
  Salt salt;
  if (body.salt.has_value()) return *body.salt;
  if (deterministic_) return DeterministicSalt(ordinal, body.bytes);
  if (random_used_ == random_.size()) {
    FillRandom(random_.data(), random_.size());
    random_used_ = 0;
  }
  ::memcpy(salt.data(), random_.data() + random_used_, salt.size());
  random_used_ += salt.size();
  return salt;
}

RecentBodies::Prefix BodyWriter::ChoosePrefix(const schema::Body& body, const BodyPlace& place) {
  if (place.run == 0 || body.bytes.size() < kPrefixPaysBytes) return {};
  const RecentBodies::Prefix prefix =
      recent_.FindPrefix(place.run, place.role, place.name, body.bytes);
  if (prefix.body == nullptr || prefix.body->links + 1 >= kMaxPrefixLinks) return {};
  const size_t size = prefix.body->bytes.size();
  if (size > kCheapPrefixBytes && size / kPrefixRatio > body.bytes.size()) return {};
  return prefix;
}

Failure BodyWriter::Encode(const schema::Body& body, const BodyPlace& place, RecentBody* recent) {
  if (hurried_) {
    frame_.codec = BodyCodec::kPlain;
    frame_.base = 0;
    frame_.raw_size = body.bytes.size();
    return Failure::kNone;  // AppendRow takes the bytes from where they are.
  }
  const RecentBodies::Prefix prefix = ChoosePrefix(body, place);
  const std::string_view bytes = prefix.body == nullptr ? std::string_view() : prefix.body->bytes;
  if (!encoder_.Encode(body.bytes, bytes, &frame_)) return Failure::kNoMemory;
  if (frame_.codec == BodyCodec::kZstdPrefix) {
    frame_.base = prefix.body->ordinal;
    recent->links = prefix.body->links + 1;
    recent->turn = prefix.turn;
  }
  return Failure::kNone;
}

Failure BodyWriter::AppendRow(const schema::Body& body, const DedupeKey* key, Known* known) {
  known->ordinal = chain_->Begin(kBodyTable);
  known->raw_size = body.bytes.size();
  known->salt = NewSalt(body, known->ordinal);
  const Digest digest = BodyDigest(View(known->salt), body.bytes);
  chain_->Integer(static_cast<int64_t>(body.bytes.size()));
  chain_->Blob(AsBytes(digest));
  chain_->Integer(FlagsOf(body));
  chain_->Integer(static_cast<int64_t>(body.original_size));
  Digest original;  // Bound to the statement, as `digest` is: both are read by Append.
  if (body.cut) {
    // A body that was read brings its salt, and a digest that is salted already.
    original = body.salt.has_value()
                   ? body.original_digest
                   : SaltedOriginalDigest(View(known->salt), body.original_digest);
    chain_->Blob(AsBytes(original));
  } else {
    chain_->Null();
  }
  chain_->EndChain();
  chain_->Integer(static_cast<int64_t>(frame_.codec));
  if (frame_.base == 0) {
    chain_->Null();
  } else {
    chain_->Integer(frame_.base);
  }
  chain_->Blob(View(known->salt));
  if (key == nullptr) {
    chain_->Null();
  } else {
    chain_->Blob({reinterpret_cast<const char*>(key->data()), key->size()});
  }
  chain_->Blob(frame_.codec == BodyCodec::kPlain ? std::string_view(body.bytes) : frame_.bytes);
  return chain_->Append();
}

Failure BodyWriter::Add(const schema::Body& body, const BodyPlace& place, int64_t* ordinal) {
  *ordinal = 0;
  if (body.bytes.empty() && FlagsOf(body) == 0) return Failure::kNone;
  if (body.bytes.size() > kMaxBodyBytes) return Failure::kTooBig;
  DedupeKey key;
  const bool dedupe = MayDedupe(body, place);
  if (dedupe) {
    const Digest hash = dedupe_hash_(static_cast<char>(FlagsOf(body)), body.bytes);
    std::copy_n(hash.begin(), key.size(), key.begin());
    const Known* known = FindKnown(key);
    // A copy keeps its salt, or what commits to it would commit to something else.
    if (known != nullptr && known->raw_size == body.bytes.size() &&
        (!body.salt.has_value() || *body.salt == known->salt)) {
      *ordinal = known->ordinal;
      return Failure::kNone;
    }
  }
  RecentBody recent;
  Failure failure = Encode(body, place, &recent);
  Known known;
  if (failure == Failure::kNone) failure = AppendRow(body, dedupe ? &key : nullptr, &known);
  if (failure != Failure::kNone) return failure;
  if (dedupe) RememberKnown(key, known);
  if (place.run != 0 && place.role != BodyRole::kOther && body.bytes.size() >= kPrefixPaysBytes) {
    recent.ordinal = known.ordinal;
    recent.role = place.role;
    recent.name = place.name;
    recent.bytes = body.bytes;
    recent_.Remember(place.run, std::move(recent));
  }
  *ordinal = known.ordinal;
  return Failure::kNone;
}

}  // namespace reenact::store
