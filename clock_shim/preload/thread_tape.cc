#include "clock_shim/preload/thread_tape.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock_shim/preload/path_text.h"
#include "clock_shim/preload/real_calls.h"
#include "clock_shim/preload/virtual_clock.h"

extern char** environ;

namespace reenact::clock_shim {
namespace {

// A thread that reads seldom, as most do, needs one page; one that reads all the time gets more at
// once.
constexpr size_t kLargestWindow = 1 << 20;

struct Process {
  Mode mode = Mode::kOff;
  bool random = false;
  char folder[PATH_MAX] = {};
  Ordinal ordinal;
  uint32_t uncounted_threads = 0;
  size_t page_size = 4096;
  uint8_t seed[kSeedSize] = {};
};

constinit Process process;
constinit thread_local ThreadTape this_thread;

int Open(const char* path, int flags) {
  const long fd =
      RawCall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), flags | O_CLOEXEC, 0600);
  return static_cast<int>(fd);
}

void Close(int fd) {
  RawCall(SYS_close, fd);
}

// Null: it cannot be mapped.
uint8_t* Map(int fd, uint64_t offset, size_t size, int protection, int flags) {
  void* mapped = mmap(nullptr, size, protection, flags, fd, static_cast<off_t>(offset));
  return mapped == MAP_FAILED ? nullptr : static_cast<uint8_t*>(mapped);
}

// Room on the disk for [offset, offset + size), so that writing to its mapping cannot fail later.
bool Reserve(int fd, uint64_t offset, size_t size) {
  const long result =
      RawCall(SYS_fallocate, fd, 0, static_cast<long>(offset), static_cast<long>(size));
  if (result == -EOPNOTSUPP) {
    return RawCall(SYS_ftruncate, fd, static_cast<long>(offset + size)) == 0;
  }
  return result == 0;
}

// Makes a file of one page for this thread, or opens it again, and maps its header.
bool OpenHeader(ThreadTape* tape, const char* suffix) {
  PathText path(process.folder);
  path.Add("/").Add(tape->ordinal.text).Add(suffix);
  if (!path.ok() || tape->ordinal.size == 0) return false;
  const int fd = Open(path.text(), O_RDWR | O_CREAT);
  if (fd < 0) return false;
  if (Reserve(fd, 0, process.page_size)) {
    tape->header = reinterpret_cast<TapeHeader*>(
        Map(fd, 0, process.page_size, PROT_READ | PROT_WRITE, MAP_SHARED));
    tape->header_size = process.page_size;
  }
  Close(fd);
  if (tape->header == nullptr) return false;
  if (tape->header->magic != kTapeMagic) *tape->header = TapeHeader();
  return true;
}

void UnmapWindow(ThreadTape* tape) {
  if (tape->window != nullptr && tape->window != reinterpret_cast<uint8_t*>(tape->header)) {
    munmap(tape->window, tape->window_size);
  }
  tape->window = nullptr;
}

// Maps the next part of the file; the first one is what the header leaves of its page.
bool NextWindow(ThreadTape* tape) {
  PathText path(process.folder);
  path.Add("/").Add(tape->ordinal.text).Add(kTapeSuffix);
  const size_t wanted = tape->window_size * 4;
  const size_t size = wanted < kLargestWindow ? wanted : kLargestWindow;
  const int fd = Open(path.text(), O_RDWR);
  if (fd < 0) return false;
  uint8_t* window = nullptr;
  if (Reserve(fd, tape->file_size, size)) {
    window = Map(fd, tape->file_size, size, PROT_READ | PROT_WRITE, MAP_SHARED);
  }
  Close(fd);
  if (window == nullptr) return false;
  UnmapWindow(tape);
  tape->window = window;
  tape->window_size = size;
  tape->at = 0;
  tape->file_size += size;
  return true;
}

// Maps the part of the file in which writing goes on after CloseThread.
bool ReopenWindow(ThreadTape* tape) {
  const uint64_t end = sizeof(TapeHeader) + tape->header->bytes;
  if (tape->file_size == process.page_size) {
    tape->window = reinterpret_cast<uint8_t*>(tape->header);
    tape->window_size = process.page_size;
    tape->at = end;
    return true;
  }
  PathText path(process.folder);
  path.Add("/").Add(tape->ordinal.text).Add(kTapeSuffix);
  const int fd = Open(path.text(), O_RDWR);
  if (fd < 0) return false;
  const uint64_t begin = tape->file_size - tape->window_size;
  tape->window = Map(fd, begin, tape->window_size, PROT_READ | PROT_WRITE, MAP_SHARED);
  Close(fd);
  tape->at = end - begin;
  return tape->window != nullptr;
}

bool ReadyToWrite(ThreadTape* tape) {
  if (tape->window != nullptr) return true;
  if (tape->unusable) return false;
  const bool first = tape->file_size == 0;
  if (tape->header == nullptr && !OpenHeader(tape, kTapeSuffix)) {
    tape->unusable = true;
    NoteUnreached(tape->ordinal.text, "the tape of this thread could not be made");
    return false;
  }
  if (first) tape->file_size = process.page_size;
  return ReopenWindow(tape);
}

// Maps the whole tape, where there is one.
void OpenTape(ThreadTape* tape) {
  tape->full = true;  // Until it is seen to be there.
  PathText path(process.folder);
  path.Add("/").Add(tape->ordinal.text).Add(kTapeSuffix);
  if (!path.ok() || tape->ordinal.size == 0) return;
  const int fd = Open(path.text(), O_RDONLY);
  if (fd < 0) return;
  const long size = RawCall(SYS_lseek, fd, 0, SEEK_END);
  if (size >= static_cast<long>(sizeof(TapeHeader))) {
    tape->window = Map(fd, 0, static_cast<size_t>(size), PROT_READ, MAP_PRIVATE);
    if (tape->window != nullptr) {
      tape->window_size = static_cast<size_t>(size);
      tape->full = false;
    }
  }
  Close(fd);
}

// The counts of what was given back; they are lost where no file can be made.
TapeHeader* Counts(ThreadTape* tape) {
  static constinit thread_local TapeHeader nowhere;
  if (tape->header == nullptr && !tape->unusable && !OpenHeader(tape, kReplayedSuffix)) {
    tape->unusable = true;
    NoteUnreached(tape->ordinal.text, "the counts of this thread could not be kept");
  }
  return tape->header != nullptr ? tape->header : &nowhere;
}

// To the end of a file of the folder, whole.
void AddLine(const char* file, const PathText& line) {
  PathText path(process.folder);
  path.Add("/").Add(file);
  const int fd = path.ok() ? Open(path.text(), O_WRONLY | O_CREAT | O_APPEND) : -1;
  if (fd < 0) return;
  RawCall(SYS_write, fd, reinterpret_cast<long>(line.text()), static_cast<long>(line.size()));
  Close(fd);
}

// Takes an ordinal for this process: nobody else may have it.
bool Claim(const Ordinal& ordinal) {
  PathText path(process.folder);
  path.Add("/").Add(ordinal.text).Add(kProcessSuffix);
  if (!path.ok() || ordinal.size == 0) return false;
  const int fd = Open(path.text(), O_WRONLY | O_CREAT | O_EXCL);
  if (fd < 0) return false;
  char program[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", program, sizeof(program));
  if (size > 0) RawCall(SYS_write, fd, reinterpret_cast<long>(program), size);
  Close(fd);
  return true;
}

// Started past our wrappers (system, popen, a shell's environment): goes by the order of coming up.
Ordinal ClaimUncounted(const Ordinal& parent) {
  constexpr uint32_t kMostTries = 100'000;
  for (uint32_t i = 0; i < kMostTries; ++i) {
    const Ordinal candidate = parent.Child(i, /*uncounted=*/true);
    if (candidate.size == 0) break;
    if (Claim(candidate)) return candidate;
  }
  return Ordinal();
}

bool ReadFile(const char* name, void* out, size_t size) {
  PathText path(process.folder);
  path.Add("/").Add(name);
  const int fd = path.ok() ? Open(path.text(), O_RDONLY) : -1;
  if (fd < 0) return false;
  const long got = RawCall(SYS_read, fd, reinterpret_cast<long>(out), static_cast<long>(size));
  Close(fd);
  return got == static_cast<long>(size);
}

// What children of ours find that come past our wrappers. The entry is there: we were named by it.
void TellEnvironment(const Ordinal& ordinal) {
  static char entry[sizeof(kOrdinalVariable) + 1 + kMaxOrdinal];
  strcpy(entry, kOrdinalVariable);
  strcat(entry, "=");
  strcat(entry, ordinal.text);
  for (char** at = environ; *at != nullptr; ++at) {
    if (strncmp(*at, entry, sizeof(kOrdinalVariable)) == 0) *at = entry;
  }
}

Mode ParseMode(const char* value) {
  const char* folder = nullptr;
  Mode mode = Mode::kOff;
  if (strncmp(value, kRecordPrefix, strlen(kRecordPrefix)) == 0) {
    mode = Mode::kRecord;
    folder = value + strlen(kRecordPrefix);
  } else if (strncmp(value, kReplayPrefix, strlen(kReplayPrefix)) == 0) {
    mode = Mode::kReplay;
    folder = value + strlen(kReplayPrefix);
  } else {
    return Mode::kOff;
  }
  if (folder[0] != '/' || strlen(folder) >= sizeof(process.folder)) return Mode::kOff;
  strcpy(process.folder, folder);
  return mode;
}

}  // namespace

Ordinal Ordinal::Child(uint32_t index, bool uncounted) const {
  Ordinal child;
  PathText name(text);
  name.Add(uncounted ? ".x" : ".").AddNumber(index);
  if (size == 0 || !name.ok() || name.size() >= kMaxOrdinal) return child;
  memcpy(child.text, name.text(), name.size() + 1);
  child.size = static_cast<uint8_t>(name.size());
  return child;
}

const char* Variable(const char* name) {
  const size_t size = strlen(name);
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    if (strncmp(*at, name, size) == 0 && (*at)[size] == '=') return *at + size + 1;
  }
  return nullptr;
}

Mode mode() {
  return process.mode;
}

bool random_is_frozen() {
  return process.random;
}

const uint8_t* seed() {
  return process.seed;
}

const Ordinal& process_ordinal() {
  return process.ordinal;
}

void ReadEnvironment() {
  const char* wanted = Variable(kModeVariable);
  const char* name = Variable(kOrdinalVariable);
  if (wanted == nullptr || name == nullptr) return;
  const Mode found = ParseMode(wanted);
  if (found == Mode::kOff) return;
  process.page_size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const bool counted = name[0] == '+';
  if (counted) ++name;
  Ordinal ordinal;
  if (strlen(name) < sizeof(ordinal.text)) {
    strcpy(ordinal.text, name);
    ordinal.size = static_cast<uint8_t>(strlen(name));
  }
  if (!counted || !Claim(ordinal)) ordinal = ClaimUncounted(ordinal);
  if (ordinal.size == 0) {
    NoteUnreached(name, "no ordinal was left for a process");
    return;
  }
  process.ordinal = ordinal;
  this_thread.ordinal = ordinal;
  this_thread.adopted = true;
  TellEnvironment(ordinal);
  process.random = ReadFile(kSeedName, process.seed, sizeof(process.seed));
  if (int64_t start_ns = 0; ReadFile(kStartName, &start_ns, sizeof(start_ns))) {
    StartVirtualClock(start_ns);
  }
  process.mode = found;
}

void BecomeProcess(const Ordinal& ordinal) {
  CloseThread();
  this_thread = ThreadTape();
  this_thread.ordinal = ordinal;
  this_thread.adopted = true;
  process.ordinal = ordinal;
  process.uncounted_threads = 0;
  if (!Claim(ordinal)) process.ordinal = this_thread.ordinal = ClaimUncounted(ordinal);
}

void NoteUnreached(const char* what, const char* why) {
  AddLine(kUnreachedName, PathText(what).Add(" (").Add(why).Add(")\n"));
}

void NoteConnection(const char* line) {
  AddLine(kConnectionsName, PathText(line).Add("\n"));
}

ThreadTape* ThisThread() {
  ThreadTape* tape = &this_thread;
  if (!tape->adopted) {
    const uint32_t index = __atomic_fetch_add(&process.uncounted_threads, 1, __ATOMIC_RELAXED);
    // A thread that something else than pthread_create made.
    tape->ordinal = process.ordinal.Child(index, /*uncounted=*/true);
    tape->adopted = true;
  }
  return tape;
}

void BecomeThread(const Ordinal& ordinal) {
  this_thread.ordinal = ordinal;
  this_thread.adopted = true;
}

void CloseThread() {
  ThreadTape* tape = &this_thread;
  UnmapWindow(tape);
  if (tape->header != nullptr) munmap(tape->header, tape->header_size);
  tape->header = nullptr;
}

void Append(ThreadTape* tape, TapeRead read) {
  if (!ReadyToWrite(tape) || tape->full) {
    if (tape->header != nullptr) ++tape->header->lost;
    return;
  }
  uint8_t bytes[kMaxReadSize];
  const size_t size = EncodeRead(read, tape->last, bytes);
  const size_t room = tape->window_size - tape->at;
  const size_t before = size < room ? size : room;
  memcpy(tape->window + tape->at, bytes, before);
  tape->at += before;
  if (before < size) {
    if (!NextWindow(tape)) {
      tape->full = true;
      ++tape->header->lost;
      return;
    }
    memcpy(tape->window, bytes + before, size - before);
    tape->at = size - before;
  }
  TapeHeader* header = tape->header;
  if (header->reads == 0) header->first_ns = read.value_ns;
  header->last_ns = read.value_ns;
  tape->last = read;
  __atomic_store_n(&header->bytes, header->bytes + size, __ATOMIC_RELEASE);
  __atomic_store_n(&header->reads, header->reads + 1, __ATOMIC_RELEASE);
}

bool TakeNext(ThreadTape* tape, ReadKind kind, int64_t* value_ns) {
  TapeHeader* counts = Counts(tape);
  if (tape->at == 0) tape->at = sizeof(TapeHeader);
  if (tape->window == nullptr && !tape->full) OpenTape(tape);
  if (tape->window == nullptr || tape->at >= tape->window_size) return false;
  const size_t size =
      DecodeRead(tape->window + tape->at, tape->window_size - tape->at, &tape->last);
  if (size == 0) return false;
  tape->at += size;
  ++counts->reads;
  if (tape->last.kind != kind) ++counts->kind_mismatches;
  *value_ns = tape->last.value_ns;
  return true;
}

void CountPastTape(ThreadTape* tape) {
  ++Counts(tape)->past_tape;
}

void CountInSignal(ThreadTape* tape) {
  if (tape->header != nullptr) ++tape->header->in_signal;
}

}  // namespace reenact::clock_shim
