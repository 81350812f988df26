#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <CLI/CLI.hpp>

#include "local_engine/engine.h"
#include "tools/engine_server/engine_server.h"
#include "tools/reenact/engine/engine.h"
#include "tools/reenact/engine/engine_model.h"
#include "tools/reenact/io/write_file.h"
#include "tools/reenact/record/interruption.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

using engine_server::EngineServer;
using local_engine::Engine;

struct ServeOptions {
  ModelFlags model;
  std::string host = "127.0.0.1";
  int32_t port = 0;
  std::string port_file;
  std::string name;
  int32_t most_requests = 64;
};

// What the last part of the path says: "models/qwen3-0.6b/" is qwen3-0.6b.
std::string NameOf(const std::string& path) {
  std::filesystem::path name = std::filesystem::absolute(path).lexically_normal();
  if (!name.has_filename()) name = name.parent_path();
  return name.extension() == ".gguf" ? name.stem().string() : name.filename().string();
}

void Announce(const EngineServer& server, const ServeOptions& options, const Context& context) {
  const std::string url = "http://127.0.0.1:" + std::to_string(server.port()) + "/v1";
  if (context.json) {
    JsonWriter json = JsonWriter::Document("engine serve");
    json.TextField("model", options.name);
    json.TextField("base_url", url);
    json.IntField("port", server.port());
    json.IntField("max_positions", server.engine().max_positions());
    WriteIdentity(server.engine().identity(), &json);
    json.EndObject();
    Print(json.Take());
  } else {
    Print(Printable(options.name) + " is served at " + url + " (" +
          server.engine().identity().Fingerprint() + "); Ctrl-C ends it\n");
  }
  std::fflush(stdout);
}

int Serve(ServeOptions options, const Context& context) {
  if (options.host != "127.0.0.1" && options.host != "localhost") {
    return Refuse(context, "--host " + options.host +
                               " is not loopback: this server knows no passwords, and answers on "
                               "127.0.0.1 only");
  }
  if (options.name.empty()) options.name = NameOf(options.model.path);
  absl::StatusOr<std::unique_ptr<Engine>> engine = LoadEngine(options.model, context);
  if (!engine.ok()) return Fail(context, engine.status());

  Interruption interruption;
  absl::StatusOr<std::unique_ptr<EngineServer>> server = EngineServer::Start(
      *std::move(engine), {.model_name = options.name,
                           .port = options.port,
                           .most_requests = static_cast<size_t>(options.most_requests)});
  if (!server.ok()) return FailWith(context, server.status(), kExitRefused);
  if (!options.port_file.empty()) {
    const absl::Status written =
        WriteFile(options.port_file, std::to_string((*server)->port()) + "\n", /*replace=*/true);
    if (!written.ok()) return Fail(context, written);
  }
  Announce(**server, options, context);
  while (!Interruption::Happened()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  (*server)->Stop();
  const engine_server::ServerCounts counts = (*server)->counts();
  const local_engine::EngineCounters& of_engine = (*server)->engine().counters();
  Note(context, Counted(counts.requests, "request") + " served, " + std::to_string(counts.refused) +
                    " refused, " + std::to_string(counts.hung_up) + " hung up; at most " +
                    std::to_string(of_engine.most_co_resident) + " in a step");
  return kExitOk;
}

}  // namespace

void AddEngineServe(CLI::App* group, Context* context) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* verb = AddVerb(
      group, context,
      {.name = "serve",
       .summary = "Serves a model on loopback, to clients of OpenAI's API",
       .example = "  reenact engine serve --model models/qwen3-0.6b --port 8000\n"
                  "  OPENAI_BASE_URL=http://127.0.0.1:8000/v1 OPENAI_API_KEY=none ./my-agent",
       .takes_store = false},
      [options, context] { return Serve(*options, *context); });
  AddModelFlags(verb, &options->model);
  AddEngineFlags(verb, &options->model);
  verb->add_option("--host", options->host, "127.0.0.1: it is for this machine only")
      ->type_name("HOST")
      ->capture_default_str();
  verb->add_option("--port", options->port, "0: any that is free")
      ->check(InRange(0, 65535))
      ->type_name("N")
      ->capture_default_str();
  verb->add_option("--port-file", options->port_file, "write the port there")->type_name("FILE");
  verb->add_option("--model-name", options->name,
                   "what requests call the model; else the last part of its path")
      ->type_name("NAME");
  verb->add_option("--max-requests", options->most_requests,
                   "on their way at once; more are answered with HTTP 503")
      ->check(InRange(1, 512))
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace reenact::tools
