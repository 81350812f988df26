// The parts of a URL that say what is asked for. Takes whole URLs and bare targets alike.

#ifndef REENACT_SCHEMA_INTERNAL_URL_PARTS_H_
#define REENACT_SCHEMA_INTERNAL_URL_PARTS_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reenact::schema::internal {

// "api.openai.com:443"; empty where `url` is a bare target.
std::string_view AuthorityOf(std::string_view url);
// "/v1/chat/completions": without query and fragment, and without slashes at its end.
std::string_view PathOf(std::string_view url);
// What follows the '?', without the fragment.
std::string_view QueryOf(std::string_view url);

// Escapes and '+' resolved; in written order. "a" and "a=" are both {"a", ""}.
std::vector<std::pair<std::string, std::string>> QueryParameters(std::string_view url);

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_URL_PARTS_H_
