// One streamed chat completion over HTTP, recorded and replayable.

#ifndef REENACT_TOOLS_DEMO_MODEL_CLIENT_H_
#define REENACT_TOOLS_DEMO_MODEL_CLIENT_H_

#include <string>

#include <reenact/reenact.hpp>

#include "chat_stream.h"

namespace demo {

// Asks and waits for the whole answer. Throws std::runtime_error when there is none.
void AskModel(reenact::Seam& seam, const std::string& provider_url, const std::string& request,
              ChatStream* stream);

}  // namespace demo

#endif  // REENACT_TOOLS_DEMO_MODEL_CLIENT_H_
