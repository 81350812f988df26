// Names of OpenAI models that are aliases: each has siblings with a date. As of 2026-11, from the
// provider's published client libraries. A name that is missing here is "undetermined", never
// "pinned", so an old table errs on the careful side.

#ifndef REENACT_SCHEMA_INTERNAL_MODEL_NAME_TABLE_H_
#define REENACT_SCHEMA_INTERNAL_MODEL_NAME_TABLE_H_

#include <algorithm>
#include <array>
#include <string_view>

namespace reenact::schema::internal {

inline constexpr std::array<std::string_view, 39> kDatedSiblings = {
    "computer-use-preview",
    "gpt-3.5-turbo",
    "gpt-3.5-turbo-16k",
    "gpt-4",
    "gpt-4-32k",
    "gpt-4-turbo",
    "gpt-4-turbo-preview",
    "gpt-4-vision-preview",
    "gpt-4.1",
    "gpt-4.1-mini",
    "gpt-4.1-nano",
    "gpt-4o",
    "gpt-4o-audio-preview",
    "gpt-4o-mini",
    "gpt-4o-mini-audio-preview",
    "gpt-4o-mini-search-preview",
    "gpt-4o-search-preview",
    "gpt-5",
    "gpt-5-mini",
    "gpt-5-nano",
    "gpt-5-pro",
    "gpt-5.1",
    "gpt-5.2",
    "gpt-5.2-pro",
    "gpt-5.4-mini",
    "gpt-5.4-nano",
    "gpt-5.5",
    "gpt-5.5-pro",
    "gpt-audio-mini",
    "o1",
    "o1-mini",
    "o1-preview",
    "o1-pro",
    "o3",
    "o3-deep-research",
    "o3-mini",
    "o3-pro",
    "o4-mini",
    "o4-mini-deep-research",
};
static_assert(std::is_sorted(kDatedSiblings.begin(), kDatedSiblings.end()));

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_MODEL_NAME_TABLE_H_
