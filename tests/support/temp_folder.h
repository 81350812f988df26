// A folder for the life of a test, in memory where there is a memory file system: tests commit
// often, and what a disk adds to that is none of their business.

#ifndef REENACT_TESTS_SUPPORT_TEMP_FOLDER_H_
#define REENACT_TESTS_SUPPORT_TEMP_FOLDER_H_

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace reenact::testing {

class TempFolder {
 public:
  TempFolder() {
    std::string name = "/dev/shm/reenact-test-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) {
      name = (std::filesystem::temp_directory_path() / "reenact-test-XXXXXX").string();
      if (::mkdtemp(name.data()) == nullptr) name.clear();
    }
    path_ = name;
  }

  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }

  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace reenact::testing

#endif  // REENACT_TESTS_SUPPORT_TEMP_FOLDER_H_
