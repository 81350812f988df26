// Integer arithmetic.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "tests/local_engine/cuda/ptx/decode.h"
#include "tests/local_engine/cuda/ptx/fault.h"
#include "tests/local_engine/cuda/ptx/lane.h"

namespace reenact::ptx {
namespace {

// A type of twice the width, for whole products.
template <typename T>
struct Wider;

template <>
struct Wider<int16_t> {
  using Is = int32_t;
};

template <>
struct Wider<uint16_t> {
  using Is = uint32_t;
};

template <>
struct Wider<int32_t> {
  using Is = int64_t;
};

template <>
struct Wider<uint32_t> {
  using Is = uint64_t;
};

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

template <>
struct Wider<int64_t> {
  using Is = Int128;
};

template <>
struct Wider<uint64_t> {
  using Is = Uint128;
};

template <typename T>
using Wide = typename Wider<T>::Is;

// Wrapping, as devices do: through unsigned arithmetic, which C++ lets wrap.
struct Add {
  template <typename T>
  static T Of(T a, T b) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
};

struct Subtract {
  template <typename T>
  static T Of(T a, T b) {
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  }
};

struct MultiplyLow {
  template <typename T>
  static T Of(T a, T b) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
};

struct MultiplyHigh {
  template <typename T>
  static T Of(T a, T b) {
    return static_cast<T>((static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b)) >> (8 * sizeof(T)));
  }
};

struct Minimum {
  template <typename T>
  static T Of(T a, T b) {
    return a < b ? a : b;
  }
};

struct Maximum {
  template <typename T>
  static T Of(T a, T b) {
    return a > b ? a : b;
  }
};

template <typename T>
void CheckQuotient(T a, T b) {
  if (b == 0) throw Fault("division of an integer by zero");
  if (std::is_signed_v<T> && a == std::numeric_limits<T>::min() && b == static_cast<T>(-1)) {
    throw Fault("a quotient that does not fit its type");
  }
}

struct Divide {
  template <typename T>
  static T Of(T a, T b) {
    CheckQuotient(a, b);
    return static_cast<T>(a / b);
  }
};

struct Remainder {
  template <typename T>
  static T Of(T a, T b) {
    CheckQuotient(a, b);
    return static_cast<T>(a % b);
  }
};

template <typename Operation>
struct Binary {
  template <typename T>
  static void Execute(Lane& lane, const Instruction& i) {
    SetResult(lane, i, Operation::Of(Operand<T>(lane, i, 0), Operand<T>(lane, i, 1)));
  }
};

struct MultiplyWide {
  template <typename T>
  static void Execute(Lane& lane, const Instruction& i) {
    if constexpr (sizeof(T) < 8) {
      SetResult(lane, i,
                static_cast<Wide<T>>(static_cast<Wide<T>>(Operand<T>(lane, i, 0)) *
                                     static_cast<Wide<T>>(Operand<T>(lane, i, 1))));
    } else {
      throw Fault("mul.wide of 64 bits");
    }
  }
};

template <typename Product>
struct MultiplyAdd {
  template <typename T>
  static void Execute(Lane& lane, const Instruction& i) {
    const T product = Product::Of(Operand<T>(lane, i, 0), Operand<T>(lane, i, 1));
    SetResult(lane, i, Add::Of(product, Operand<T>(lane, i, 2)));
  }
};

struct MultiplyAddWide {
  template <typename T>
  static void Execute(Lane& lane, const Instruction& i) {
    if constexpr (sizeof(T) < 8) {
      using W = Wide<T>;
      const W product = static_cast<W>(static_cast<W>(Operand<T>(lane, i, 0)) *
                                       static_cast<W>(Operand<T>(lane, i, 1)));
      SetResult(lane, i, Add::Of(product, Operand<W>(lane, i, 2)));
    } else {
      throw Fault("mad.wide of 64 bits");
    }
  }
};

struct Negate {
  template <typename T>
  static void Execute(Lane& lane, const Instruction& i) {
    SetResult(lane, i, Subtract::Of(T{0}, Operand<T>(lane, i, 0)));
  }
};

struct Absolute {
  template <typename T>
  static void Execute(Lane& lane, const Instruction& i) {
    const T value = Operand<T>(lane, i, 0);
    SetResult(lane, i, value < 0 ? Subtract::Of(T{0}, value) : value);
  }
};

// The execute function of an operation for a type; .b types are unsigned.
template <typename Operation>
ExecuteLane For(Type type) {
  switch (type) {
    case Type::kS16:
      return Operation::template Execute<int16_t>;
    case Type::kU16:
    case Type::kB16:
      return Operation::template Execute<uint16_t>;
    case Type::kS32:
      return Operation::template Execute<int32_t>;
    case Type::kU32:
    case Type::kB32:
      return Operation::template Execute<uint32_t>;
    case Type::kS64:
      return Operation::template Execute<int64_t>;
    case Type::kU64:
    case Type::kB64:
      return Operation::template Execute<uint64_t>;
    default:
      return nullptr;
  }
}

ExecuteLane Product(Opcode* opcode, Type type) {
  if (opcode->Take("wide")) return For<MultiplyWide>(type);
  if (opcode->Take("hi")) return For<Binary<MultiplyHigh>>(type);
  return opcode->Take("lo") ? For<Binary<MultiplyLow>>(type) : nullptr;
}

ExecuteLane ProductAndSum(Opcode* opcode, Type type) {
  if (opcode->Take("wide")) return For<MultiplyAddWide>(type);
  if (opcode->Take("hi")) return For<MultiplyAdd<MultiplyHigh>>(type);
  return opcode->Take("lo") ? For<MultiplyAdd<MultiplyLow>>(type) : nullptr;
}

ExecuteLane ArithmeticNamed(Opcode* opcode, Type type) {
  const std::string& name = opcode->name();
  if (name == "add") return For<Binary<Add>>(type);
  if (name == "sub") return For<Binary<Subtract>>(type);
  if (name == "mul") return Product(opcode, type);
  if (name == "mad") return ProductAndSum(opcode, type);
  if (name == "div") return For<Binary<Divide>>(type);
  if (name == "rem") return For<Binary<Remainder>>(type);
  if (name == "min") return For<Binary<Minimum>>(type);
  if (name == "max") return For<Binary<Maximum>>(type);
  if (name == "neg") return For<Negate>(type);
  if (name == "abs") return For<Absolute>(type);
  return nullptr;
}

// c + the products of four pairs of bytes, each side signed or not.
template <typename A, typename B>
void Dp4a(Lane& lane, const Instruction& i) {
  const uint32_t a = Operand<uint32_t>(lane, i, 0);
  const uint32_t b = Operand<uint32_t>(lane, i, 1);
  int32_t sum = 0;
  for (int byte = 0; byte < 4; ++byte) {
    sum += As<A>(a >> (8 * byte)) * As<B>(b >> (8 * byte));
  }
  SetResult(lane, i, Operand<uint32_t>(lane, i, 2) + static_cast<uint32_t>(sum));
}

bool DecodeDp4a(Draft* draft) {
  const bool b_signed = IsSigned(draft->opcode.TakeType());
  const bool a_signed = IsSigned(draft->opcode.TakeType());
  draft->Expect(4);
  draft->TakeResultAndOperands();
  draft->instruction.execute = a_signed
                                   ? (b_signed ? Dp4a<int8_t, int8_t> : Dp4a<int8_t, uint8_t>)
                                   : (b_signed ? Dp4a<uint8_t, int8_t> : Dp4a<uint8_t, uint8_t>);
  return true;
}

}  // namespace

bool DecodeInteger(Draft* draft) {
  if (draft->opcode.name() == "dp4a") return DecodeDp4a(draft);
  Opcode opcode = draft->opcode;
  const Type type = opcode.TakeType();
  const ExecuteLane execute = ArithmeticNamed(&opcode, type);
  if (execute == nullptr) return false;
  draft->opcode = opcode;
  draft->TakeResultAndOperands();
  draft->instruction.type = type;
  draft->instruction.execute = execute;
  return true;
}

}  // namespace reenact::ptx
