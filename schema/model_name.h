// Whether a model name can point elsewhere tomorrow.

#ifndef REENACT_SCHEMA_MODEL_NAME_H_
#define REENACT_SCHEMA_MODEL_NAME_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace reenact::schema {

enum class Pinning : uint8_t {
  kPinned,        // The provider promises that this name stays what it is.
  kFloating,      // The name is an alias that the provider moves.
  kUndetermined,  // The name does not tell.
};

struct ModelNameClass {
  Pinning pinning = Pinning::kUndetermined;
  std::string
      evidence;  // Why, in a few words: "dated snapshot", "undated name with dated siblings".
};

std::string_view ToString(Pinning pinning);  // "pinned", "floating", "undetermined"

// `provider` as in Event::provider; "" tries to tell it from the name.
ModelNameClass ClassifyModelName(std::string_view provider, std::string_view model);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_MODEL_NAME_H_
