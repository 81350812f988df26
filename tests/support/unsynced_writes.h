// What a power cut may take: every change to a file since that file's last sync. Keeps the synced
// contents of each file beside it, and puts a file together again from those and from whatever
// part of the rest a seed lets survive.

#ifndef REENACT_TESTS_SUPPORT_UNSYNCED_WRITES_H_
#define REENACT_TESTS_SUPPORT_UNSYNCED_WRITES_H_

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace reenact::testing {

enum class PowerCut : uint8_t {
  kDropsAll,       // Nothing survives that was not synced.
  kDropsWrites,    // Any of the changes are missing, whatever came after them.
  kDropsSectors,   // The same by sectors of 512 bytes: a write may be torn.
  kKeepsLastOnly,  // The last change of each file is there, and none before it.
};

class UnsyncedWrites {
 public:
  // The file as it is now counts as synced, when it is seen for the first time. The first sync of a
  // file with `syncs_folder` also makes lasting what was made and removed in its folder, as
  // SQLite's own file system does for journals.
  void Open(const std::string& path, bool syncs_folder);
  void Write(const std::string& path, std::string_view bytes, int64_t at);
  void Truncate(const std::string& path, int64_t size);
  void Delete(const std::string& path, bool folder_synced);
  void Sync(const std::string& path);

  // Makes every file what the power cut leaves of it.
  void Restore(PowerCut cut, uint64_t seed) const;

  void Forget() { files_.clear(); }

 private:
  struct Change {
    enum class Kind : uint8_t { kWrite, kTruncate, kDelete } kind = Kind::kWrite;
    int64_t at = 0;  // Or the new size.
    std::string bytes;
  };

  struct File {
    bool exists = false;
    std::string bytes;
    std::vector<Change> unsynced;
    bool syncs_folder = false;
  };

  void SyncFolderOf(const std::string& path);
  static void Apply(const Change& change, File* file);
  static File Left(const File& file, PowerCut cut, std::mt19937_64* random);

  std::map<std::string, File> files_;
};

}  // namespace reenact::testing

#endif  // REENACT_TESTS_SUPPORT_UNSYNCED_WRITES_H_
