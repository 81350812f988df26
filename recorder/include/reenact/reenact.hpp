// reenact.hpp: the C++17 face of reenact.h. Header-only; needs neither exceptions nor RTTI.
//
// One code path serves recording and replay. Code that crosses a boundary (asks a model, calls a
// tool, searches, reads the clock, draws a random number) does it through a Run or a Scope:
//
//   reenact::Recorder recorder({.store = "/var/lib/refunds/reenact", .service = "refund-agent"});
//   recorder.OnReplay("POST /refund", HandleRefund);
//
//   reenact::Run run = recorder.StartRun({.entry = "POST /refund", .input = std::string(body),
//       .components = {
//       reenact::PromptTemplate("refund", "v14", prompt_template),
//       reenact::ToolSchema("lookup_order", "3", schema_json)}});
//   auto today = run.Now("today");
//   std::string id = FormatId(run.Random("refund_id"));
//   reenact::Result docs = run.Retrieve("kb", query, [&] { return index.Search(query); });
//   reenact::Result order = run.CallTool("lookup_order", order_id, [&] { return Find(order_id); });
//   reenact::Result answer = run.CallModel(
//       {.provider = "openai", .endpoint = url, .request = json},
//       [&](reenact::Sink& sink) { http.Post(url, json, sink); },  // live only
//       [&](std::string_view bytes) { page.Append(bytes); });      // live and on replay
//   if (answer.diverged()) return run.Fail(answer.error());
//   run.Finish(answer.text());
//
// Without designated initialisers (C++17): reenact::RunInfo info; info.entry = "POST /refund";
//
// What to know before use:
//   - Lambdas named `live` or `transport` run when recording and when the recorder is off, and
//     never on replay. All else runs in all modes, and sees the same bytes in the same pieces.
//   - A recorder that could not be opened is off: everything still runs live. In replay mode it is
//     poisoned instead: every call diverges, nothing is live.
//   - An exception out of a live lambda ends its call as `error` and passes through. On replay of
//     such a call a ReplayedError with the same what() is thrown in its place.
//   - A consumer that returns false, or throws, stops the call: it ends as `abandoned_by_caller`.
//     Its exception leaves CallModel after the transport has returned: it never crosses C code.
//   - Threads: a Recorder, Run or Scope may be used by many threads at once. Concurrent calls
//     should each have a Scope of their own, with a key that is the same on replay: Seam::Child.
//   - Strings in structs are owned copies; arguments of type string_view are read in the call.
//   - Memory for results is the host's: bad_alloc passes through like any exception.
//
// This header is all of it; the parts, where one is enough or to read in order:
//   values.hpp     components, RunInfo, ModelCall: what the calls take
//   result.hpp     Result, and the Sink of a transport
//   philox.hpp     the generator that Random gives
//   run.hpp        Run and Scope: the calls themselves
//   recorder.hpp   Options and Recorder
// reenact/internal/ may change at any time.

#ifndef REENACT_REENACT_HPP_
#define REENACT_REENACT_HPP_

#include "reenact/philox.hpp"
#include "reenact/recorder.hpp"
#include "reenact/reenact.h"
#include "reenact/result.hpp"
#include "reenact/run.hpp"
#include "reenact/values.hpp"

#endif  // REENACT_REENACT_HPP_
