// The redaction policy as it lies in a ring, so that the recovery of a dead process redacts as its
// owner would have. A double buffer: learned secrets are written into the other half, then the
// index moves.

#ifndef REENACT_STORE_RING_INTERNAL_RING_POLICY_H_
#define REENACT_STORE_RING_INTERNAL_RING_POLICY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "schema/redaction.h"
#include "store/ring/internal/ring_layout.h"

namespace reenact::store {

std::string EncodePolicy(const schema::RedactionPolicy& policy);
// False when `bytes` is not what EncodePolicy writes; bytes behind it are ignored.
bool DecodePolicy(std::string_view bytes, schema::RedactionPolicy* policy);

// At most this many learned secrets are kept, the latest ones; what the host gave is always kept.
inline constexpr size_t kMaxLearnedSecrets = 64;
// Room for learned secrets in each half.
inline constexpr size_t kLearnedBytes = 60 * 1024;

class RingPolicy {
 public:
  // Writes `policy` into the ring at `base`, whose header says where. The half must be large
  // enough.
  RingPolicy(char* base, const schema::RedactionPolicy& policy);

  // Cost: a scan of kMaxLearnedSecrets words when the secret is known. Any thread.
  void Learn(std::string_view secret) noexcept;
  std::shared_ptr<const schema::RedactionPolicy> Snapshot() const;

 private:
  void LearnNew(std::string_view secret);
  void Write(const schema::RedactionPolicy& policy);

  char* base_;
  RingHeader* header_;
  const size_t given_count_;  // Secrets that the host gave: the first ones of the list.
  std::atomic<uint64_t> known_[kMaxLearnedSecrets] = {};  // Hashes, 0 where none.
  mutable std::mutex mutex_;
  std::shared_ptr<const schema::RedactionPolicy> current_;
};

}  // namespace reenact::store

#endif  // REENACT_STORE_RING_INTERNAL_RING_POLICY_H_
