// The socket to which `reenact mcp` processes come: frames of any kind go into a session of MCP
// that is played from its tape, and the session makes its report.

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <thread>

#include "replayer/mcp/mcp_frames.h"
#include "replayer/mcp/mcp_hub.h"
#include "replayer/mcp/mcp_replay.h"
#include "schema/dialect.h"
#include "schema/mcp_session.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/replayer/tape_builder.h"

namespace reenact::fuzz::mcp_hub {
namespace {

using replayer::McpFrameType;

constexpr char kServer[] = "weather";
constexpr char kInitialize[] = R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{}})";
constexpr char kCall[] =
    R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"w","_meta":{"progressToken":1}}})";

const schema::RecordedRun& Tape() {
  static const schema::RecordedRun tape = [] {
    replayer::TapeBuilder builder;
    const auto add = [&](const std::string& name, const std::string& request,
                         const std::string& answer, schema::EndState end) {
      schema::Event& event = builder.Add({.scope = kServer,
                                          .boundary = schema::Boundary::kTool,
                                          .name = name,
                                          .request = request,
                                          .reads = {answer},
                                          .end_state = end});
      event.provider = schema::kMcp;
    };
    using schema::EndState;
    add(std::string(schema::kMcpServerMessage), schema::McpServerMessageRequest(0), "starting\n",
        EndState::kComplete);
    add("initialize", kInitialize, "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}\n",
        EndState::kComplete);
    add("w", kCall,
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
        "progress\",\"params\":{\"progressToken\":1}}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"sampling/createMessage\"}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"isError\":true}}\n",
        EndState::kReset);
    builder.run().end.reset();
    return builder.run();
  }();
  return tape;
}

int Connect(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    Broken("no hub");
  }
  return fd;
}

// Sends the bytes and no more, and takes what the hub says until the session has ended.
void Feed(const std::string& path, std::string_view bytes) {
  const int fd = Connect(path);
  std::thread reader([fd] {
    char answers[4096];
    while (recv(fd, answers, sizeof(answers), 0) > 0) {
    }
  });
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) break;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  shutdown(fd, SHUT_WR);
  reader.join();
  close(fd);
}

std::string Frame(McpFrameType type, const std::string& bytes = {}) {
  std::string frame(1, static_cast<char>(type));
  for (const uint64_t size : {bytes.size(), bytes.size()}) {
    frame.append(reinterpret_cast<const char*>(&size), sizeof(size));
  }
  return frame + bytes;
}

}  // namespace

void FuzzOne(std::string_view bytes) {
  replayer::ReplaySession session(Tape(), {});
  session.Answer(schema::BeginRun{Tape().run.entry, Tape().run.input.bytes, {}});
  const std::string path =
      std::filesystem::temp_directory_path() / ("reenact-fuzz-hub-" + std::to_string(getpid()));
  {
    auto hub = replayer::McpHub::Start(path, [&](const replayer::McpSession& mcp) {
      return std::make_unique<replayer::McpReplay>(&session, mcp.server);
    });
    if (!hub.ok()) Broken("no hub: " + std::string(hub.status().message()));
    Feed(path, bytes);
  }
  const replayer::ReplayReport report = session.Finish(replayer::kReplayTime);
  if (report.calls_served > report.calls_on_tape) Broken("more calls served than recorded");
  if (report.calls_served > 1) Reached();
}

std::vector<std::string> Seeds() {
  const std::string begun = Frame(McpFrameType::kSecret, "wk-0123456789abcdef") +
                            Frame(McpFrameType::kServer, kServer) +
                            Frame(McpFrameType::kFromClient, kInitialize);
  const std::string asked = begun + Frame(McpFrameType::kFromClient, kCall);
  return {
      begun,
      asked + Frame(McpFrameType::kFromClient, R"({"jsonrpc":"2.0","id":"s","result":{}})") +
          Frame(McpFrameType::kClientEnded),
      asked + Frame(McpFrameType::kFromServer, "{}") + Frame(McpFrameType::kServerEnded, "gone"),
      begun + Frame(McpFrameType::kFromClient, "no message"),
      std::string("C\xff\xff\xff\x03\0\0\0\0\0\0\0\0\0\0\0\0", 17),
      Frame(McpFrameType::kServer, "other") + Frame(McpFrameType::kMode)};
}

std::vector<std::string> Tokens() {
  std::vector<std::string> tokens = {
      "\"id\":", "\"method\":", "\"result\":{}", "\"progressToken\":", "\n", "1e400", "null"};
  for (const McpFrameType type : {McpFrameType::kSecret, McpFrameType::kFromServer,
                                  McpFrameType::kServerEnded, McpFrameType::kClientEnded}) {
    tokens.push_back(Frame(type, "x"));
  }
  tokens.push_back(Frame(McpFrameType::kFromClient, kCall));
  return tokens;
}

const bool added = AddTarget({"mcp_hub", FuzzOne, Seeds, Tokens});

}  // namespace reenact::fuzz::mcp_hub
