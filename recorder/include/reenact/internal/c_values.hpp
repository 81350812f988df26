// Values as the C structs of reenact.h, which own nothing.

#ifndef REENACT_INTERNAL_C_VALUES_HPP_
#define REENACT_INTERNAL_C_VALUES_HPP_

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "reenact/reenact.h"
#include "reenact/values.hpp"

namespace reenact {

namespace internal {

inline reenact_bytes Bytes(std::string_view text) {
  return {text.data(), text.size()};
}

inline std::string_view View(reenact_bytes bytes) {
  return bytes.data == nullptr ? std::string_view() : std::string_view(bytes.data, bytes.size);
}

inline std::vector<reenact_pair> Pairs(const Headers& headers) {
  std::vector<reenact_pair> pairs;
  pairs.reserve(headers.size());
  for (const auto& [name, value] : headers) pairs.push_back({Bytes(name), Bytes(value)});
  return pairs;
}

template <class Struct>
Struct Sized() {
  Struct value{};
  value.struct_size = sizeof(Struct);
  return value;
}

// Points into `component`.
inline reenact_component AsC(const Component& component) {
  auto c = Sized<reenact_component>();
  c.kind = Bytes(component.kind);
  c.name = Bytes(component.name);
  c.version = Bytes(component.version);
  c.content = Bytes(component.content);
  return c;
}

// Points into the call, and keeps the list of headers that the struct points to.
class ModelCallInfo {
 public:
  explicit ModelCallInfo(const ModelCall& call) : headers_(Pairs(call.headers)) {
    info_.boundary = REENACT_MODEL;
    info_.name = Bytes(call.name);
    info_.provider = Bytes(call.provider);
    info_.endpoint = Bytes(call.endpoint);
    info_.request = Bytes(call.request);
    info_.headers = headers_.data();
    info_.header_count = headers_.size();
    info_.attempt = call.attempt;
  }

  ModelCallInfo(const ModelCallInfo&) = delete;
  ModelCallInfo& operator=(const ModelCallInfo&) = delete;

  const reenact_call_info& info() const { return info_; }

 private:
  std::vector<reenact_pair> headers_;
  reenact_call_info info_ = Sized<reenact_call_info>();
};

// The whole text of reenact_error or reenact_call_error.
template <class Handle>
std::string ErrorText(size_t (*copy_error)(Handle*, char*, size_t), Handle* handle) {
  std::string text(copy_error(handle, nullptr, 0) + 1, '\0');
  const size_t size = copy_error(handle, text.data(), text.size());
  text.resize(std::min(size, text.size() - 1));  // Another thread may have set a longer one.
  return text;
}

}  // namespace internal

}  // namespace reenact

#endif  // REENACT_INTERNAL_C_VALUES_HPP_
