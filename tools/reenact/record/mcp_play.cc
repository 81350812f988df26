#include "tools/reenact/record/mcp_play.h"

#include <errno.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "schema/json_rpc.h"
#include "schema/mcp_session.h"
#include "tools/reenact/record/child_program.h"
#include "tools/reenact/verb.h"

namespace reenact::tools {
namespace {

// Clients forget whom to tell of progress as soon as the result is read; what was written between
// is read before it only if the client gets it by itself, as from a server that works in between.
constexpr std::chrono::milliseconds kBetweenLines{5};
constexpr std::chrono::milliseconds kPollLeft{1};
// A client that reads nothing for so long will not have forgotten either.
constexpr std::chrono::seconds kReadingPatience{2};

// What the client has not read yet: through a socket, as Node starts its children, or a pipe.
int LeftUnread(int fd) {
  int bytes = 0;
  if (ioctl(fd, SIOCOUTQ, &bytes) == 0 || ioctl(fd, FIONREAD, &bytes) == 0) return bytes;
  return 0;
}

void AwaitReading(int fd) {
  const auto end = std::chrono::steady_clock::now() + kReadingPatience;
  while (LeftUnread(fd) > 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kPollLeft);
  }
}

bool Say(const replayer::McpReply& reply) {
  for (size_t i = 0; i < reply.lines.size(); ++i) {
    if (i > 0) {
      AwaitReading(STDOUT_FILENO);
      std::this_thread::sleep_for(kBetweenLines);
    }
    if (!WriteAll(STDOUT_FILENO, reply.lines[i] + '\n')) return false;
  }
  return !reply.server_gone;
}

// The exit status of a server that ended so: "... exit status 3", "... signal 9".
int StatusOf(const std::string& end) {
  const size_t digits = end.find_last_of(' ') + 1;
  const int number = std::atoi(end.c_str() + digits);
  return end.substr(0, digits).ends_with("signal ") ? kExitSignalled + number : number;
}

}  // namespace

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

int PlayMcpServer(replayer::McpPeer* peer) {
  replayer::McpReply last = peer->Begin();
  bool goes_on = Say(last);
  schema::LineReader lines(schema::kMcpLineLimit);
  const auto answer = [&](const schema::LineReader::Line& line) {
    if (!goes_on) return;
    last = peer->FromClient(line);
    goes_on = Say(last);
  };
  std::string buffer(64 << 10, '\0');
  while (goes_on) {
    const ssize_t size = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    lines.Append({buffer.data(), static_cast<size_t>(size)}, answer);
  }
  lines.Finish(answer);
  peer->ClientEnded();
  return last.server_gone ? StatusOf(last.server_end) : kExitOk;
}

}  // namespace reenact::tools
