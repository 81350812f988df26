#include "clock_shim/frozen_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "absl/status/status.h"

#include "clock_shim/preload_image.h"
#include "clock_shim/tape_layout.h"

namespace reenact::clock_shim {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKind = "frozen_process";
constexpr std::string_view kForm = "1";  // The component's version: the form of its content.
constexpr std::string_view kThreadName = "thread ";
constexpr std::string_view kSeedComponent = "seed";  // The hash seed, and kSeedSize bytes or none.
// Of a tape, in one component: what a record may be without being cut.
constexpr size_t kPartSize = size_t{256} << 10;
constexpr size_t kMostUnreached = 100;
constexpr size_t kMostConnections = 1000;

absl::Status Failed(const std::string& what) {
  return absl::UnavailableError(what + ": " + strerror(errno));
}

// With mode 0700 and a name of its own.
absl::StatusOr<std::string> MakeFolder() {
  // On a disk rather than in memory: a tape may grow as long as the program runs.
  const char* given = getenv("TMPDIR");
  std::string path = given != nullptr && given[0] == '/' ? given : "/tmp";
  path += "/reenact-shim-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return Failed("cannot make the folder " + path);
  return path;
}

absl::Status WriteFile(const std::string& path, std::string_view bytes, mode_t mode = 0600) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return Failed("cannot make " + path);
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const absl::Status status = Failed("cannot write " + path);
      close(fd);
      return status;
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return close(fd) == 0 ? absl::OkStatus() : Failed("cannot write " + path);
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return std::move(out).str();
}

// In the order in which they first came.
std::vector<std::string> DifferentLines(const std::string& path, size_t limit) {
  std::vector<std::string> lines;
  std::istringstream file(ReadFile(path));
  for (std::string line; lines.size() < limit && std::getline(file, line);) {
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
  return lines;
}

std::string_view AsBytes(const TapeHeader& header) {
  return {reinterpret_cast<const char*>(&header), sizeof(header)};
}

// Nothing: no such file, or not of this form.
std::optional<TapeHeader> ReadHeader(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  TapeHeader header;
  if (!in.read(reinterpret_cast<char*>(&header), sizeof(header))) return std::nullopt;
  if (header.magic != kTapeMagic) return std::nullopt;
  return header;
}

// The ordinals of the files of one kind.
std::vector<std::string> OrdinalsOf(const std::string& folder, std::string_view suffix) {
  std::vector<std::string> ordinals;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(suffix)) ordinals.push_back(name.substr(0, name.size() - suffix.size()));
  }
  std::sort(ordinals.begin(), ordinals.end());
  return ordinals;
}

// The value of `name`, empty where it is not set.
std::string Variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

// A word of NODE_OPTIONS.
std::string NodeQuoted(const std::string& path) {
  std::string quoted = "\"";
  for (const char c : path) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

uint32_t DrawHashSeed() {
  uint32_t seed = 0;
  while (getrandom(&seed, sizeof(seed), 0) != static_cast<ssize_t>(sizeof(seed))) {
  }
  return seed;
}

// The number of reads on a tape; nothing when it is not whole.
std::optional<uint64_t> CountReads(std::string_view tape) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(tape.data());
  TapeRead read;
  uint64_t reads = 0;
  for (size_t at = 0; at < tape.size(); ++reads) {
    const size_t size = DecodeRead(bytes + at, tape.size() - at, &read);
    if (size == 0) return std::nullopt;
    at += size;
  }
  return reads;
}

schema::Component NewComponent(std::string name, std::string bytes) {
  schema::Component component;
  component.kind = kKind;
  component.name = std::move(name);
  component.version = kForm;
  component.content.bytes = std::move(bytes);
  return component;
}

absl::Status Damaged(const std::string& name, const std::string& why) {
  return absl::DataLossError("the tape \"" + name + "\" of the clock " + why +
                             ": the program cannot be given its time back");
}

}  // namespace

bool FrozenReport::equal() const {
  return std::all_of(threads.begin(), threads.end(), [](const ThreadReads& thread) {
    return thread.replayed == thread.recorded && thread.past_tape == 0 &&
           thread.kind_mismatches == 0;
  });
}

struct FrozenProcess::Impl {
  ~Impl() {
    std::error_code ignored;
    if (!folder.empty()) fs::remove_all(folder, ignored);
  }

  absl::Status MakeFiles();
  absl::Status TakeSeed(std::string_view bytes);
  absl::Status WriteTape(const std::string& name, const std::string& bytes);
  void AddThread(const std::string& ordinal, std::vector<schema::Component>* tape) const;

  std::string folder;
  bool recording = false;
  std::string seed;  // Empty: random numbers are not frozen.
  uint32_t hash_seed = 0;
  bool has_hash_seed = false;
  std::map<std::string, uint64_t> recorded_reads;  // Replay: by ordinal.
};

absl::Status FrozenProcess::Impl::MakeFiles() {
  absl::StatusOr<std::string> made = MakeFolder();
  if (!made.ok()) return made.status();
  folder = *std::move(made);
  for (const auto& [name, bytes] :
       {std::pair(kLibraryName, LibraryImage()), std::pair(kNodeName, NodePreloadImage())}) {
    if (absl::Status status = WriteFile(folder + '/' + name, bytes, 0700); !status.ok()) {
      return status;
    }
  }
  return seed.empty() ? absl::OkStatus() : WriteFile(folder + '/' + kSeedName, seed);
}

absl::Status FrozenProcess::Impl::WriteTape(const std::string& name, const std::string& bytes) {
  const std::string ordinal = name.substr(kThreadName.size());
  const std::optional<uint64_t> reads = CountReads(bytes);
  if (!reads) return Damaged(name, "is damaged");
  if (ordinal.empty() || ordinal.size() >= kMaxOrdinal ||
      ordinal.find_first_not_of("0123456789.x") != std::string::npos) {
    return Damaged(name, "has no thread's name");
  }
  TapeHeader header;
  header.reads = *reads;
  header.bytes = bytes.size();
  recorded_reads[ordinal] = *reads;
  return WriteFile(folder + '/' + ordinal + kTapeSuffix, std::string(AsBytes(header)) + bytes);
}

void FrozenProcess::Impl::AddThread(const std::string& ordinal,
                                    std::vector<schema::Component>* tape) const {
  const std::string file = ReadFile(folder + '/' + ordinal + kTapeSuffix);
  TapeHeader header;
  if (file.size() < sizeof(header)) return;
  memcpy(&header, file.data(), sizeof(header));
  const std::string_view reads = std::string_view(file).substr(sizeof(header), header.bytes);
  for (size_t at = 0; at < reads.size(); at += kPartSize) {
    tape->push_back(
        NewComponent(std::string(kThreadName) + ordinal, std::string(reads.substr(at, kPartSize))));
    tape->back().at.wall_ns = header.first_ns;
  }
}

absl::Status FrozenProcess::Impl::TakeSeed(std::string_view bytes) {
  const bool whole =
      bytes.size() == sizeof(hash_seed) || bytes.size() == sizeof(hash_seed) + kSeedSize;
  if (!whole) return Damaged(std::string(kSeedComponent), "is damaged");
  memcpy(&hash_seed, bytes.data(), sizeof(hash_seed));
  has_hash_seed = true;
  seed = bytes.substr(sizeof(hash_seed));
  return absl::OkStatus();
}

FrozenProcess::FrozenProcess() : impl_(std::make_unique<Impl>()) {}

FrozenProcess::~FrozenProcess() = default;

absl::StatusOr<std::unique_ptr<FrozenProcess>> FrozenProcess::Record(bool random) {
  std::unique_ptr<FrozenProcess> process(new FrozenProcess());
  Impl& impl = *process->impl_;
  impl.recording = true;
  impl.hash_seed = DrawHashSeed();
  impl.has_hash_seed = true;
  if (random) {
    impl.seed.resize(kSeedSize);
    if (getrandom(impl.seed.data(), kSeedSize, 0) != static_cast<ssize_t>(kSeedSize)) {
      return Failed("cannot draw a seed");
    }
  }
  if (absl::Status status = impl.MakeFiles(); !status.ok()) return status;
  return process;
}

absl::StatusOr<std::unique_ptr<FrozenProcess>> FrozenProcess::Replay(
    const schema::RecordedRun& run) {
  std::unique_ptr<FrozenProcess> process(new FrozenProcess());
  Impl& impl = *process->impl_;
  std::map<std::string, std::string> tapes;  // By name.
  for (const schema::Component& component : run.components) {
    if (!IsTape(component)) continue;
    if (component.content.redacted) return Damaged(component.name, "was redacted");
    if (component.content.cut) return Damaged(component.name, "was cut");
    tapes[component.name] += component.content.bytes;
  }
  if (const auto seed = tapes.extract(std::string(kSeedComponent)); !seed.empty()) {
    if (absl::Status status = impl.TakeSeed(seed.mapped()); !status.ok()) return status;
  }
  if (absl::Status status = impl.MakeFiles(); !status.ok()) return status;
  const int64_t start_ns = run.run.started.wall_ns;
  const std::string_view start(reinterpret_cast<const char*>(&start_ns), sizeof(start_ns));
  if (absl::Status status = WriteFile(impl.folder + '/' + kStartName, start); !status.ok()) {
    return status;
  }
  for (const auto& [name, bytes] : tapes) {
    if (absl::Status status = impl.WriteTape(name, bytes); !status.ok()) return status;
  }
  return process;
}

std::vector<std::pair<std::string, std::string>> FrozenProcess::Environment() const {
  const std::string library = impl_->folder + '/' + kLibraryName;
  const std::string inherited = Variable("LD_PRELOAD");
  std::vector<std::pair<std::string, std::string>> variables = {
      {"LD_PRELOAD", inherited.empty() ? library : library + ':' + inherited},
      {kModeVariable, (impl_->recording ? kRecordPrefix : kReplayPrefix) + impl_->folder},
      {kOrdinalVariable, "+0"}};
  if (!impl_->seed.empty()) {
    std::string options = Variable("NODE_OPTIONS");
    if (!options.empty()) options += ' ';
    options += "--require ";
    options += NodeQuoted(impl_->folder + '/' + kNodeName);
    variables.emplace_back("NODE_OPTIONS", std::move(options));
  }
  if (impl_->has_hash_seed && Variable("PYTHONHASHSEED").empty()) {
    variables.emplace_back("PYTHONHASHSEED", std::to_string(impl_->hash_seed));
  }
  return variables;
}

std::vector<schema::Component> FrozenProcess::TakeTape() const {
  std::vector<schema::Component> tape;
  std::string seed(sizeof(impl_->hash_seed), '\0');
  memcpy(seed.data(), &impl_->hash_seed, sizeof(impl_->hash_seed));
  tape.push_back(NewComponent(std::string(kSeedComponent), seed + impl_->seed));
  for (const std::string& ordinal : OrdinalsOf(impl_->folder, kTapeSuffix)) {
    impl_->AddThread(ordinal, &tape);
  }
  return tape;
}

FrozenReport FrozenProcess::report() const {
  FrozenReport report;
  const std::string folder = impl_->folder + '/';
  report.reached = access((folder + "0" + kProcessSuffix).c_str(), F_OK) == 0;
  std::map<std::string, ThreadReads> threads;
  for (const auto& [ordinal, reads] : impl_->recorded_reads) threads[ordinal].recorded = reads;
  const char* suffix = impl_->recording ? kTapeSuffix : kReplayedSuffix;
  for (const std::string& ordinal : OrdinalsOf(impl_->folder, suffix)) {
    ThreadReads& thread = threads[ordinal];
    const std::optional<TapeHeader> counts = ReadHeader(folder + ordinal + suffix);
    if (!counts) continue;
    (impl_->recording ? thread.recorded : thread.replayed) = counts->reads;
    thread.past_tape = counts->past_tape;
    thread.kind_mismatches = counts->kind_mismatches;
    thread.in_signal = counts->in_signal;
    thread.lost = counts->lost;
  }
  for (auto& [ordinal, thread] : threads) {
    thread.ordinal = ordinal;
    report.threads.push_back(std::move(thread));
  }
  report.unreached = DifferentLines(folder + kUnreachedName, kMostUnreached);
  for (const std::string& line : DifferentLines(folder + kConnectionsName, kMostConnections)) {
    if (line.starts_with(kToPrefix)) report.peers.push_back(line.substr(strlen(kToPrefix)));
    if (line.starts_with(kNamePrefix)) report.names.push_back(line.substr(strlen(kNamePrefix)));
  }
  return report;
}

const std::string& FrozenProcess::folder() const {
  return impl_->folder;
}

bool IsTape(const schema::Component& component) {
  return component.kind == kKind && component.version == kForm &&
         (component.name == kSeedComponent || component.name.starts_with(kThreadName));
}

}  // namespace reenact::clock_shim
