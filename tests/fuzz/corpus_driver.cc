// One fuzz target as an ordinary test: its seeds, its corpus, and mutations of them, the same in
// every run. The target runs in a child process, so that whatever happens to it is seen from
// outside: a signal, a sanitizer's report, no memory, no end. The input that did it is written to a
// file.
//
// Usage: fuzz_test NAME [--corpus DIR] [--mutations N] [--seconds S] [--hang-ms MS] [--plant FAULT]
//        fuzz_test NAME --write-seeds DIR    seeds, and the dictionary DIR.dict, for libFuzzer
//        fuzz_test NAME FILE...              these inputs only
// Exit codes: 0 nothing found; 1 a finding, or nothing was accepted; 2 usage.

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/fault.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/input_mutator.h"

namespace reenact::fuzz {
namespace {

constexpr size_t kMaxInput = size_t{4} << 20;
// What a target may allocate; a length that is believed blindly asks for more. Sanitizers reserve
// terabytes of addresses and have a limit of their own.
constexpr rlim_t kMaxAddresses = rlim_t{4} << 30;

struct Options {
  const Target* target = nullptr;
  std::string corpus;
  uint64_t mutations = 3000;
  int64_t seconds = 3;  // The mutations end then, how many there were is printed.
  int hang_ms = 20'000;
  Fault fault = Fault::kNone;
  std::string seeds_folder;
  std::vector<std::string> files;
};

// What the child tells, whatever becomes of it.
struct Progress {
  std::atomic<uint64_t> executions{0};
  std::atomic<uint64_t> reached{0};
  std::atomic<uint64_t> mutations{0};
  std::atomic<bool> done{false};
  size_t size = 0;
  char input[kMaxInput];  // The one under way.
};

bool ParseOptions(int argc, char** argv, Options* options) {
  if (argc < 2) return false;
  options->target = FindTarget(argv[1]);
  if (options->target == nullptr) {
    std::fprintf(stderr, "%s: no target has this name\n", argv[1]);
    return false;
  }
  for (int i = 2; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (!word.starts_with("--")) {
      options->files.emplace_back(word);
      continue;
    }
    if (++i == argc) return false;
    if (word == "--corpus") {
      options->corpus = argv[i];
    } else if (word == "--mutations") {
      options->mutations = std::strtoull(argv[i], nullptr, 10);
    } else if (word == "--seconds") {
      options->seconds = std::strtoll(argv[i], nullptr, 10);
    } else if (word == "--hang-ms") {
      options->hang_ms = std::atoi(argv[i]);
    } else if (word == "--write-seeds") {
      options->seeds_folder = argv[i];
    } else if (word != "--plant" || !ParseFault(argv[i], &options->fault)) {
      return false;
    }
  }
  return true;
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return std::move(bytes).str();
}

std::vector<std::string> ReadCorpus(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code no_folder;  // A target without findings has none.
  for (const auto& entry : std::filesystem::directory_iterator(folder, no_folder)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> inputs;
  for (const auto& path : paths) inputs.push_back(ReadFile(path));
  return inputs;
}

int WriteSeeds(const Target& target, const std::string& folder) {
  std::filesystem::create_directories(folder);
  size_t number = 0;
  for (const std::string& seed : target.seeds()) {
    std::ofstream(folder + "/seed-" + std::to_string(number++), std::ios::binary) << seed;
  }
  std::ofstream dictionary(folder + ".dict");
  for (const std::string& token : target.tokens()) {
    dictionary << '"';
    for (const char c : token) {
      char escaped[5];
      std::snprintf(escaped, sizeof(escaped), "\\x%02x", static_cast<unsigned char>(c));
      dictionary << escaped;
    }
    dictionary << "\"\n";
  }
  return dictionary ? 0 : 1;
}

void RunOne(const Target& target, const std::string& bytes, Progress* progress) {
  progress->size = std::min(bytes.size(), kMaxInput);
  std::memcpy(progress->input, bytes.data(), progress->size);
  // A copy of exactly that size, so that the address sanitizer sees a read beyond it.
  const std::vector<char> exact(progress->input, progress->input + progress->size);
  target.fuzz_one({exact.data(), exact.size()});
  progress->executions.fetch_add(1);
}

void RunChild(const Options& options, const std::vector<std::string>& inputs, Progress* progress) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
  const rlimit limit = {kMaxAddresses, kMaxAddresses};
  setrlimit(RLIMIT_AS, &limit);
#endif
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  CountReachedIn(&progress->reached);
  Plant(options.fault);
  const Target& target = *options.target;
  for (const std::string& input : inputs) RunOne(target, input, progress);
  if (options.files.empty()) {
    InputMutator mutator(inputs, target.tokens(), /*seed=*/1);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds);
    for (uint64_t i = 0; i < options.mutations && std::chrono::steady_clock::now() < end; ++i) {
      RunOne(target, mutator.Next(), progress);
      progress->mutations.fetch_add(1);
    }
  }
  progress->done = true;
}

// Waits for the child's end, and makes one for a child that stands still. What happened, in words;
// empty where it ended well.
std::string WatchChild(pid_t child, int pipe_of_child, int hang_ms, const Progress& progress) {
  bool hangs = false;
  uint64_t seen = progress.executions;
  pollfd end_of_child = {pipe_of_child, POLLIN, 0};
  while (poll(&end_of_child, 1, hang_ms) == 0) {
    const uint64_t now = progress.executions;
    if (now == seen && !progress.done) {
      hangs = true;
      kill(child, SIGKILL);
      break;
    }
    seen = now;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (hangs) return "no end after " + std::to_string(hang_ms) + " ms";
  if (WIFSIGNALED(status)) return std::string("killed by signal: ") + strsignal(WTERMSIG(status));
  if (WEXITSTATUS(status) != 0) return "exit code " + std::to_string(WEXITSTATUS(status));
  return progress.done ? "" : "left without a word";
}

int Run(const Options& options) {
  const std::string name(options.target->name);
  void* const shared =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int ends[2];
  if (shared == MAP_FAILED || pipe(ends) != 0) return 2;
  auto* const progress = new (shared) Progress;
  std::vector<std::string> inputs;
  for (const std::string& file : options.files) inputs.push_back(ReadFile(file));
  if (options.files.empty()) {
    inputs = options.target->seeds();
    for (std::string& input : ReadCorpus(options.corpus)) inputs.push_back(std::move(input));
  }
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return 2;
  if (child == 0) {
    close(ends[0]);  // The other one closes with the process, however it ends.
    RunChild(options, inputs, progress);
    std::exit(0);  // So that a leak is reported.
  }
  close(ends[1]);
  const std::string happened = WatchChild(child, ends[0], options.hang_ms, *progress);
  const auto count = [](const std::atomic<uint64_t>& value) {
    return static_cast<unsigned long long>(value.load());
  };
  std::printf("%s: %zu inputs, %llu mutations of them, %llu accepted\n", name.c_str(),
              inputs.size(), count(progress->mutations), count(progress->reached));
  if (!happened.empty()) {
    const std::string path = name + ".finding";
    std::ofstream(path, std::ios::binary)
        .write(progress->input, static_cast<std::streamsize>(progress->size));
    std::printf("found: %s; the input is in %s, to be run with: fuzz_test %s %s\n",
                happened.c_str(), path.c_str(), name.c_str(), path.c_str());
    return 1;
  }
  if (progress->reached == 0 && options.files.empty()) {
    std::printf("no input was accepted: this proves nothing\n");
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace reenact::fuzz

int main(int argc, char** argv) {
  reenact::fuzz::Options options;
  if (!reenact::fuzz::ParseOptions(argc, argv, &options)) {
    std::fprintf(stderr, "usage: see the head of tests/fuzz/corpus_driver.cc\n");
    return 2;
  }
  if (!options.seeds_folder.empty())
    return reenact::fuzz::WriteSeeds(*options.target, options.seeds_folder);
  return reenact::fuzz::Run(options);
}
