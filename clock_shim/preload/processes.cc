// Where processes come from. fork copies the library; exec and posix_spawn start it anew, so that
// the new program's environment must bring it in and say which process this is.
//
// The name is given out here, in the order in which a thread starts processes, and not by the order
// in which they come up. A process that comes by another way (system, popen) names itself, by the
// name that its parent left in `environ`.

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <initializer_list>

#include "clock_shim/preload/path_text.h"
#include "clock_shim/preload/real_calls.h"
#include "clock_shim/preload/start.h"
#include "clock_shim/preload/thread_tape.h"
#include "clock_shim/program_reach.h"

extern char** environ;

namespace {

using namespace reenact::clock_shim;

constexpr char kPreload[] = "LD_PRELOAD=";

// Found before they are needed: after fork in a program of many threads the loader's lock may be
// held by a thread that is no more.
constinit Next next_execve("execve");
constinit Next next_execvpe("execvpe");
constinit Next next_posix_spawn("posix_spawn");
constinit Next next_posix_spawnp("posix_spawnp");

// The variables that carry us, as this process found them.
char preload_entry[PATH_MAX * 2];
char library_path[PATH_MAX];
char mode_entry[PATH_MAX + 32];
Ordinal next_process;  // Of the fork under way.

bool StartsWith(const char* text, const char* prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool Names(const char* entry, const char* variable) {
  const size_t size = strlen(variable);
  return strncmp(entry, variable, size) == 0 && entry[size] == '=';
}

size_t Count(char* const* list) {
  size_t count = 0;
  while (list != nullptr && list[count] != nullptr) ++count;
  return count;
}

// An environment for a program that starts, in the caller's memory.
class ChildEnvironment {
 public:
  static constexpr size_t kAdded = 4;

  // `entries` has room for Count(given) + kAdded. `given` must outlive it.
  ChildEnvironment(char* const* given, char** entries) : entries_(entries) {
    ThreadTape* tape = ThisThread();
    const Ordinal child = tape->ordinal.Child(tape->children++);
    ordinal_.Add(kOrdinalVariable).Add("=+").Add(child.text);
    size_t size = 0;
    for (size_t i = 0; given != nullptr && given[i] != nullptr; ++i) {
      char* entry = given[i];
      if (Names(entry, kModeVariable) || Names(entry, kOrdinalVariable)) continue;
      if (StartsWith(entry, kPreload)) {
        if (strstr(entry, library_path) != nullptr) {
          preload_given_ = true;
        } else {
          preload_.Add(":").Add(entry + strlen(kPreload));
          continue;
        }
      }
      entries_[size++] = entry;
    }
    if (!preload_given_) entries_[size++] = const_cast<char*>(preload_.text());
    entries_[size++] = mode_entry;
    entries_[size++] = const_cast<char*>(ordinal_.text());
    entries_[size] = nullptr;
  }

  char** entries() const { return entries_; }

 private:
  char** entries_;
  PathText ordinal_{""};
  PathText preload_{preload_entry};
  bool preload_given_ = false;
};

// Notes a program that will not load us, or reads the clock past us. Only where its file is plain
// to see.
void NoteProgram(const char* path) {
  const char* why = WhyUnreachable(path);
  if (why != nullptr) NoteUnreached(path, why);
}

// A program in Go that uses libc loads us, and reads the clock past us all the same; nobody else
// looked at the first program of a run, nor at what came by another way than ours.
void NoteOwnProgram() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
  if (size <= 0) return;
  path[size] = '\0';
  NoteProgram(path);
}

// As execvp looks for it.
bool FindInPath(const char* name, char* out, size_t size) {
  if (strchr(name, '/') != nullptr) {
    if (strlen(name) >= size) return false;
    strcpy(out, name);
    return true;
  }
  const char* path = Variable("PATH");
  if (path == nullptr) path = "/bin:/usr/bin";
  while (true) {
    const char* end = strchrnul(path, ':');
    const size_t folder = static_cast<size_t>(end - path);
    if (folder + strlen(name) + 2 < size) {
      memcpy(out, path, folder);
      out[folder] = '/';
      strcpy(out + (folder == 0 ? 0 : folder + 1), name);
      if (access(out, X_OK) == 0) return true;
    }
    if (*end == '\0') return false;
    path = end + 1;
  }
}

// Arguments of the execl family, gathered on the caller's stack.
#define REENACT_GATHER(first, argv)                                       \
  size_t count = 1;                                                       \
  va_list list;                                                           \
  va_start(list, first);                                                  \
  while (va_arg(list, char*) != nullptr) ++count;                         \
  va_end(list);                                                           \
  char** argv = static_cast<char**>(alloca((count + 1) * sizeof(char*))); \
  va_start(list, first);                                                  \
  argv[0] = const_cast<char*>(first);                                     \
  for (size_t i = 1; i <= count; ++i) argv[i] = va_arg(list, char*)

int Execute(const char* path, char* const* argv, char* const* environment) {
  auto* const next = next_execve.As<decltype(::execve)>();
  if (mode() == Mode::kOff) return next(path, argv, environment);
  auto** room =
      static_cast<char**>(alloca((Count(environment) + ChildEnvironment::kAdded) * sizeof(char*)));
  const ChildEnvironment child(environment, room);
  NoteProgram(path);
  return next(path, argv, child.entries());
}

int ExecuteByName(const char* name, char* const* argv, char* const* environment) {
  auto* const next = next_execvpe.As<decltype(::execvpe)>();
  if (mode() == Mode::kOff) return next(name, argv, environment);
  auto** room =
      static_cast<char**>(alloca((Count(environment) + ChildEnvironment::kAdded) * sizeof(char*)));
  const ChildEnvironment child(environment, room);
  char path[PATH_MAX];
  if (FindInPath(name, path, sizeof(path))) NoteProgram(path);
  return next(name, argv, child.entries());
}

}  // namespace

namespace reenact::clock_shim {

void PrepareProcesses() {
  for (Next* next : {&next_execve, &next_execvpe, &next_posix_spawn, &next_posix_spawnp}) {
    next->Find();
  }
  const char* preload = Variable("LD_PRELOAD");
  const char* wanted = Variable(kModeVariable);
  if (preload == nullptr || strlen(preload) >= PATH_MAX) preload = "";
  PathText entry(kPreload);
  entry.Add(preload);
  strcpy(preload_entry, entry.text());
  // What our own entry is called, to find it in an environment that a program made.
  const char* folder = strchr(wanted, '/');
  PathText library(folder);
  library.Add("/").Add(kLibraryName);
  if (library.ok() && library.size() < sizeof(library_path)) strcpy(library_path, library.text());
  PathText kept(kModeVariable);
  kept.Add("=").Add(wanted);
  if (kept.ok() && kept.size() < sizeof(mode_entry)) strcpy(mode_entry, kept.text());
  pthread_atfork(
      [] {
        ThreadTape* tape = ThisThread();
        next_process = tape->ordinal.Child(tape->children++);
      },
      nullptr, [] { BecomeProcess(next_process); });
  NoteOwnProgram();
}

}  // namespace reenact::clock_shim

REENACT_STANDS_FOR int execve(const char* path, char* const argv[],
                              char* const environment[]) noexcept {
  return Execute(path, argv, environment);
}

REENACT_STANDS_FOR int execv(const char* path, char* const argv[]) noexcept {
  return Execute(path, argv, environ);
}

REENACT_STANDS_FOR int execvp(const char* name, char* const argv[]) noexcept {
  return ExecuteByName(name, argv, environ);
}

REENACT_STANDS_FOR int execvpe(const char* name, char* const argv[],
                               char* const environment[]) noexcept {
  return ExecuteByName(name, argv, environment);
}

REENACT_STANDS_FOR int execl(const char* path, const char* first, ...) noexcept {
  REENACT_GATHER(first, argv);
  return Execute(path, argv, environ);
}

REENACT_STANDS_FOR int execlp(const char* name, const char* first, ...) noexcept {
  REENACT_GATHER(first, argv);
  return ExecuteByName(name, argv, environ);
}

REENACT_STANDS_FOR int execle(const char* path, const char* first, ...) noexcept {
  REENACT_GATHER(first, argv);
  va_list rest;
  va_start(rest, first);
  for (size_t i = 1; i <= count; ++i) va_arg(rest, char*);  // The arguments, and their null.
  char* const* environment = va_arg(rest, char* const*);
  va_end(rest);
  return Execute(path, argv, environment);
}

REENACT_STANDS_FOR int posix_spawn(pid_t* pid, const char* path,
                                   const posix_spawn_file_actions_t* actions,
                                   const posix_spawnattr_t* attributes, char* const argv[],
                                   char* const environment[]) {
  auto* const next = next_posix_spawn.As<decltype(::posix_spawn)>();
  if (mode() == Mode::kOff) return next(pid, path, actions, attributes, argv, environment);
  auto** room =
      static_cast<char**>(alloca((Count(environment) + ChildEnvironment::kAdded) * sizeof(char*)));
  const ChildEnvironment child(environment, room);
  NoteProgram(path);
  return next(pid, path, actions, attributes, argv, child.entries());
}

REENACT_STANDS_FOR int posix_spawnp(pid_t* pid, const char* name,
                                    const posix_spawn_file_actions_t* actions,
                                    const posix_spawnattr_t* attributes, char* const argv[],
                                    char* const environment[]) {
  auto* const next = next_posix_spawnp.As<decltype(::posix_spawnp)>();
  if (mode() == Mode::kOff) return next(pid, name, actions, attributes, argv, environment);
  auto** room =
      static_cast<char**>(alloca((Count(environment) + ChildEnvironment::kAdded) * sizeof(char*)));
  const ChildEnvironment child(environment, room);
  char path[PATH_MAX];
  if (FindInPath(name, path, sizeof(path))) NoteProgram(path);
  return next(pid, name, actions, attributes, argv, child.entries());
}
