#include "tools/bench/proxy/proxy_process.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

extern char** environ;

namespace reenact::bench {

ProxyProcess::ProxyProcess(std::string reenact, std::string store, uint16_t upstream) {
  int ends[2];
  if (pipe(ends) != 0) return;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  std::vector<std::string> words = {
      std::move(reenact), "--store",
      std::move(store),   "proxy",
      "--route",          "up=http://127.0.0.1:" + std::to_string(upstream)};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  if (posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ) != 0) pid_ = -1;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  output_ = ends[0];
  // "listening on http://127.0.0.1:41234"
  char line[256] = "";
  for (size_t at = 0; at + 1 < sizeof(line); ++at) {
    if (read(output_, line + at, 1) != 1 || line[at] == '\n') break;
  }
  const char* const colon = std::strrchr(line, ':');
  if (colon != nullptr) port_ = static_cast<uint16_t>(std::atoi(colon + 1));
}

ProxyProcess::~ProxyProcess() {
  if (pid_ > 0) {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  if (output_ >= 0) close(output_);
}

long ProxyProcess::PeakMemory() const {
  std::FILE* const file = std::fopen(("/proc/" + std::to_string(pid_) + "/status").c_str(), "r");
  if (file == nullptr) return 0;
  char line[256];
  long peak = 0;
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::sscanf(line, "VmHWM: %ld", &peak) == 1) break;
  }
  std::fclose(file);
  return peak;
}

}  // namespace reenact::bench
