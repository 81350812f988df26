// Who answers at a host. The names are those of Event::provider.

#ifndef REENACT_SCHEMA_INTERNAL_PROVIDER_NAMES_H_
#define REENACT_SCHEMA_INTERNAL_PROVIDER_NAMES_H_

#include <string_view>

namespace reenact::schema::internal {

// Empty for a host that is nobody's in particular. `authority`: a host, with or without a port.
std::string_view ProviderOfHost(std::string_view authority);

// True for a word that names a provider: "openai", "vllm". Case does not count.
bool IsProviderName(std::string_view word);

}  // namespace reenact::schema::internal

#endif  // REENACT_SCHEMA_INTERNAL_PROVIDER_NAMES_H_
