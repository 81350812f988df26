// Changes that Reenact makes to a request on its way to the provider: a fork's edits, and the
// member that asks for log probabilities. They are made in the text, so that every byte which is
// not changed stays as the program wrote it, and they can be taken back: a replay compares with
// what the program asked, not with what was sent.

#ifndef REENACT_SCHEMA_REQUEST_EDIT_H_
#define REENACT_SCHEMA_REQUEST_EDIT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/record.h"

namespace reenact::schema {

struct RequestEdit {
  std::string path;   // As differences name it: "temperature", "messages[0].content".
  std::string value;  // JSON text that stands there now.
  // JSON text that stood there before; absent: there was no such member.
  std::optional<std::string> before = std::nullopt;

  bool operator==(const RequestEdit&) const = default;
};

// "PATH=VALUE" as people write it. VALUE is JSON where it can be read so, else a string.
// Nothing: no '=', or no path.
std::optional<RequestEdit> ParseRequestEdit(std::string_view text);

// The text with the edit made, and `edit->before` filled in. A last member that is missing is
// added at the end of its object. Nothing: `json` is no JSON, or the path leads nowhere in it.
std::optional<std::string> ApplyEdit(std::string_view json, RequestEdit* edit);

// `text` as a string of JSON, quotes included. Bytes that are no UTF-8 are kept.
std::string QuotedJson(std::string_view text);

// The fact of an event whose request is not what the program asked: the edits, as JSON.
inline constexpr std::string_view kRequestEditsFact = "request_edits";
std::string EncodeEdits(const std::vector<RequestEdit>& edits);

// The request of an event as the program made it: without the edits that its facts tell of. Equal
// JSON, not equal bytes: a member may stand elsewhere. What cannot be taken back stays.
std::string WithoutEdits(std::string_view request, const Tags& facts);

}  // namespace reenact::schema

#endif  // REENACT_SCHEMA_REQUEST_EDIT_H_
