// How a reader of a model's files refuses one.

#ifndef REENACT_TESTS_LOCAL_ENGINE_WEIGHTS_FILE_REFUSAL_H_
#define REENACT_TESTS_LOCAL_ENGINE_WEIGHTS_FILE_REFUSAL_H_

#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace reenact::local_engine {

// An error that begins with the name of the file and says `words`.
inline void ExpectFileRefused(const absl::Status& status, const std::string& file,
                              const std::string& words) {
  EXPECT_FALSE(status.ok()) << words;
  EXPECT_NE(std::string(status.message()).find(words), std::string::npos) << status;
  EXPECT_EQ(std::string(status.message()).rfind(file, 0), 0u) << status;
}

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_WEIGHTS_FILE_REFUSAL_H_
