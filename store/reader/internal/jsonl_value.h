// The JSON forms of values in a JSONL export, both ways. Private to store/reader/jsonl.cc and
// jsonl_record.cc.
//
// 64-bit integers are strings, because readers in other languages round them to doubles; bytes that
// are not UTF-8 are {"base64": "..."}; a body carries its salt and digest, so that an edited line
// is found out.

#ifndef REENACT_STORE_READER_INTERNAL_JSONL_VALUE_H_
#define REENACT_STORE_READER_INTERNAL_JSONL_VALUE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "schema/record.h"

namespace reenact::store::internal {

using Json = nlohmann::ordered_json;

Json TextToJson(std::string_view text);
Json NumberToJson(int64_t value);
Json UnsignedToJson(uint64_t value);
Json TagsToJson(const schema::Tags& tags);
Json MomentToJson(const schema::Moment& moment);
Json BodyToJson(const schema::Body& body);
Json ExchangeToJson(const schema::Exchange& exchange);

// The members of one object. A member that is missing or has another form makes the whole object
// bad: getters then give empty values, and problem() names the first such member.
class JsonFields {
 public:
  explicit JsonFields(const Json& object) : object_(object) {}

  bool Has(const char* key) const;
  std::string Text(const char* key);
  int64_t Number(const char* key);
  uint64_t Unsigned(const char* key);
  int32_t Small(const char* key);  // A JSON number.
  bool Flag(const char* key);
  schema::Ulid Id(const char* key);
  schema::Tags Pairs(const char* key);
  schema::Moment Time(const char* key);
  schema::Body BodyOf(const char* key);
  schema::Exchange ExchangeOf(const char* key);
  schema::EndState End(const char* key);
  void Fail(const char* key, std::string_view what);

  bool ok() const { return problem_.empty(); }

  const std::string& problem() const { return problem_; }

 private:
  const Json* Find(const char* key);

  const Json& object_;
  std::string problem_;
};

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_JSONL_VALUE_H_
