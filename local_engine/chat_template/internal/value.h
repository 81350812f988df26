// The values that templates compute with: Python's, as far as chat templates see them.
//
// Immutable but for namespaces, as in the sandbox that Hugging Face renders in; so values are
// shared freely and never form a cycle. Containers know how deep they nest and what a walk over
// them costs, shared parts counted each time, and refuse to go beyond kMaxValueDepth and
// kMaxValueWeight: every walk over a value may recurse, and ends.

#ifndef REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_VALUE_H_
#define REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_VALUE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace reenact::local_engine {

inline constexpr int kMaxValueDepth = 200;
inline constexpr int64_t kMaxValueWeight = int64_t{1} << 22;

class Value;
struct Callable;
struct Loop;
struct Namespace;

// Says, once it is used as if it had a value, why it has none.
struct Undefined {
  std::shared_ptr<const std::string> reason;
};

struct None {};

struct Text {
  std::shared_ptr<const std::string> utf8;
};

// An integer of the input beyond 64 bits: it prints and compares; it does not calculate.
struct BigInteger {
  std::shared_ptr<const std::string> digits;
};

enum class SequenceKind {
  kList,
  kTuple,
  kRange,
  kKeysView,
  kValuesView,
  kItemsView,
  kGenerator,  // What lazy filters give: read once, without a length.
};

struct Sequence;
class Dict;
using SequencePtr = std::shared_ptr<const Sequence>;
using DictPtr = std::shared_ptr<const Dict>;

class Value {
 public:
  using Variant =
      std::variant<Undefined, None, bool, int64_t, double, BigInteger, Text, SequencePtr, DictPtr,
                   Namespace*, std::shared_ptr<const Callable>, std::shared_ptr<Loop>>;

  Value() = default;  // Undefined, for no stated reason.

  Value(Variant variant) : variant_(std::move(variant)) {}

  static Value MakeUndefined(std::string reason);

  static Value MakeNone() { return Value(Variant(None{})); }

  static Value Bool(bool value) { return Value(Variant(value)); }

  static Value Int(int64_t value) { return Value(Variant(value)); }

  static Value Float(double value) { return Value(Variant(value)); }

  static Value String(std::string utf8);
  static Value BigInt(std::string digits);

  static Value List(std::vector<Value> items) {
    return Items(SequenceKind::kList, std::move(items));
  }

  static Value Tuple(std::vector<Value> items) {
    return Items(SequenceKind::kTuple, std::move(items));
  }

  static Value Items(SequenceKind kind, std::vector<Value> items);
  static Value Mapping(
      std::vector<std::pair<Value, Value>> entries);  // Of equal keys the last counts.

  template <typename T>
  const T* As() const {
    return std::get_if<T>(&variant_);
  }

  bool IsUndefined() const { return As<Undefined>() != nullptr; }

  bool IsNone() const { return As<None>() != nullptr; }

  bool IsString() const { return As<Text>() != nullptr; }

  const std::string& Utf8() const { return *As<Text>()->utf8; }  // A string only.

  const Sequence* AsSequence() const;  // Null where it is another type.
  const Dict* AsDict() const;

  const Variant& variant() const { return variant_; }

  int Depth() const;
  // Values in it and blocks of 16 bytes of text, itself included.
  int64_t Weight() const;

 private:
  Variant variant_;
};

struct Sequence {
  SequenceKind kind;
  std::vector<Value> items;
  int depth;
  int64_t weight;
  mutable size_t taken = 0;  // Generators: how many items were read.
};

// In order of insertion.
class Dict {
 public:
  using Entry = std::pair<Value, Value>;

  const std::vector<Entry>& entries() const { return entries_; }

  const Value* Find(const Value& key) const;
  const Value* Find(std::string_view key) const;

  int depth() const { return depth_; }

  int64_t weight() const { return weight_; }

 private:
  friend class Value;
  size_t IndexOf(const Value& key) const;  // kAbsent where there is none.

  static constexpr size_t kAbsent = static_cast<size_t>(-1);
  std::vector<Entry> entries_;
  std::unordered_map<std::string_view, size_t> strings_;  // Views of the keys in entries_.
  std::vector<size_t> others_;                            // Entries whose keys are no strings.
  int depth_ = 1;
  int64_t weight_ = 1;
};

// Lives as long as the rendering that made it; values point to it without owning it.
struct Namespace {
  std::vector<std::pair<std::string, Value>> attributes;
  Value* Find(std::string_view name);
};

// The `loop` of a for statement.
struct Loop {
  SequencePtr items;
  size_t index = 0;
};

// "str", "int", "dict", ... as Python's messages call the type.
std::string TypeName(const Value& value);
bool IsTrue(const Value& value);
// Python's ==; never an error.
bool Equal(const Value& a, const Value& b);
// What iterating over the value yields: characters of strings, keys of dicts. Takes a generator's
// remaining items. Throws TemplateError for what cannot be iterated.
std::vector<Value> Iterate(const Value& value);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_VALUE_H_
