// The request of a model call in parts, so that one of them can be taken from another request: its
// settings, and the messages it is made of. All other bytes stay as they are.

#ifndef REENACT_REPLAYER_EXPLAIN_REQUEST_PARTS_H_
#define REENACT_REPLAYER_EXPLAIN_REQUEST_PARTS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reenact::explain {

struct PartDifference {
  std::string name;      // "temperature", "messages[3]"
  std::string incident;  // As written; empty: it is not there.
  std::string reference;
  bool is_setting = false;  // And no text that a program composes.
};

// Members of the two requests that differ in value, and of lists of equal length the elements. What
// carries no meaning (who asked, whether it streams) is left out. Nothing where one is no object.
std::vector<PartDifference> DifferingParts(std::string_view incident, std::string_view reference);

// `request` with the part `name` as `from` has it; null where `from` has none. Nothing: one of them
// is no object, or `request` has no such element.
std::optional<std::string> WithPart(std::string_view request, std::string_view from,
                                    std::string_view name);

}  // namespace reenact::explain

#endif  // REENACT_REPLAYER_EXPLAIN_REQUEST_PARTS_H_
