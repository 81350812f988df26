// What the SDK in replay mode and the replayer say to each other over the local socket.
//
// A frame is a 4-byte little-endian length of what follows, one byte of MessageType, and the
// fields of the struct of that name, in its order, as in varint.h. Every request has one answer, on
// the same connection, in order; a connection is used by one request at a time. kAwaitDrive may be
// answered much later and has a connection of its own.
// Encoding and decoding are pure; sockets are elsewhere.

#ifndef REENACT_SCHEMA_REPLAY_PROTOCOL_H_
#define REENACT_SCHEMA_REPLAY_PROTOCOL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "schema/exchange.h"
#include "schema/record.h"

namespace reenact::schema {

inline constexpr uint32_t kReplayProtocolVersion = 2;
inline constexpr size_t kMaxReplayFrame = size_t{1} << 30;

// Requests of the SDK.
struct Hello {
  uint32_t protocol_version = kReplayProtocolVersion;
  int64_t pid = 0;
  std::string service;
};

struct BeginRun {
  std::string entry;
  std::string input;
  std::vector<Component> components;  // `content.bytes` only.
};

struct BeginCall {
  uint64_t run_token = 0;
  std::string scope;
  Boundary boundary = Boundary::kModel;
  std::string name;
  std::string provider;
  std::string endpoint;
  std::string request;
};

struct EndCall {
  uint64_t run_token = 0;
  uint64_t call_token = 0;
  EndState state = EndState::kComplete;  // As the host ended it.
  uint64_t consumed_bytes = 0;
};

struct ReadValue {  // Clock, random, env: answered by Value.
  uint64_t run_token = 0;
  std::string scope;
  Boundary boundary = Boundary::kClock;
  std::string name;
};

struct AddComponent {
  uint64_t run_token = 0;
  Component component;
};

struct UseComponent {  // The program is about to use its content: answered by ComponentContent.
  uint64_t run_token = 0;
  std::string name;
};

struct FinishRun {
  uint64_t run_token = 0;
  EndState state = EndState::kComplete;
  std::string detail;
  std::string output;
};

struct AwaitDrive {  // A handler for `entry` is registered and may be called.
  std::string entry;
};

struct HandlerDone {
  std::string entry;
};

// Answers of the replayer.
struct Welcome {
  uint32_t protocol_version = kReplayProtocolVersion;
  std::string run_id;  // Text of the ULID.
  std::string entry;
};

struct RunBound {
  uint64_t run_token = 0;  // Never 0.
};

struct OnTape {
  uint64_t call_token = 0;
  Exchange exchange;  // Attempts, heads, reads as recorded.
  std::string body;
  EndState end_state = EndState::kComplete;
  std::string end_detail;
};

struct Value {
  uint64_t value = 0;
};

struct ComponentContent {
  bool overridden = false;  // False: the program goes on with its own, and `bytes` is empty.
  std::string bytes;
};

// Not on the tape. For ReadValue `value` is what a host may go on with: the last recorded reading
// of the clock, or 0.
struct Diverged {
  std::string message;  // One paragraph for a person: kind, key, closest record, paths that differ.
  uint64_t value = 0;
};

struct Drive {
  std::string input;
};

struct Done {};

using Message = std::variant<Hello, BeginRun, BeginCall, EndCall, ReadValue, AddComponent,
                             UseComponent, FinishRun, AwaitDrive, HandlerDone, Welcome, RunBound,
                             OnTape, Value, ComponentContent, Diverged, Drive, Done>;

// A whole frame, length included. Empty when it would be longer than kMaxReplayFrame.
std::string EncodeMessage(const Message& message);
// `frame` without its 4 length bytes. Nothing when it is malformed.
std::optional<Message> DecodeMessage(std::string_view frame);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_REPLAY_PROTOCOL_H_
