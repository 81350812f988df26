#include "tools/engine_server/engine_server.h"

#include <httplib.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "tools/engine_server/api_answer.h"
#include "tools/engine_server/api_error.h"
#include "tools/engine_server/api_request.h"
#include "tools/engine_server/engine_thread.h"
#include "tools/engine_server/peer_watch.h"
#include "tools/engine_server/prepare_prompt.h"

namespace reenact::engine_server {
namespace {

using local_engine::Answer;
using nlohmann::ordered_json;

constexpr const char* kJson = "application/json";
// How long a client that has hung up may keep the engine busy.
constexpr auto kPatience = std::chrono::milliseconds(50);
constexpr size_t kConnectionsBeyondRequests = 32;  // To be refused, or idle.
constexpr int kBacklog = 512;

// cpp-httplib lets only five connections wait; a burst of more would be held up for a second.
class Listener : public httplib::Server {
 public:
  void WidenBacklog() const { ::listen(svr_sock_, kBacklog); }
};

std::string RandomHex(int digits) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::random_device device;
  std::string text;
  for (int i = 0; i < digits; ++i) text += kDigits[device() % 16];
  return text;
}

// 53 bits: readers of JSON in JavaScript keep no more.
uint64_t RandomSeed() {
  std::random_device device;
  return ((uint64_t{device()} << 32) | device()) >> 11;
}

// To clients that read their stream's end slowly, or not at all, when the server stops.
constexpr absl::Duration kLongestFarewell = absl::Seconds(2);

bool IsLoopbackName(const std::string& host) {
  const std::string name = host.substr(0, host.rfind(':'));
  return name.empty() || name == "127.0.0.1" || name == "localhost";
}

void SendError(const ApiError& error, httplib::Response* response) {
  response->status = error.status;
  if (error.status == 503) response->set_header("retry-after", "1");
  response->set_content(ErrorBody(error), kJson);
}

}  // namespace

struct EngineServer::Parts {
  ServerOptions options;
  std::unique_ptr<EngineThread> engine_thread;
  Listener http;
  int port = 0;
  std::thread listening;
  std::atomic<bool> listened{false};  // And does no more.
  std::atomic<bool> stopped{false};
  std::atomic<int64_t> requests{0};
  std::atomic<int64_t> refused{0};
  std::atomic<int64_t> hung_up{0};
  std::atomic<int> open_streams{0};  // Whose last bytes are not written yet.

  // One request from its body to its answer. Shared with the stream, which outlives the handler.
  struct Exchange {
    ApiRequest request;
    std::unique_ptr<ApiAnswer> answer;
    std::shared_ptr<Job> job;
    std::unique_ptr<PeerWatch> peer;
    bool begun = false;
  };

  void AddRoutes();
  ordered_json ModelObject() const;
  void SendModel(const std::string& name, httplib::Response* response);
  void Complete(Endpoint endpoint, const httplib::Request& http_request,
                httplib::Response* response);
  std::optional<ApiError> Prepare(Exchange* exchange) const;
  void SendWhole(Exchange* exchange, httplib::Response* response);
  bool SendPart(Exchange* exchange, httplib::DataSink* sink);
  bool ClientIsGone(Exchange* exchange);
  void Refuse(const ApiError& error, httplib::Response* response);
};

void EngineServer::Parts::Refuse(const ApiError& error, httplib::Response* response) {
  ++refused;
  SendError(error, response);
}

void EngineServer::Parts::AddRoutes() {
  http.set_payload_max_length(options.largest_body_bytes);
  http.set_keep_alive_max_count(10'000);
  http.set_keep_alive_timeout(2);
  http.set_read_timeout(10);
  http.set_write_timeout(30);
  http.set_tcp_nodelay(true);
  const size_t threads = options.most_requests + kConnectionsBeyondRequests;
  http.new_task_queue = [threads] { return new httplib::ThreadPool(threads); };
  http.set_pre_routing_handler(
      [this](const httplib::Request& request, httplib::Response& response) {
        response.set_header("x-request-id", "req_" + RandomHex(16));
        // A page in a browser that resolves its own name to loopback is no client.
        if (IsLoopbackName(request.get_header_value("host"))) {
          return httplib::Server::HandlerResponse::Unhandled;
        }
        Refuse({403, "the Host header does not name loopback"}, &response);
        return httplib::Server::HandlerResponse::Handled;
      });
  http.set_error_handler([](const httplib::Request& request, httplib::Response& response) {
    if (!response.body.empty()) return;
    ApiError error{response.status, "the request could not be read"};
    if (response.status == 404) {
      error.message = "there is nothing at " + request.method + " " + request.path;
      error.code = "unknown_url";
    } else if (response.status == 413) {
      error.message = "the body is too large";
    }
    SendError(error, &response);
  });
  http.set_exception_handler(
      [](const httplib::Request&, httplib::Response& response, const std::exception_ptr&) {
        SendError({500, "the server failed on this request"}, &response);
      });
  http.Get("/healthz", [](const httplib::Request&, httplib::Response& response) {
    response.set_content("ok\n", "text/plain");
  });
  http.Get("/v1/models", [this](const httplib::Request&, httplib::Response& response) {
    const ordered_json list = {{"object", "list"}, {"data", ordered_json::array({ModelObject()})}};
    response.set_content(list.dump(), kJson);
  });
  http.Get(R"(/v1/models/(.+))",
           [this](const httplib::Request& request, httplib::Response& response) {
             SendModel(request.matches[1].str(), &response);
           });
  for (const auto& [path, endpoint] : {std::pair("/v1/chat/completions", Endpoint::kChat),
                                       std::pair("/v1/completions", Endpoint::kCompletions)}) {
    http.Post(path, [this, endpoint = endpoint](const httplib::Request& request,
                                                httplib::Response& response) {
      Complete(endpoint, request, &response);
    });
  }
}

ordered_json EngineServer::Parts::ModelObject() const {
  return {{"id", options.model_name},
          {"object", "model"},
          {"created", 0},
          {"owned_by", "reenact"},
          {"max_model_len", engine_thread->engine().max_positions()},
          {"system_fingerprint", engine_thread->engine().identity().Fingerprint()}};
}

void EngineServer::Parts::SendModel(const std::string& name, httplib::Response* response) {
  if (name == options.model_name) return response->set_content(ModelObject().dump(), kJson);
  Refuse({404, "the model \"" + name + "\" is not served here; \"" + options.model_name + "\" is",
          "model", "model_not_found"},
         response);
}

// All that can be said of a request before the engine sees it.
std::optional<ApiError> EngineServer::Parts::Prepare(Exchange* exchange) const {
  ApiRequest& request = exchange->request;
  if (request.model != options.model_name) {
    return ApiError{
        404,
        "the model \"" + request.model + "\" is not served here; \"" + options.model_name + "\" is",
        "model", "model_not_found"};
  }
  if (std::optional<ApiError> error = PreparePrompt(engine_thread->engine(), &request)) {
    return error;
  }
  if (!request.engine_request.seed.has_value()) request.engine_request.seed = RandomSeed();
  const bool is_chat = request.endpoint == Endpoint::kChat;
  exchange->answer = std::make_unique<ApiAnswer>(
      request, engine_thread->engine(),
      AnswerHead{.id = (is_chat ? "chatcmpl-" : "cmpl-") + RandomHex(24),
                 .created_s = absl::ToUnixSeconds(absl::Now()),
                 .model = options.model_name,
                 .seed = static_cast<int64_t>(*request.engine_request.seed)});
  return std::nullopt;
}

void EngineServer::Parts::Complete(Endpoint endpoint, const httplib::Request& http_request,
                                   httplib::Response* response) {
  auto exchange = std::make_shared<Exchange>();
  std::optional<ApiError> error = ReadRequest(endpoint, http_request.body, &exchange->request);
  if (!error.has_value()) error = Prepare(exchange.get());
  if (error.has_value()) return Refuse(*error, response);
  absl::StatusOr<std::shared_ptr<Job>> job =
      engine_thread->Submit(exchange->request.engine_request);
  if (!job.ok()) return Refuse(FromStatus(job.status()), response);
  ++requests;
  exchange->job = *std::move(job);
  exchange->peer = std::make_unique<PeerWatch>(port, http_request.remote_port);
  if (!exchange->request.stream) return SendWhole(exchange.get(), response);
  response->set_header("cache-control", "no-cache");
  ++open_streams;
  response->set_chunked_content_provider(
      "text/event-stream",
      [this, exchange](size_t, httplib::DataSink& sink) { return SendPart(exchange.get(), &sink); },
      [this, exchange](bool) {
        engine_thread->Cancel(exchange->job.get());
        --open_streams;
      });
}

bool EngineServer::Parts::ClientIsGone(Exchange* exchange) {
  if (!exchange->peer->IsGone()) return false;
  ++hung_up;
  engine_thread->Cancel(exchange->job.get());
  return true;
}

void EngineServer::Parts::SendWhole(Exchange* exchange, httplib::Response* response) {
  for (bool more = true; more;) {
    std::vector<TokenEvent> events;
    more = exchange->job->Next(kPatience, &events);
    for (const TokenEvent& event : events) exchange->answer->Add(event);
    if (more && ClientIsGone(exchange)) return Refuse({499, "the client hung up"}, response);
  }
  const absl::StatusOr<Answer>& answer = exchange->job->answer();
  if (const std::optional<ApiError> error = ErrorOf(answer)) return Refuse(*error, response);
  response->set_content(exchange->answer->Whole(*answer), kJson);
}

// Called until it has said that it is done. False breaks the connection off.
bool EngineServer::Parts::SendPart(Exchange* exchange, httplib::DataSink* sink) {
  std::string records;
  if (!std::exchange(exchange->begun, true)) records = exchange->answer->Begin();
  std::vector<TokenEvent> events;
  const bool more = exchange->job->Next(kPatience, &events);
  for (const TokenEvent& event : events) records += exchange->answer->Add(event);
  if (more && ClientIsGone(exchange)) return false;
  if (!more) {
    const absl::StatusOr<Answer>& answer = exchange->job->answer();
    const std::optional<ApiError> error = ErrorOf(answer);
    records += error.has_value() ? ApiAnswer::EndWith(*error) : exchange->answer->End(*answer);
  }
  if (!records.empty() && !sink->write(records.data(), records.size())) {
    ++hung_up;
    return false;
  }
  if (!more) sink->done();
  return true;
}

EngineServer::EngineServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

EngineServer::~EngineServer() {
  Stop();
}

absl::StatusOr<std::unique_ptr<EngineServer>> EngineServer::Start(
    std::unique_ptr<local_engine::Engine> engine, const ServerOptions& options) {
  auto parts = std::make_unique<Parts>();
  parts->options = options;
  parts->AddRoutes();
  if (options.port == 0) {
    parts->port = parts->http.bind_to_any_port("127.0.0.1");
  } else if (parts->http.bind_to_port("127.0.0.1", options.port)) {
    parts->port = options.port;
  } else {
    parts->port = -1;
  }
  if (parts->port < 0) {
    return absl::UnavailableError("cannot listen on 127.0.0.1, port " +
                                  std::to_string(options.port) + "; is it taken?");
  }
  parts->http.WidenBacklog();
  parts->engine_thread = std::make_unique<EngineThread>(std::move(engine), options.most_requests);
  Parts* p = parts.get();
  parts->listening = std::thread([p] {
    p->http.listen_after_bind();
    p->listened = true;
  });
  return std::unique_ptr<EngineServer>(new EngineServer(std::move(parts)));
}

int EngineServer::port() const {
  return parts_->port;
}

const local_engine::Engine& EngineServer::engine() const {
  return parts_->engine_thread->engine();
}

void EngineServer::Stop() {
  if (parts_->stopped.exchange(true)) return;
  // What runs is ended first: the threads of its connections are waiting for it.
  parts_->engine_thread->Stop();
  // It may only just be starting.
  while (!parts_->http.is_running() && !parts_->listened) std::this_thread::yield();
  // From version 0.18 on the library cuts off what is being written when it is told to stop.
  const absl::Time deadline = absl::Now() + kLongestFarewell;
  while (parts_->open_streams > 0 && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  parts_->http.stop();
  parts_->listening.join();
}

ServerCounts EngineServer::counts() const {
  return {.requests = parts_->requests, .refused = parts_->refused, .hung_up = parts_->hung_up};
}

}  // namespace reenact::engine_server
