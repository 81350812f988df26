// A folder on a memory file system that rings go to for the life of a test.

#ifndef REENACT_TESTS_STORE_MEMORY_FOLDER_H_
#define REENACT_TESTS_STORE_MEMORY_FOLDER_H_

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace reenact::store {

class MemoryFolder {
 public:
  MemoryFolder() {
    char name[] = "/dev/shm/reenact-test-XXXXXX";
    path_ = mkdtemp(name);
    setenv("XDG_RUNTIME_DIR", path_.c_str(), 1);
  }

  ~MemoryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  MemoryFolder(const MemoryFolder&) = delete;
  MemoryFolder& operator=(const MemoryFolder&) = delete;

  const std::string& path() const { return path_; }

  // Where rings lie.
  std::string rings() const { return path_ + "/reenact"; }

 private:
  std::string path_;
};

}  // namespace reenact::store

#endif  // REENACT_TESTS_STORE_MEMORY_FOLDER_H_
