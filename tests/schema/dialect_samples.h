// Calls in every dialect, whole and streamed, as providers answer them: what properties are checked
// on, and what fuzzers begin with.

#ifndef REENACT_TESTS_SCHEMA_DIALECT_SAMPLES_H_
#define REENACT_TESTS_SCHEMA_DIALECT_SAMPLES_H_

#include <string>
#include <string_view>
#include <vector>

#include "schema/dialect.h"
#include "tests/schema/chat_call.h"

namespace reenact::schema {

struct DialectSample {
  std::string name;
  ModelDialect dialect = ModelDialect::kUnknown;
  ChatCall call;
  std::string body;
};

// Each is complete and read without an anomaly.
const std::vector<DialectSample>& DialectSamples();
const DialectSample& SampleNamed(std::string_view name);

// "event: T\ndata: {"type":"T",MEMBERS}\n\n", as Anthropic and the Responses API send it.
std::string TypedEvent(std::string_view type, std::string_view members);

ModelView View(const DialectSample& sample);
// The same call, answered otherwise.
ModelView ViewWith(const DialectSample& sample, std::string body, int32_t status = 200);

}  // namespace reenact::schema

#endif  // REENACT_TESTS_SCHEMA_DIALECT_SAMPLES_H_
