// What becomes of a client's request, by its head alone: it goes to an upstream, or the proxy
// answers it itself, because it is the proxy that is asked, because no route leads anywhere, or
// because it may not pass.

#ifndef REENACT_RECORDER_PROXY_ADMISSION_H_
#define REENACT_RECORDER_PROXY_ADMISSION_H_

#include <variant>

#include "recorder/proxy/exchange.h"
#include "recorder/proxy/own_answer.h"
#include "recorder/proxy/proxy_core.h"
#include "recorder/proxy/route.h"

namespace reenact::proxy {

using Admission = std::variant<Destination, OwnAnswer>;

// Counts what will pass by unseen (tunnels, upgrades) in the proxy's report.
Admission Admit(const ClientRequest& request, ProxyCore* core);

}  // namespace reenact::proxy

#endif  // REENACT_RECORDER_PROXY_ADMISSION_H_
