// How divergences are put into words: quoting, and the words for a difference.

#ifndef REENACT_REPLAYER_INTERNAL_MESSAGE_TEXT_H_
#define REENACT_REPLAYER_INTERNAL_MESSAGE_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "schema/canonical_json.h"

namespace reenact::replayer {

// `text` in double quotes; quotes, control characters and bytes that are not ASCII escaped when
// they are no UTF-8. Shortened past 200 bytes, on a code point.
std::string Quote(std::string_view text);

// "event #5": an event of the tape, by its index.
std::string EventText(size_t index);

// "temperature: recorded 0, now 0.2; messages[3].content: ...", at most `limit` of them.
std::string DescribeDifferences(const std::vector<schema::JsonDifference>& differences,
                                size_t limit = 10);

// A date or a time is all that differs in the values.
bool OnlyTimesDiffer(const schema::JsonDifference& difference);

// Where the record holds the mark of a removed secret, the attempt's text is replaced by the mark
// too: what stands there may be the secret.
void HideSecrets(std::vector<schema::JsonDifference>* differences);

// `text` with what changes from run to run and means nothing in an error taken out: memory
// addresses, dates, times of day.
std::string WithoutAddressesAndTimes(std::string_view text);
// The same, dates and times only.
std::string WithoutTimes(std::string_view text);

}  // namespace reenact::replayer

#endif  // REENACT_REPLAYER_INTERNAL_MESSAGE_TEXT_H_
