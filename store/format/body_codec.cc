#include "store/format/body_codec.h"

// For ZSTD_CCtx_refPrefix with its parameters; the archive is linked statically.
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#include <zstd_errors.h>

#include <list>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schema/varint.h"

namespace reenact::store {
namespace {

// From here on matches across the whole of a prefix are found through the long-distance table:
// level 1 keeps too short a memory of it.
constexpr size_t kLongDistanceBytes = size_t{256} << 10;
constexpr int kMinWindowLog = 10;
constexpr int kMaxWindowLog = 27;
constexpr size_t kDecodedCacheBytes = size_t{32} << 20;
// A body of more than this is allocated only when its frame agrees with the row about the size.
constexpr uint64_t kTrustedSize = uint64_t{1} << 20;

// The window that reaches over all `size` bytes.
int WindowLogFor(size_t size) {
  int log = kMinWindowLog;
  while (log < kMaxWindowLog && (size_t{1} << log) < size) ++log;
  return log;
}

bool IsNoMemory(size_t code) {
  return ZSTD_isError(code) != 0 && ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation;
}

}  // namespace

struct BodyEncoder::Impl {
  explicit Impl(int compression_level) : level(compression_level) {}

  ~Impl() { ZSTD_freeCCtx(context); }

  // The frame's size; 0 when it would not fit into `out`; nothing when there is no memory.
  bool Compress(std::string_view bytes, std::string_view prefix, std::string* out, size_t* size);

  int level;
  ZSTD_CCtx* context = nullptr;
};

bool BodyEncoder::Impl::Compress(std::string_view bytes, std::string_view prefix, std::string* out,
                                 size_t* size) {
  *size = 0;
  if (context == nullptr) {
    context = ZSTD_createCCtx();
    if (context == nullptr) return false;
  }
  const size_t reach = bytes.size() + prefix.size();
  ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters);
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 0);
  if (!prefix.empty()) {
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, WindowLogFor(reach));
    ZSTD_CCtx_refPrefix(context, prefix.data(), prefix.size());
  }
  if (reach >= kLongDistanceBytes) {
    ZSTD_CCtx_setParameter(context, ZSTD_c_enableLongDistanceMatching, 1);
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, WindowLogFor(reach));
  }
  const size_t result =
      ZSTD_compress2(context, out->data(), out->size(), bytes.data(), bytes.size());
  if (IsNoMemory(result)) return false;
  if (ZSTD_isError(result) == 0) *size = result;
  return true;
}

BodyEncoder::BodyEncoder(int compression_level)
    : impl_(std::make_unique<Impl>(compression_level)) {}

BodyEncoder::~BodyEncoder() = default;

bool BodyEncoder::Encode(std::string_view bytes, std::string_view prefix, BodyFrame* frame) {
  frame->codec = BodyCodec::kPlain;
  frame->base = 0;
  frame->raw_size = bytes.size();
  if (!prefix.empty() || bytes.size() > kPlainBodyBytes) {
    // Room for less than `bytes` only: a frame that does not save anything is not wanted.
    frame->bytes.resize(bytes.size());
    size_t size = 0;
    if (!impl_->Compress(bytes, prefix, &frame->bytes, &size)) return false;
    if (size != 0 && size < bytes.size()) {
      frame->bytes.resize(size);
      frame->codec = prefix.empty() ? BodyCodec::kZstd : BodyCodec::kZstdPrefix;
      return true;
    }
  }
  frame->bytes.assign(bytes);
  return true;
}

bool BodyEncoder::Pack(std::string_view bytes, std::string* packed) {
  packed->clear();
  if (bytes.empty()) return true;
  BodyFrame frame;
  if (!Encode(bytes, {}, &frame)) return false;
  packed->push_back(frame.codec == BodyCodec::kZstd ? 1 : 0);
  if (frame.codec == BodyCodec::kZstd) schema::PutVarint(packed, frame.raw_size);
  packed->append(frame.bytes);
  return true;
}

namespace {

std::string Sentence(int64_t ordinal, const std::string& problem) {
  return "body " + std::to_string(ordinal) + " " + problem;
}

}  // namespace

struct BodyDecoder::Impl {
  struct Entry {
    int64_t ordinal = 0;
    std::string bytes;
  };

  ~Impl() { ZSTD_freeDCtx(context); }

  const std::string* Find(int64_t ordinal);
  void Remember(int64_t ordinal, const std::string& bytes);
  bool Expand(int64_t ordinal, const BodyFrame& frame, std::string_view prefix, std::string* bytes,
              std::string* why);
  // Reads frames from `ordinal` down to one that needs no base, or whose base is remembered.
  bool CollectChain(int64_t ordinal, const FetchFrame& fetch,
                    std::vector<std::pair<int64_t, BodyFrame>>* chain, std::string* why);

  ZSTD_DCtx* context = nullptr;
  std::list<Entry> recent;  // The latest first.
  std::unordered_map<int64_t, std::list<Entry>::iterator> by_ordinal;
  size_t recent_bytes = 0;
};

const std::string* BodyDecoder::Impl::Find(int64_t ordinal) {
  const auto found = by_ordinal.find(ordinal);
  if (found == by_ordinal.end()) return nullptr;
  recent.splice(recent.begin(), recent, found->second);
  return &found->second->bytes;
}

void BodyDecoder::Impl::Remember(int64_t ordinal, const std::string& bytes) {
  // Longer ones are nobody's prefix.
  if (bytes.size() > kMaxPrefixBytes || by_ordinal.contains(ordinal)) return;
  recent.push_front({ordinal, bytes});
  by_ordinal[ordinal] = recent.begin();
  recent_bytes += bytes.size();
  while (recent_bytes > kDecodedCacheBytes && recent.size() > 1) {
    recent_bytes -= recent.back().bytes.size();
    by_ordinal.erase(recent.back().ordinal);
    recent.pop_back();
  }
}

bool BodyDecoder::Impl::CollectChain(int64_t ordinal, const FetchFrame& fetch,
                                     std::vector<std::pair<int64_t, BodyFrame>>* chain,
                                     std::string* why) {
  for (int64_t next = ordinal;;) {
    if (chain->size() > static_cast<size_t>(kMaxPrefixLinks)) {
      *why = Sentence(ordinal, "has a chain of prefixes that is too long, or a circle");
      return false;
    }
    BodyFrame frame;
    if (!fetch(next, &frame, why)) return false;
    if (frame.raw_size > kMaxBodyBytes) {
      *why = Sentence(next,
                      "claims " + std::to_string(frame.raw_size) + " bytes, more than a body has");
      return false;
    }
    const int64_t base = frame.base;
    const bool needs_base = frame.codec == BodyCodec::kZstdPrefix;
    // A base is written before what needs it: anything else is a circle, or damage.
    if (needs_base && (base <= 0 || base >= next)) {
      *why = Sentence(
          next, "has body " + std::to_string(base) + " as its prefix, which is not an earlier one");
      return false;
    }
    chain->emplace_back(next, std::move(frame));
    if (!needs_base || Find(base) != nullptr) return true;
    next = base;
  }
}

bool BodyDecoder::Impl::Expand(int64_t ordinal, const BodyFrame& frame, std::string_view prefix,
                               std::string* bytes, std::string* why) {
  if (frame.codec == BodyCodec::kPlain) {
    if (frame.bytes.size() != frame.raw_size) {
      *why = Sentence(ordinal, "has another size than its row says");
      return false;
    }
    bytes->assign(frame.bytes);
    return true;
  }
  if (frame.codec != BodyCodec::kZstd && frame.codec != BodyCodec::kZstdPrefix) {
    *why =
        Sentence(ordinal, "has the unknown codec " + std::to_string(static_cast<int>(frame.codec)));
    return false;
  }
  if (frame.raw_size > kTrustedSize &&
      ZSTD_getFrameContentSize(frame.bytes.data(), frame.bytes.size()) != frame.raw_size) {
    *why = Sentence(ordinal, "has another size than its row says");
    return false;
  }
  if (context == nullptr) context = ZSTD_createDCtx();
  if (context == nullptr) {
    *why = Sentence(ordinal, "could not be decompressed: out of memory");
    return false;
  }
  ZSTD_DCtx_reset(context, ZSTD_reset_session_and_parameters);
  if (!prefix.empty()) ZSTD_DCtx_refPrefix(context, prefix.data(), prefix.size());
  bytes->resize(frame.raw_size);
  const size_t result = ZSTD_decompressDCtx(context, bytes->data(), bytes->size(),
                                            frame.bytes.data(), frame.bytes.size());
  if (ZSTD_isError(result) != 0 || result != frame.raw_size) {
    const char* problem = ZSTD_isError(result) != 0 ? ZSTD_getErrorName(result) : "another size";
    *why = Sentence(ordinal, std::string("cannot be decompressed: ") + problem);
    bytes->clear();
    return false;
  }
  return true;
}

BodyDecoder::BodyDecoder() : impl_(std::make_unique<Impl>()) {}

BodyDecoder::~BodyDecoder() = default;

bool BodyDecoder::Decode(int64_t ordinal, const FetchFrame& fetch, std::string* bytes,
                         std::string* why) {
  if (const std::string* known = impl_->Find(ordinal); known != nullptr) {
    *bytes = *known;
    return true;
  }
  std::vector<std::pair<int64_t, BodyFrame>> chain;
  if (!impl_->CollectChain(ordinal, fetch, &chain, why)) return false;
  std::string prefix;
  if (chain.back().second.codec == BodyCodec::kZstdPrefix) {
    prefix = *impl_->Find(chain.back().second.base);
  }
  while (!chain.empty()) {
    const auto& [link, frame] = chain.back();
    if (prefix.size() > kMaxPrefixBytes) {
      *why = Sentence(link, "has a prefix longer than any that is written");
      return false;
    }
    if (!impl_->Expand(link, frame, prefix, bytes, why)) return false;
    impl_->Remember(link, *bytes);
    chain.pop_back();
    if (!chain.empty()) prefix = *bytes;
  }
  return true;
}

bool Unpack(std::string_view packed, size_t max_bytes, std::string* bytes) {
  bytes->clear();
  if (packed.empty()) return true;
  const char form = packed.front();
  packed.remove_prefix(1);
  if (form == 0) {
    bytes->assign(packed);
    return packed.size() <= max_bytes;
  }
  if (form != 1) return false;
  schema::Reader reader(packed);
  const uint64_t size = reader.Varint();
  const std::string_view frame = reader.Rest();
  if (!reader.ok() || size > max_bytes) return false;
  if (ZSTD_getFrameContentSize(frame.data(), frame.size()) != size) return false;
  bytes->resize(size);
  return ZSTD_decompress(bytes->data(), size, frame.data(), frame.size()) == size;
}

}  // namespace reenact::store
