// The values that cross the replay socket and the ring: what is decoded encodes to the same bytes.

#include "schema/exchange.h"
#include "schema/replay_protocol.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/schema/untrusted_input.h"

namespace reenact::fuzz::replay_frames {

void FuzzOne(std::string_view bytes) {
  if (const auto broken = schema::CheckProtocol(bytes)) Broken(*broken);
  if (schema::DecodeMessage(bytes) || schema::DecodeExchange(bytes)) Reached();
}

std::vector<std::string> Seeds() {
  const schema::Exchange exchange = {
      {.kind = schema::ExchangeItemKind::kHead,
       .offset_ns = 5,
       .status = 200,
       .headers = {{"a", "b"}}},
      {.kind = schema::ExchangeItemKind::kBytes, .offset_ns = 9, .size = 300},
      {.kind = schema::ExchangeItemKind::kAttemptEnd, .offset_ns = 11, .detail = "reset"}};
  schema::Component component;
  component.kind = "k";
  component.content.bytes = "content";
  const schema::Message messages[] = {
      schema::Hello{1, 77, "service"},
      schema::BeginRun{"e", "i", {component, component}},
      schema::BeginCall{7, "s", schema::Boundary::kTool, "n", "p", "u", "{}"},
      schema::EndCall{7, 11, schema::EndState::kReset, 5},
      schema::ReadValue{7, "s", schema::Boundary::kRandom, "n"},
      schema::AddComponent{7, component},
      schema::FinishRun{7, schema::EndState::kComplete, "d", "o"},
      schema::AwaitDrive{"e"},
      schema::HandlerDone{"e"},
      schema::Welcome{1, "01ARZ3NDEKTSV4RRFFQ69G5FAV", "e"},
      schema::RunBound{7},
      schema::OnTape{1, exchange, "abc", schema::EndState::kReset, "d"},
      schema::Value{3},
      schema::Diverged{"m", 4},
      schema::Drive{"i"},
      schema::Done{}};
  std::vector<std::string> seeds = {schema::EncodeExchange(exchange)};
  for (const schema::Message& message : messages) {
    seeds.push_back(schema::EncodeMessage(message).substr(4));
  }
  return seeds;
}

std::vector<std::string> Tokens() {
  return {std::string(1, '\0'),
          "\x01",
          "\x80\x01",
          "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
          "\xff\xff\xff\xff\x0f",
          "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"};
}

const bool added = AddTarget({"replay_frames", FuzzOne, Seeds, Tokens});

}  // namespace reenact::fuzz::replay_frames
