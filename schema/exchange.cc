#include "schema/exchange.h"

#include <algorithm>
#include <limits>

#include "schema/varint.h"

namespace reenact::schema {
namespace {

// Differences wrap, so that any pair of offsets survives the round trip.
int64_t Minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

int64_t Plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

bool ReadHead(Reader* reader, ExchangeItem* item) {
  const int64_t status = reader->Signed();
  if (status != static_cast<int32_t>(status)) return false;
  item->status = static_cast<int32_t>(status);
  const uint64_t count = reader->Varint();
  for (uint64_t i = 0; i < count && reader->ok(); ++i) {  // A false count ends with the bytes.
    const std::string_view name = reader->String();
    const std::string_view value = reader->String();
    if (reader->ok()) item->headers.emplace_back(name, value);
  }
  return reader->ok();
}

bool ReadItem(Reader* reader, ExchangeItem* item) {
  const uint64_t kind = reader->Varint();
  item->offset_ns = reader->Signed();
  switch (kind) {
    case static_cast<uint64_t>(ExchangeItemKind::kHead):
      item->kind = ExchangeItemKind::kHead;
      return ReadHead(reader, item);
    case static_cast<uint64_t>(ExchangeItemKind::kBytes):
      item->kind = ExchangeItemKind::kBytes;
      item->size = reader->Varint();
      return reader->ok();
    case static_cast<uint64_t>(ExchangeItemKind::kAttemptEnd):
      item->kind = ExchangeItemKind::kAttemptEnd;
      item->detail = reader->String();
      return reader->ok();
    default:
      return false;
  }
}

}  // namespace

void AppendExchangeItem(std::string* out, const ExchangeItem& item, int64_t previous_offset_ns) {
  PutVarint(out, static_cast<uint64_t>(item.kind));
  PutSigned(out, Minus(item.offset_ns, previous_offset_ns));
  switch (item.kind) {
    case ExchangeItemKind::kHead:
      PutSigned(out, item.status);
      PutVarint(out, item.headers.size());
      for (const auto& [name, value] : item.headers) {
        PutString(out, name);
        PutString(out, value);
      }
      break;
    case ExchangeItemKind::kBytes:
      PutVarint(out, item.size);
      break;
    case ExchangeItemKind::kAttemptEnd:
      PutString(out, item.detail);
      break;
  }
}

std::string EncodeExchange(const Exchange& exchange) {
  std::string out;
  int64_t previous_offset_ns = 0;
  for (const ExchangeItem& item : exchange) {
    AppendExchangeItem(&out, item, previous_offset_ns);
    previous_offset_ns = item.offset_ns;
  }
  return out;
}

std::optional<Exchange> DecodeExchange(std::string_view bytes) {
  Exchange exchange;
  Reader reader(bytes);
  int64_t previous_offset_ns = 0;
  while (!reader.AtEnd()) {
    ExchangeItem item;
    if (!ReadItem(&reader, &item)) return std::nullopt;
    item.offset_ns = Plus(item.offset_ns, previous_offset_ns);
    previous_offset_ns = item.offset_ns;
    exchange.push_back(std::move(item));
  }
  if (!reader.ok()) return std::nullopt;
  return exchange;
}

uint64_t BodySize(const Exchange& exchange) {
  uint64_t size = 0;
  for (const ExchangeItem& item : exchange) {
    if (item.kind != ExchangeItemKind::kBytes) continue;
    // A damaged record stops at the largest number instead of wrapping to a plausible one.
    if (__builtin_add_overflow(size, item.size, &size)) return std::numeric_limits<uint64_t>::max();
  }
  return size;
}

int64_t AttemptCount(const Exchange& exchange) {
  return 1 + std::count_if(exchange.begin(), exchange.end(), [](const ExchangeItem& item) {
           return item.kind == ExchangeItemKind::kAttemptEnd;
         });
}

LastAttempt FindLastAttempt(const Exchange& exchange, std::string_view body) {
  LastAttempt last;
  uint64_t begin = 0;
  uint64_t end = 0;
  for (const ExchangeItem& item : exchange) {
    switch (item.kind) {
      case ExchangeItemKind::kHead:
        last.status = item.status;
        last.headers = &item.headers;
        break;
      case ExchangeItemKind::kBytes:
        end += std::min<uint64_t>(item.size, body.size() - end);
        break;
      case ExchangeItemKind::kAttemptEnd:
        last = LastAttempt();
        begin = end;
        break;
    }
  }
  last.body = body.substr(begin, end - begin);
  return last;
}

}  // namespace reenact::schema
