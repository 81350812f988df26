// What filters sort, join, compare and choose items by: `attribute="a.b"` and its like.

#ifndef REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_SEQUENCE_KEYS_H_
#define REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_SEQUENCE_KEYS_H_

#include <string>
#include <string_view>
#include <vector>

#include "local_engine/chat_template/internal/interpreter.h"
#include "local_engine/chat_template/internal/value.h"

namespace reenact::local_engine {

// The items of what can be iterated, charged.
std::vector<Value> TakeItems(Interpreter& interpreter, const Value& value);

// One path into an item: "message.content", "0", 0; the item itself where there is none.
class ItemKey {
 public:
  // `attribute` is null for the item itself. Strings are folded to lower case where `ignore_case`
  // is set.
  ItemKey(Interpreter& interpreter, const Value* attribute, bool ignore_case = false);
  ItemKey(Interpreter& interpreter, std::string_view path, bool ignore_case);
  Value Of(const Value& item) const;

 private:
  void AddPath(std::string_view path);

  Interpreter& interpreter_;
  std::vector<Value> path_;
  bool ignore_case_;
};

// Several paths, "role,name": a list of keys; of one its key.
class ItemKeys {
 public:
  ItemKeys(Interpreter& interpreter, const Value* attribute, bool ignore_case);
  Value Of(const Value& item) const;

 private:
  std::vector<ItemKey> keys_;
};

// Stable, also where it is reversed.
std::vector<Value> Sorted(Interpreter& interpreter, std::vector<Value> items, const ItemKeys& keys,
                          bool reverse);

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_CHAT_TEMPLATE_INTERNAL_SEQUENCE_KEYS_H_
