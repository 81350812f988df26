// Loads the library late, uses it, and unloads it. argv[1]: the library; argv[2]: the store.

#include <dirent.h>
#include <dlfcn.h>

#include <cstring>

#include "reenact/reenact.h"

namespace {

// Entries of a folder of /proc, "." and ".." left out; for fds with the one that counting needs.
int CountEntries(const char* path) {
  DIR* const folder = opendir(path);
  if (folder == nullptr) return -1;
  int count = 0;
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] != '.') ++count;
  }
  closedir(folder);
  return count;
}

int UseOnce(void* library, const char* store) {
  const auto open = reinterpret_cast<decltype(&reenact_open)>(dlsym(library, "reenact_open"));
  const auto close = reinterpret_cast<decltype(&reenact_close)>(dlsym(library, "reenact_close"));
  const auto begin =
      reinterpret_cast<decltype(&reenact_run_begin)>(dlsym(library, "reenact_run_begin"));
  const auto end = reinterpret_cast<decltype(&reenact_run_end)>(dlsym(library, "reenact_run_end"));
  reenact_options options{};
  options.struct_size = sizeof(options);
  options.store = {store, std::strlen(store)};
  reenact_recorder* recorder = nullptr;
  if (open(&options, &recorder) != REENACT_OK) return 4;
  reenact_run_info info{};
  info.struct_size = sizeof(info);
  info.entry = {"main", 4};
  reenact_scope* run = nullptr;
  if (begin(recorder, &info, &run) != REENACT_OK) return 5;
  end(run, REENACT_END_COMPLETE, {}, {});
  return close(recorder, 30'000) == REENACT_OK ? 0 : 6;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int threads = CountEntries("/proc/self/task");
  const int files = CountEntries("/proc/self/fd");
  for (int round = 0; round < 3; ++round) {
    void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return 3;
    if (round == 0 && CountEntries("/proc/self/task") != threads) return 10;
    if (round == 0 && CountEntries("/proc/self/fd") != files) return 11;
    if (const int failed = UseOnce(library, argv[2])) return failed;
    if (CountEntries("/proc/self/task") != threads) return 12;
    if (CountEntries("/proc/self/fd") != files) return 13;
    dlclose(library);
  }
  return 0;
}
