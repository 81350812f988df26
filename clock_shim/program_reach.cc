#include "clock_shim/program_reach.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace reenact::clock_shim {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#else
constexpr Elf64_Half kMachine = EM_AARCH64;
#endif

// A file that is open while this lives.
class File {
 public:
  explicit File(const char* path) : fd_(open(path, O_RDONLY | O_CLOEXEC)), path_(path) {
    // To be run and not to be read, as some set-user-ID programs are.
    if (fd_ < 0 && errno == EACCES) fd_ = open(path, O_PATH | O_CLOEXEC);
  }

  ~File() {
    if (fd_ >= 0) close(fd_);
  }

  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool Read(void* out, size_t size, off_t offset) const {
    return fd_ >= 0 && pread(fd_, out, size, offset) == static_cast<ssize_t>(size);
  }

  ssize_t ReadSome(void* out, size_t size, off_t offset) const {
    return fd_ < 0 ? -1 : pread(fd_, out, size, offset);
  }

  bool IsSetId() const {
    struct stat status {};

    if (fd_ < 0 || fstat(fd_, &status) != 0) return false;
    const bool other_user = (status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid();
    const bool other_group = (status.st_mode & S_ISGID) != 0 && status.st_gid != getegid();
    return other_user || other_group;
  }

  // Capabilities of the file; root has them all without it.
  bool HasCapabilities() const {
    return geteuid() != 0 && getxattr(path_, "security.capability", nullptr, 0) > 0;
  }

 private:
  int fd_;
  const char* const path_;
};

// A note that the Go linker leaves.
bool HasGoNote(const File& file, const Elf64_Phdr& segment) {
  char notes[4096];
  const size_t size = segment.p_filesz < sizeof(notes) ? segment.p_filesz : sizeof(notes);
  if (!file.Read(notes, size, static_cast<off_t>(segment.p_offset))) return false;
  for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= size;) {
    Elf64_Nhdr note;
    memcpy(&note, notes + at, sizeof(note));
    at += sizeof(note);
    if (note.n_namesz == 4 && at + 4 <= size && memcmp(notes + at, "Go\0\0", 4) == 0) return true;
    const size_t name = (size_t{note.n_namesz} + 3) & ~size_t{3};
    const size_t text = (size_t{note.n_descsz} + 3) & ~size_t{3};
    at += name + text;
  }
  return false;
}

const char* JudgeElf(const File& file, const Elf64_Ehdr& header) {
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kMachine) {
    return "of another architecture";
  }
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return nullptr;
  bool has_interpreter = false;
  for (Elf64_Half i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    const off_t at = static_cast<off_t>(header.e_phoff + i * sizeof(segment));
    if (!file.Read(&segment, sizeof(segment), at)) return nullptr;
    if (segment.p_type == PT_INTERP) has_interpreter = true;
    if (segment.p_type == PT_NOTE && HasGoNote(file, segment)) {
      return "written in Go, which reads the clock past libc";
    }
  }
  return has_interpreter ? nullptr : "statically linked";
}

const char* Judge(const char* path, int depth);

// "#!/usr/bin/env node" names a program that env searches for; /usr/bin/env is judged instead.
const char* JudgeScript(const char* line, ssize_t size, int depth) {
  constexpr int kMostInterpreters = 4;  // As the kernel follows them.
  char interpreter[PATH_MAX];
  size_t length = 0;
  ssize_t at = 2;
  while (at < size && (line[at] == ' ' || line[at] == '\t')) ++at;
  while (at < size && strchr(" \t\r\n", line[at]) == nullptr && length + 1 < sizeof(interpreter)) {
    interpreter[length++] = line[at++];
  }
  interpreter[length] = '\0';
  return length == 0 || depth == kMostInterpreters ? nullptr : Judge(interpreter, depth + 1);
}

const char* Judge(const char* path, int depth) {
  const File file(path);
  Elf64_Ehdr header;
  char line[256];
  const ssize_t size = file.ReadSome(line, sizeof(line), 0);
  if (size > 2 && line[0] == '#' && line[1] == '!') return JudgeScript(line, size, depth);
  if (file.IsSetId()) return "set-user-ID: its environment is not trusted";
  if (file.HasCapabilities()) return "with capabilities: its environment is not trusted";
  if (!file.Read(&header, sizeof(header), 0)) return nullptr;
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return nullptr;
  return JudgeElf(file, header);
}

}  // namespace

const char* WhyUnreachable(const char* path) {
  return Judge(path, 0);
}

}  // namespace reenact::clock_shim
