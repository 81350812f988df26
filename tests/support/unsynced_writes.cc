#include "tests/support/unsynced_writes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

namespace reenact::testing {
namespace {

constexpr size_t kSectorBytes = 512;

}  // namespace

void UnsyncedWrites::Open(const std::string& path, bool syncs_folder) {
  const bool is_known = files_.contains(path);
  File& file = files_[path];
  file.syncs_folder = syncs_folder;
  if (is_known) return;
  std::ifstream stream(path, std::ios::binary);
  file.exists = stream.is_open();
  file.bytes.assign(std::istreambuf_iterator<char>(stream), {});
}

void UnsyncedWrites::Write(const std::string& path, std::string_view bytes, int64_t at) {
  files_[path].unsynced.push_back({Change::Kind::kWrite, at, std::string(bytes)});
}

void UnsyncedWrites::Truncate(const std::string& path, int64_t size) {
  files_[path].unsynced.push_back({Change::Kind::kTruncate, size, {}});
}

void UnsyncedWrites::Delete(const std::string& path, bool folder_synced) {
  File& file = files_[path];
  file.unsynced.push_back({Change::Kind::kDelete, 0, {}});
  if (folder_synced) Sync(path);
}

void UnsyncedWrites::Sync(const std::string& path) {
  File& file = files_[path];
  // A file that is only made, and written to by nobody, is there as well.
  file.exists = true;
  for (const Change& change : file.unsynced) Apply(change, &file);
  file.unsynced.clear();
  if (std::exchange(file.syncs_folder, false)) SyncFolderOf(path);
}

void UnsyncedWrites::SyncFolderOf(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  for (auto& [other, file] : files_) {
    if (!other.starts_with(folder)) continue;
    std::vector<Change>& changes = file.unsynced;
    const auto removal = std::find_if(changes.rbegin(), changes.rend(), [](const Change& change) {
      return change.kind == Change::Kind::kDelete;
    });
    if (removal == changes.rend()) continue;
    Apply(*removal, &file);
    changes.erase(changes.begin(), removal.base());
  }
}

void UnsyncedWrites::Apply(const Change& change, File* file) {
  file->exists = change.kind != Change::Kind::kDelete;
  switch (change.kind) {
    case Change::Kind::kDelete:
      file->bytes.clear();
      return;
    case Change::Kind::kTruncate:
      file->bytes.resize(static_cast<size_t>(change.at));
      return;
    case Change::Kind::kWrite:
      break;
  }
  const auto begin = static_cast<size_t>(change.at);
  file->bytes.resize(std::max(file->bytes.size(), begin + change.bytes.size()));
  file->bytes.replace(begin, change.bytes.size(), change.bytes);
}

UnsyncedWrites::File UnsyncedWrites::Left(const File& file, PowerCut cut, std::mt19937_64* random) {
  File left{file.exists, file.bytes, {}, false};
  if (cut == PowerCut::kKeepsLastOnly && !file.unsynced.empty()) {
    Apply(file.unsynced.back(), &left);
  }
  if (cut != PowerCut::kDropsWrites && cut != PowerCut::kDropsSectors) return left;
  // From almost everything to almost nothing.
  const uint64_t kept_of_eight = 1 + (*random)() % 7;
  for (const Change& change : file.unsynced) {
    const size_t step = cut == PowerCut::kDropsSectors ? kSectorBytes : change.bytes.size();
    if (change.kind != Change::Kind::kWrite) {
      if ((*random)() % 8 < kept_of_eight) Apply(change, &left);
      continue;
    }
    for (size_t begin = 0; begin < change.bytes.size(); begin += step) {
      if ((*random)() % 8 >= kept_of_eight) continue;
      Apply({Change::Kind::kWrite, change.at + static_cast<int64_t>(begin),
             change.bytes.substr(begin, step)},
            &left);
    }
  }
  return left;
}

void UnsyncedWrites::Restore(PowerCut cut, uint64_t seed) const {
  std::mt19937_64 random(seed);
  for (const auto& [path, file] : files_) {
    const File left = Left(file, cut, &random);
    ::unlink(path.c_str());
    // Shared memory of a database is no part of the disk.
    ::unlink((path + "-shm").c_str());
    if (!left.exists) continue;
    std::ofstream(path, std::ios::binary) << left.bytes;
    ::chmod(path.c_str(), 0600);
  }
}

}  // namespace reenact::testing
