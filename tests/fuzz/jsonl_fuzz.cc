// The text form of a bundle: what is read is written as a text that reads the same.

#include "tests/fuzz/record_seeds.h"

namespace reenact::fuzz::jsonl {

void FuzzOne(std::string_view bytes) {
  const absl::StatusOr<store::Bundle> bundle = store::FromJsonl(std::string(bytes));
  if (!bundle.ok()) {
    if (bundle.status().message().empty()) Broken("an error without words");
    return;
  }
  Reached();
  const std::string text = store::ToJsonl(*bundle);
  const absl::StatusOr<store::Bundle> again = store::FromJsonl(text);
  if (!again.ok()) Broken("its own text is refused: " + again.status().ToString());
  if (store::ToJsonl(*again) != text) Broken("a text that changes");
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (uint8_t runs = 0; runs < 3; ++runs) {
    const std::string path = WriteScratch("seed.jsonl", BundleBytes(SampleBundle(runs)));
    const absl::StatusOr<store::Bundle> stored = store::ReadBundle(path);
    if (stored.ok()) seeds.push_back(store::ToJsonl(*stored));
  }
  return seeds;
}

std::vector<std::string> Tokens() {
  return {"\"base64\":",
          "{",
          "}",
          "[",
          "]",
          "\n",
          ",",
          ":",
          "null",
          "true",
          "\"\"",
          "\"-1\"",
          "\"18446744073709551616\"",
          "\"type\":",
          "\"run\"",
          "\"event\"",
          "\"end\"",
          "\"component\"",
          "\"body\":",
          "\"salt\":",
          "\"digest\":",
          "\\ud800",
          "\xff",
          "01HZY2Z3Q4R5S6T7V8W9XAYBZC"};
}

const bool added = AddTarget({"jsonl", FuzzOne, Seeds, Tokens});

}  // namespace reenact::fuzz::jsonl
