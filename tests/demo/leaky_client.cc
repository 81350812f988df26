// A program that goes past the SDK: besides a recorded tool call it opens a connection to the
// outside on its own. Only when a filter watches it, so that recording it sends nothing.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include <reenact/reenact.hpp>

namespace {

// True when the kernel filters this process's system calls.
bool IsWatched() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.compare(0, 8, "Seccomp:") == 0) return line.find('2') != std::string::npos;
  }
  return false;
}

// An address set aside for documentation (RFC 5737): nobody is there.
int ConnectOutside() {
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(443);
  inet_pton(AF_INET, "203.0.113.7", &address.sin_addr);
  const int result =
      connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = errno;
  close(descriptor);
  return result == 0 ? 0 : error;
}

}  // namespace

int main(int argc, char** argv) {
  reenact::Options options;
  options.store = argc > 1 ? argv[1] : "";
  options.service = "leaky-client";
  reenact::Recorder recorder(options);
  reenact::RunInfo info;
  info.entry = "main";
  reenact::Run run = recorder.StartRun(info);
  const reenact::Result result = run.CallTool("answer", "{}", [] { return std::string("42"); });
  if (IsWatched() && ConnectOutside() == 0) std::fprintf(stderr, "connected to the outside\n");
  std::printf("%s\n", run.run_id().c_str());
  run.Finish(result.text());
  return recorder.Close(5000) == REENACT_OK ? 0 : 1;
}
