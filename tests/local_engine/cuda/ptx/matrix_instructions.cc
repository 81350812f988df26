// Products of small matrices of bytes by a whole warp (exact: int32 sums), and the loads that lay
// out their fragments. Matrix products of floats round as no document says, and are no part of the
// interpreter. Source: PTX ISA, "Matrix Fragments for mma.m16n8k32" and its neighbours.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/local_engine/cuda/ptx/addresses.h"
#include "tests/local_engine/cuda/ptx/decode.h"
#include "tests/local_engine/cuda/ptx/fault.h"
#include "tests/local_engine/cuda/ptx/lane.h"

namespace reenact::ptx {
namespace {

constexpr uint32_t kWholeWarp = 0xffffffffu;

// A of rows x depth, B of depth x 8; registers of four bytes each.
struct Shape {
  const char* name;
  int rows;
  int depth;
  int a_registers;
  int b_registers;
  int c_registers;
};

constexpr Shape kShapes[] = {
    {"m16n8k32", 16, 32, 4, 2, 4}, {"m16n8k16", 16, 16, 2, 1, 4}, {"m8n8k16", 8, 16, 1, 1, 2}};

// Where byte `byte` of a lane's register r lies in A: registers go down 8 rows first, then on by 16
// columns.
struct Place {
  int row;
  int column;
};

Place PlaceInA(const Shape& shape, uint32_t lane, int r, int byte) {
  const int rows_of_8 = shape.rows / 8;
  return {static_cast<int>(lane / 4) + 8 * (r % rows_of_8),
          static_cast<int>(lane % 4) * 4 + byte + 16 * (r / rows_of_8)};
}

int SignedByte(uint32_t bytes, int at) {
  return static_cast<int8_t>(static_cast<uint8_t>(bytes >> (8 * at)));
}

void MultiplyBytes(Warp& warp, const Instruction& i) {
  const Shape& shape = kShapes[i.choice];
  std::array<std::array<int, 32>, 16> a = {};
  std::array<std::array<int, 8>, 32> b = {};
  warp.Each([&](uint32_t at, Lane& lane) {
    for (int r = 0; r < shape.a_registers; ++r) {
      for (int byte = 0; byte < 4; ++byte) {
        const Place place = PlaceInA(shape, at, r, byte);
        a[place.row][place.column] = SignedByte(Operand<uint32_t>(lane, i, r), byte);
      }
    }
    for (int r = 0; r < shape.b_registers; ++r) {
      const uint32_t bytes = Operand<uint32_t>(lane, i, shape.a_registers + r);
      for (int byte = 0; byte < 4; ++byte) {
        b[(at % 4) * 4 + byte + 16 * r][at / 4] = SignedByte(bytes, byte);
      }
    }
  });
  warp.Each([&](uint32_t at, Lane& lane) {
    for (int r = 0; r < shape.c_registers; ++r) {
      const uint32_t row = at / 4 + 8 * (r / 2);
      const uint32_t column = at % 4 * 2 + r % 2;
      int sum = 0;
      for (int k = 0; k < shape.depth; ++k) sum += a[row][k] * b[k][column];
      const int c = shape.a_registers + shape.b_registers + r;
      SetResult(lane, i, Operand<uint32_t>(lane, i, c) + static_cast<uint32_t>(sum), r);
    }
  });
}

// Matrix m of 8 x 8 pairs of bytes: its rows are where lanes 8 m ... 8 m + 7 point.
void LoadMatrices(Warp& warp, const Instruction& i) {
  std::array<std::array<uint16_t, 64>, 4> matrices = {};
  for (int m = 0; m < i.vector; ++m) {
    for (int row = 0; row < 8; ++row) {
      Lane& lane = warp.lanes[static_cast<size_t>(8 * m + row)];
      Space space = i.space;
      const uint64_t address = AddressOf(lane, i, 0, &space);
      if (space != Space::kShared) throw Fault("ldmatrix from another space than shared memory");
      std::memcpy(&matrices[m][8 * row], ReadFrom(lane, space, address, 16, false), 16);
    }
  }
  const bool transposed = i.choice != 0;
  warp.Each([&](uint32_t at, Lane& lane) {
    for (int m = 0; m < i.vector; ++m) {
      const size_t row = at / 4;
      const size_t column = at % 4 * 2;
      const uint32_t low = matrices[m][transposed ? 8 * column + row : 8 * row + column];
      const uint32_t high = matrices[m][transposed ? 8 * (column + 1) + row : 8 * row + column + 1];
      SetResult(lane, i, low | high << 16, m);
    }
  });
}

bool DecodeProduct(Draft* draft) {
  Opcode& opcode = draft->opcode;
  Instruction& instruction = draft->instruction;
  const char* expected[] = {"sync", "aligned", "row", "col"};
  for (const char* modifier : expected) {
    if (!opcode.Take(modifier)) throw Fault("an unknown matrix product: " + opcode.text());
  }
  const Type c = opcode.TakeType();
  const Type b = opcode.TakeType();
  const Type a = opcode.TakeType();
  const Type d = opcode.TakeType();
  if (a != Type::kS8 || b != Type::kS8 || c != Type::kS32 || d != Type::kS32) {
    throw Fault("a matrix product that is not of signed bytes: " + opcode.text());
  }
  bool known = false;
  for (uint8_t shape = 0; shape < std::size(kShapes); ++shape) {
    if (!opcode.Take(kShapes[shape].name)) continue;
    instruction.choice = shape;
    known = true;
  }
  if (!known) throw Fault("a matrix product of another shape: " + opcode.text());
  draft->Expect(4);
  draft->TakeResults(draft->operands[0]);
  size_t at = 0;
  for (size_t list = 1; list < 4; ++list) at += draft->TakeSources(draft->operands[list], at);
  instruction.mask = draft->names->ConstantSlot(kWholeWarp);
  instruction.execute_warp = MultiplyBytes;
  return true;
}

bool DecodeLoadMatrix(Draft* draft) {
  Opcode& opcode = draft->opcode;
  Instruction& instruction = draft->instruction;
  opcode.TakeAny({"sync", "aligned", "m8n8", "b16"});
  instruction.vector = opcode.Take("x4") ? 4 : opcode.Take("x2") ? 2 : 1;
  opcode.Take("x1");
  instruction.choice = opcode.Take("trans");
  instruction.space = TakeSpaceModifier(&opcode);
  draft->Expect(2);
  draft->TakeResults(draft->operands[0]);
  draft->TakeAddress(draft->operands[1], 0);
  instruction.mask = draft->names->ConstantSlot(kWholeWarp);
  instruction.execute_warp = LoadMatrices;
  return true;
}

}  // namespace

bool DecodeMatrix(Draft* draft) {
  if (draft->opcode.name() == "mma") return DecodeProduct(draft);
  return draft->opcode.name() == "ldmatrix" && DecodeLoadMatrix(draft);
}

}  // namespace reenact::ptx
