#include "schema/replay_protocol.h"

#include <array>
#include <type_traits>
#include <utility>

#include "schema/varint.h"

// Each message lists its fields once, in Fields(); Encoder and Decoder are the two things that can
// be done with such a list, so that they cannot disagree.

namespace reenact::schema {
namespace {

class Encoder {
 public:
  explicit Encoder(std::string* out) : out_(out) {}

  void operator()(const bool& value) { PutVarint(out_, value ? 1 : 0); }

  void operator()(const uint32_t& value) { PutVarint(out_, value); }

  void operator()(const uint64_t& value) { PutVarint(out_, value); }

  void operator()(const int64_t& value) { PutSigned(out_, value); }

  void operator()(const std::string& value) { PutString(out_, value); }

  void operator()(const Boundary& value) { PutVarint(out_, static_cast<uint64_t>(value)); }

  void operator()(const EndState& value) { PutVarint(out_, static_cast<uint64_t>(value)); }

  void operator()(const Exchange& value) { PutString(out_, EncodeExchange(value)); }

  void operator()(const Component& value) {
    PutString(out_, value.kind);
    PutString(out_, value.name);
    PutString(out_, value.version);
    PutString(out_, value.content.bytes);
  }

  void operator()(const std::vector<Component>& value) {
    PutVarint(out_, value.size());
    for (const Component& component : value) (*this)(component);
  }

 private:
  std::string* out_;
};

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : reader_(bytes) {}

  void operator()(bool& value) { value = UpTo(1) != 0; }

  void operator()(uint32_t& value) { value = static_cast<uint32_t>(UpTo(UINT32_MAX)); }

  void operator()(uint64_t& value) { value = reader_.Varint(); }

  void operator()(int64_t& value) { value = reader_.Signed(); }

  void operator()(std::string& value) { value = reader_.String(); }

  void operator()(Boundary& value) {
    value = static_cast<Boundary>(Code(static_cast<uint64_t>(Boundary::kEnv)));
  }

  void operator()(EndState& value) {
    value = static_cast<EndState>(Code(static_cast<uint64_t>(EndState::kIncomplete)));
  }

  void operator()(Exchange& value) {
    std::optional<Exchange> exchange = DecodeExchange(reader_.String());
    valid_ = valid_ && exchange.has_value();
    if (exchange) value = *std::move(exchange);
  }

  void operator()(Component& value) {
    value.kind = reader_.String();
    value.name = reader_.String();
    value.version = reader_.String();
    value.content.bytes = reader_.String();
  }

  void operator()(std::vector<Component>& value) {
    const uint64_t count = reader_.Varint();
    for (uint64_t i = 0; i < count && reader_.ok(); ++i) {  // A false count ends with the bytes.
      (*this)(value.emplace_back());
    }
  }

  bool Whole() const { return valid_ && reader_.ok() && reader_.AtEnd(); }

 private:
  uint64_t UpTo(uint64_t limit) {
    const uint64_t value = reader_.Varint();
    valid_ = valid_ && value <= limit;
    return value <= limit ? value : 0;
  }

  // Permanent codes count from 1.
  uint64_t Code(uint64_t last) {
    const uint64_t code = UpTo(last);
    valid_ = valid_ && code > 0;
    return code > 0 ? code : 1;
  }

  Reader reader_;
  bool valid_ = true;
};

template <typename M, typename T>
inline constexpr bool kIs = std::is_same_v<std::remove_const_t<M>, T>;

template <typename Codec, typename M>
void RequestFields(Codec& codec, M& m) {
  if constexpr (kIs<M, Hello>) {
    codec(m.protocol_version), codec(m.pid), codec(m.service);
  } else if constexpr (kIs<M, BeginRun>) {
    codec(m.entry), codec(m.input), codec(m.components);
  } else if constexpr (kIs<M, BeginCall>) {
    codec(m.run_token), codec(m.scope), codec(m.boundary), codec(m.name);
    codec(m.provider), codec(m.endpoint), codec(m.request);
  } else if constexpr (kIs<M, EndCall>) {
    codec(m.run_token), codec(m.call_token), codec(m.state), codec(m.consumed_bytes);
  } else if constexpr (kIs<M, ReadValue>) {
    codec(m.run_token), codec(m.scope), codec(m.boundary), codec(m.name);
  } else if constexpr (kIs<M, AddComponent>) {
    codec(m.run_token), codec(m.component);
  } else if constexpr (kIs<M, UseComponent>) {
    codec(m.run_token), codec(m.name);
  } else if constexpr (kIs<M, FinishRun>) {
    codec(m.run_token), codec(m.state), codec(m.detail), codec(m.output);
  } else {
    static_assert(kIs<M, AwaitDrive> || kIs<M, HandlerDone>);
    codec(m.entry);
  }
}

template <typename Codec, typename M>
void Fields(Codec& codec, M& m) {
  if constexpr (kIs<M, Welcome>) {
    codec(m.protocol_version), codec(m.run_id), codec(m.entry);
  } else if constexpr (kIs<M, RunBound>) {
    codec(m.run_token);
  } else if constexpr (kIs<M, OnTape>) {
    codec(m.call_token), codec(m.exchange), codec(m.body), codec(m.end_state);
    codec(m.end_detail);
  } else if constexpr (kIs<M, Value>) {
    codec(m.value);
  } else if constexpr (kIs<M, ComponentContent>) {
    codec(m.overridden), codec(m.bytes);
  } else if constexpr (kIs<M, Diverged>) {
    codec(m.message), codec(m.value);
  } else if constexpr (kIs<M, Drive>) {
    codec(m.input);
  } else if constexpr (!kIs<M, Done>) {
    RequestFields(codec, m);
  }
}

constexpr size_t kLengthSize = 4;

template <size_t kIndex>
std::optional<Message> DecodeAs(std::string_view fields) {
  std::variant_alternative_t<kIndex, Message> message;
  Decoder decoder(fields);
  Fields(decoder, message);
  if (!decoder.Whole()) return std::nullopt;
  return Message(std::in_place_index<kIndex>, std::move(message));
}

using DecodeFunction = std::optional<Message> (*)(std::string_view fields);

template <size_t... kIndexes>
constexpr auto MakeDecodeTable(std::index_sequence<kIndexes...>) {
  return std::array<DecodeFunction, sizeof...(kIndexes)>{DecodeAs<kIndexes>...};
}

constexpr auto kDecodeTable =
    MakeDecodeTable(std::make_index_sequence<std::variant_size_v<Message>>());

}  // namespace

// The type byte is the place of the struct in `Message`, from 1.
std::string EncodeMessage(const Message& message) {
  std::string frame(kLengthSize, '\0');
  frame.push_back(static_cast<char>(message.index() + 1));
  Encoder encoder(&frame);
  std::visit([&encoder](const auto& m) { Fields(encoder, m); }, message);
  const size_t length = frame.size() - kLengthSize;
  if (length > kMaxReplayFrame) return {};
  for (size_t i = 0; i < kLengthSize; ++i) frame[i] = static_cast<char>(length >> (8 * i));
  return frame;
}

std::optional<Message> DecodeMessage(std::string_view frame) {
  if (frame.empty() || frame.size() > kMaxReplayFrame) return std::nullopt;
  const size_t type = static_cast<uint8_t>(frame.front());
  if (type == 0 || type > kDecodeTable.size()) return std::nullopt;
  return kDecodeTable[type - 1](frame.substr(1));
}

}  // namespace reenact::schema
