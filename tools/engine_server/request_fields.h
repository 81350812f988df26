// The members of a JSON object, read one by one with their types and ranges. The first one that is
// wrong is kept as the error; what is absent or null is nothing.

#ifndef REENACT_TOOLS_ENGINE_SERVER_REQUEST_FIELDS_H_
#define REENACT_TOOLS_ENGINE_SERVER_REQUEST_FIELDS_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"
#include "tools/engine_server/api_error.h"

namespace reenact::engine_server {

class RequestFields {
 public:
  // `object` outlives it. `prefix` goes before the names in errors: "stream_options.".
  explicit RequestFields(const nlohmann::ordered_json& object, std::string prefix = "");

  // Null when it is absent or null. Marks the field as known.
  const nlohmann::ordered_json* Find(const std::string& name);

  std::optional<bool> Bool(const std::string& name);
  std::optional<int64_t> Integer(const std::string& name, int64_t low, int64_t high);
  std::optional<double> Number(const std::string& name, double low, double high);
  std::optional<std::string> Text(const std::string& name);
  // A text, or a list of at most `most` texts.
  std::vector<std::string> Texts(const std::string& name, size_t most);

  // Fields that may be there and change nothing here.
  void Ignore(std::initializer_list<const char*> names);

  // Keeps an error about a field, unless there is one.
  void Refuse(const std::string& name, const std::string& what, const std::string& code = "");

  // The first error; a field that nobody asked for is one.
  std::optional<ApiError> Finish();

  const std::optional<ApiError>& error() const { return error_; }

 private:
  const nlohmann::ordered_json& object_;
  const std::string prefix_;
  std::set<std::string> known_;
  std::optional<ApiError> error_;
};

}  // namespace reenact::engine_server

#endif  // REENACT_TOOLS_ENGINE_SERVER_REQUEST_FIELDS_H_
