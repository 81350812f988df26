// JSON as it was written: views, canonical form, differences and keys agree with each other.

#include "schema/json_view.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/schema/untrusted_input.h"

namespace reenact::fuzz::canonical_json {

void FuzzOne(std::string_view bytes) {
  if (const auto broken = schema::CheckJson(bytes)) Broken(*broken);
  if (schema::JsonDocument::Parse(bytes) != nullptr) Reached();
}

std::vector<std::string> Seeds() {
  return {
      R"({"model":"m","messages":[{"role":"user","content":"\u0073k \ud83d\ude00"}],"n":1.50e1})",
      R"({"a":1,"a":2,"\ud83d":"\u0000","b":[[[]]],"c":{"":-0.0}, "z":NaN, "big":12345678901234567890123})",
      R"([1e400,-1e-400,0.1,9007199254740993,"\\\/\b\f\n\r\t",true,false,null,{}])",
      std::string(300, '[') + std::string(300, ']')};
}

std::vector<std::string> Tokens() {
  return {"\"",
          "\\u",
          "\\ud83d",
          "\\udE00",
          "{",
          "}",
          "[",
          "]",
          ":",
          ",",
          "null",
          "true",
          "NaN",
          "-0.0",
          "Infinity",
          "1e99999999",
          "\"\":",
          "\xed\xa0\xbd",
          "\xf0\x9f\x98\x80",
          "\xef\xbb\xbf"};
}

const bool added = AddTarget({"canonical_json", FuzzOne, Seeds, Tokens});

}  // namespace reenact::fuzz::canonical_json
