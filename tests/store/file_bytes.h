// What a file holds, for tests that look at the bytes on the disk.

#ifndef REENACT_TESTS_STORE_FILE_BYTES_H_
#define REENACT_TESTS_STORE_FILE_BYTES_H_

#include <fstream>
#include <sstream>
#include <string>

#include "gtest/gtest.h"

namespace reenact::testing {

inline std::string FileBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return std::move(bytes).str();
}

}  // namespace reenact::testing

#endif  // REENACT_TESTS_STORE_FILE_BYTES_H_
