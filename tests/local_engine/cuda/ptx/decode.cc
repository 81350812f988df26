#include "tests/local_engine/cuda/ptx/decode.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tests/local_engine/cuda/ptx/fault.h"
#include "tests/local_engine/cuda/ptx/opcode.h"
#include "tests/local_engine/cuda/ptx/program.h"

namespace reenact::ptx {
namespace {

constexpr std::string_view kSpace = " \t\n\r";

bool DecodeByFamily(Draft* draft) {
  return DecodeFloat(draft) || DecodeInteger(draft) || DecodeBits(draft) || DecodeMove(draft) ||
         DecodeConversion(draft) || DecodeComparison(draft) || DecodeMemory(draft) ||
         DecodeAsyncCopy(draft) || DecodeAtomic(draft) || DecodeWarp(draft) ||
         DecodeControl(draft) || DecodeMatrix(draft);
}

// The text of a list without its braces.
std::string_view WithoutBraces(std::string_view list) {
  if (list.empty() || list.front() != '{') return list;
  return list.substr(1, list.size() - 2);
}

}  // namespace

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::vector<std::string> SplitOperands(std::string_view text, char separator) {
  std::vector<std::string> parts;
  if (Trimmed(text).empty()) return parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : separator;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c != separator || (depth != 0 && i < text.size())) continue;
    parts.emplace_back(Trimmed(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  return parts;
}

void Draft::Expect(size_t operand_count) const {
  if (operands.size() == operand_count) return;
  throw Fault("an unknown instruction: " + opcode.text() + " with " +
              std::to_string(operands.size()) + " operands");
}

void Draft::TakeOperands(size_t first) {
  for (size_t i = first; i < operands.size(); ++i) {
    if (i - first >= instruction.operands.size())
      throw Fault("too many operands: " + opcode.text());
    std::string_view operand = operands[i];
    if (operand.front() == '!') {
      if (i + 1 != operands.size()) throw Fault("\"!\" before the last operand: " + opcode.text());
      instruction.last_operand_negated = true;
      operand.remove_prefix(1);
    }
    instruction.operands[i - first] = names->SlotOf(operand);
  }
}

void Draft::TakeResult() {
  instruction.results[0] = names->SlotOf(operands[0]);
  instruction.result_bytes = names->WidthOf(operands[0]);
}

void Draft::TakeResultAndOperands() {
  if (operands.empty()) throw Fault("no operands: " + opcode.text());
  TakeResult();
  TakeOperands(1);
}

size_t Draft::TakeResults(std::string_view list) {
  const std::vector<std::string> parts = SplitOperands(WithoutBraces(list));
  if (parts.size() > instruction.results.size()) throw Fault("too many results: " + opcode.text());
  for (size_t i = 0; i < parts.size(); ++i) {
    instruction.results[i] = names->SlotOf(parts[i]);
    if (parts[i] != "_") instruction.result_bytes = names->WidthOf(parts[i]);
  }
  return parts.size();
}

size_t Draft::TakeSources(std::string_view list, size_t at) {
  const std::vector<std::string> parts = SplitOperands(WithoutBraces(list));
  if (at + parts.size() > instruction.operands.size()) {
    throw Fault("too many operands: " + opcode.text());
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    instruction.operands[at + i] = names->SlotOf(parts[i]);
  }
  return parts.size();
}

void Draft::TakeAddress(std::string_view address, size_t at) {
  if (address.size() < 2 || address.front() != '[' || address.back() != ']') {
    throw Fault("not an address: " + std::string(address));
  }
  address = address.substr(1, address.size() - 2);
  const size_t plus = address.find('+');
  const std::string_view base = Trimmed(address.substr(0, plus));
  int64_t offset = 0;
  if (plus != std::string_view::npos) {
    offset = std::strtoll(std::string(address.substr(plus + 1)).c_str(), nullptr, 0);
  }
  int64_t parameter = 0;
  if (names->ParameterOffset(base, &parameter)) {
    instruction.operands[at] = names->ConstantSlot(0);
    offset += parameter;
  } else {
    instruction.operands[at] = names->SlotOf(base);
  }
  instruction.offset = offset;
}

Instruction Decode(std::string_view text, Names* names) {
  std::string_view rest = Trimmed(text);
  Slot guard = kNoSlot;
  bool guard_negated = false;
  const auto take_word = [&rest] {
    const size_t end = rest.find_first_of(kSpace);
    const std::string_view word = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : Trimmed(rest.substr(end));
    return word;
  };
  if (rest.front() == '@') {
    std::string_view predicate = take_word().substr(1);
    guard_negated = predicate.front() == '!';
    if (guard_negated) predicate.remove_prefix(1);
    guard = names->SlotOf(predicate);
  }
  const std::string_view word = take_word();
  Draft draft{.opcode = Opcode(word), .operands = SplitOperands(rest), .names = names};
  draft.instruction.guard = guard;
  draft.instruction.guard_negated = guard_negated;
  if (!DecodeByFamily(&draft)) throw Fault("an unknown instruction: " + draft.opcode.text());
  if (!draft.opcode.rest().empty()) {
    throw Fault("an unknown modifier ." + draft.opcode.rest().front() + ": " + draft.opcode.text());
  }
  return draft.instruction;
}

}  // namespace reenact::ptx
