// How an answer arrived: status lines, headers, reads of bytes, attempts, and when each came.
//
// The bytes themselves are kept apart, joined (Body::bytes); an Exchange is the list that cuts
// them up again. It never holds text that a provider sent, except status and allowed headers.

#ifndef REENACT_SCHEMA_EXCHANGE_H_
#define REENACT_SCHEMA_EXCHANGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reenact::schema {

// In the order seen, duplicates kept, names as seen.
using Headers = std::vector<std::pair<std::string, std::string>>;

// Values are stored; never renumber.
enum class ExchangeItemKind : uint8_t {
  kHead = 1,        // Status and headers of the attempt that starts here.
  kBytes = 2,       // `size` further bytes of the joined body, one read of the transport.
  kAttemptEnd = 3,  // The transport gave up on this attempt (`detail` says why) and tried again.
};

struct ExchangeItem {
  ExchangeItemKind kind = ExchangeItemKind::kBytes;
  int64_t offset_ns = 0;  // Monotonic time since the call began.
  uint64_t size = 0;      // kBytes only.
  int32_t status = 0;     // kHead only: HTTP status, 0 where there is none (a tool).
  Headers headers;        // kHead only.
  std::string detail;     // kAttemptEnd only: an end state, see record.h.

  bool operator==(const ExchangeItem&) const = default;
};

using Exchange = std::vector<ExchangeItem>;

std::string EncodeExchange(const Exchange& exchange);
// Appends one item's encoding; EncodeExchange is this, item by item. `previous_offset_ns` is the
// offset of the item before it (0 for the first).
void AppendExchangeItem(std::string* out, const ExchangeItem& item, int64_t previous_offset_ns);
// Nothing when `bytes` is not what EncodeExchange writes.
std::optional<Exchange> DecodeExchange(std::string_view bytes);

// The sum of all kBytes sizes. Equal to the size of the body, or the record is damaged.
uint64_t BodySize(const Exchange& exchange);
// Attempts made: 1 + the number of kAttemptEnd items.
int64_t AttemptCount(const Exchange& exchange);

// The items and the bytes of the last attempt, which is the answer that the caller saw.
struct LastAttempt {
  int32_t status = 0;
  const Headers* headers = nullptr;  // Into the exchange; null where no head was recorded.
  std::string_view body;             // Into `body`.
};

LastAttempt FindLastAttempt(const Exchange& exchange, std::string_view body);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_EXCHANGE_H_
