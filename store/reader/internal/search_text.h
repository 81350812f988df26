// What full-text search sees of a record, and how a person's words become a query. Pure.

#ifndef REENACT_STORE_READER_INTERNAL_SEARCH_TEXT_H_
#define REENACT_STORE_READER_INTERNAL_SEARCH_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "schema/model_view.h"
#include "schema/record.h"

namespace reenact::store::internal {

// Values are stored in catalogs; raise kCatalogVersion when they change.
enum class TextPlace : uint8_t {
  kRequest = 1,
  kAnswer = 2,
  kTool = 3,
  kRetrieval = 4,
  kInput = 5,
  kOutput = 6,
};
std::string_view ToString(TextPlace place);  // "request"

// Longer texts are indexed up to here.
inline constexpr size_t kMaxIndexedBytes = size_t{1} << 20;

struct SearchDocument {
  TextPlace place = TextPlace::kRequest;
  std::string text;  // UTF-8.
};

// Hashes of the messages of a run that are in the index already.
using SeenMessages = std::unordered_set<uint64_t>;

// The readable text of a body: strings, keys and numbers of JSON, else the bytes as UTF-8.
std::string ReadableText(std::string_view body);

// The texts of one event that are new in its run: messages are told to `*seen`, and those that are
// there already (most of a conversation's next request) are left out. `view` is used for model
// calls only. Without `seen` nothing is left out.
std::vector<SearchDocument> DocumentsOf(const schema::Event& event, const schema::ModelView& view,
                                        SeenMessages* seen);

// Words as an FTS5 query: every word must be there, a word ending in * is a prefix, words in
// double quotes are a phrase. Never a syntax error. Empty: no word in it.
std::string QuoteQuery(std::string_view text);

// `text` as it is given to the index: ideographs, which have no spaces, become words of their own.
std::string SeparateIdeographs(std::string_view text);

// At most 200 bytes of `text` around the last place where the first word of `query` stands.
std::string Snippet(std::string_view text, std::string_view query);

}  // namespace reenact::store::internal

#endif  // REENACT_STORE_READER_INTERNAL_SEARCH_TEXT_H_
