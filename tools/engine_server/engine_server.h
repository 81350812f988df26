// A model behind OpenAI's HTTP API, on loopback only:
//   GET  /v1/models, /v1/models/{id}, /healthz
//   POST /v1/chat/completions, /v1/completions     whole, or streamed as server-sent events
// All requests share the steps of one engine (engine_thread.h). A client that hangs up cancels its
// request. What is understood of a request stands in api_request.h, what an answer holds in
// api_answer.h.
//
// Not here: authentication (whoever reaches loopback may ask), embeddings, the Responses API.
//
// A thread for each connection: made for tens of clients, not for thousands.

#ifndef REENACT_TOOLS_ENGINE_SERVER_ENGINE_SERVER_H_
#define REENACT_TOOLS_ENGINE_SERVER_ENGINE_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "local_engine/engine.h"

namespace reenact::engine_server {

struct ServerOptions {
  std::string model_name;     // Under which requests name the model.
  int port = 0;               // 0: any that is free.
  size_t most_requests = 64;  // On their way at once; more are answered with 503.
  size_t largest_body_bytes = size_t{8} << 20;
};

// Of a server's life.
struct ServerCounts {
  int64_t requests = 0;  // That were submitted to the engine.
  int64_t refused = 0;   // Answered with an error.
  int64_t hung_up = 0;   // Whose client left before the end.
};

class EngineServer {
 public:
  // Serves from now on, on 127.0.0.1. Errors: Unavailable where the port cannot be listened on.
  static absl::StatusOr<std::unique_ptr<EngineServer>> Start(
      std::unique_ptr<local_engine::Engine> engine, const ServerOptions& options);

  // Stops.
  ~EngineServer();

  int port() const;
  const local_engine::Engine& engine() const;

  // Takes no more connections, ends what is running with an error to its clients, and returns when
  // all threads have ended.
  void Stop();

  ServerCounts counts() const;

 private:
  struct Parts;

  explicit EngineServer(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace reenact::engine_server

#endif  // REENACT_TOOLS_ENGINE_SERVER_ENGINE_SERVER_H_
