// Digests that are kept: found for the same files, for no other state of them, and never damaged.

#include "local_engine/weights/digest_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/weights/safetensors.h"
#include "tests/local_engine/weights/weight_files.h"
#include "tests/support/temp_folder.h"

namespace reenact::local_engine {
namespace {

class DigestCacheTest : public ::testing::Test {
 protected:
  void SetUp() override { Write(1); }

  void Write(float value) {
    WriteBytes(model_path_, SafetensorsBytes({Store("a", DataType::kF32, {2}, {value, 2})}));
  }

  TensorSet Open() const {
    absl::StatusOr<TensorSet> tensors = OpenSafetensorsFolder(folder_.path());
    EXPECT_TRUE(tensors.ok()) << tensors.status();
    return *std::move(tensors);
  }

  // Where no file needs to have been at rest.
  DigestCache Cache() const { return DigestCache(cache_folder_, -1'000'000'000); }

  std::vector<std::string> Entries() const {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(cache_folder_)) {
      paths.push_back(entry.path());
    }
    return paths;
  }

  testing::TempFolder folder_;
  std::string model_path_ = folder_.path() + "/model.safetensors";
  std::string cache_folder_ = folder_.path() + "/cache/reenact";
};

TEST_F(DigestCacheTest, FindsWhatItKept) {
  const TensorSet tensors = Open();
  const Sha256Digest root = DigestOf(tensors).root;
  EXPECT_EQ(Cache().Find(tensors), std::nullopt);
  Cache().Keep(tensors, root);
  EXPECT_EQ(Cache().Find(tensors), root);
  EXPECT_EQ(Cache().Find(Open()), root);
  EXPECT_EQ(DigestCache("").Find(tensors), std::nullopt);
}

TEST_F(DigestCacheTest, AFileThatWasWrittenToIsAnother) {
  const TensorSet tensors = Open();
  Cache().Keep(tensors, DigestOf(tensors).root);

  struct stat before {};

  ASSERT_EQ(stat(model_path_.c_str(), &before), 0);
  // The same size, the same inode, and the modification time that it had: the change time tells.
  std::FILE* file = std::fopen(model_path_.c_str(), "r+b");
  ASSERT_NE(file, nullptr);
  std::fseek(file, -4, SEEK_END);
  const float other = 3;
  std::fwrite(&other, sizeof other, 1, file);
  std::fclose(file);
  const struct timespec times[2] = {before.st_atim, before.st_mtim};

  // Until the file system's clock has moved on.
  struct stat after {};

  do {
    ASSERT_EQ(utimensat(AT_FDCWD, model_path_.c_str(), times, 0), 0);
    ASSERT_EQ(stat(model_path_.c_str(), &after), 0);
  } while (after.st_ctim.tv_nsec == before.st_ctim.tv_nsec &&
           after.st_ctim.tv_sec == before.st_ctim.tv_sec);
  ASSERT_EQ(after.st_ino, before.st_ino);
  ASSERT_EQ(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
  EXPECT_EQ(Cache().Find(Open()), std::nullopt);
}

TEST_F(DigestCacheTest, AFileInItsPlaceIsAnother) {
  const TensorSet tensors = Open();
  Cache().Keep(tensors, DigestOf(tensors).root);
  std::filesystem::rename(model_path_, folder_.path() + "/aside");
  Write(7);
  EXPECT_EQ(Cache().Find(Open()), std::nullopt);
}

TEST_F(DigestCacheTest, NothingIsKeptOfAFileThatChangedJustNowOrSinceItWasOpened) {
  const TensorSet tensors = Open();
  const Sha256Digest root = DigestOf(tensors).root;
  DigestCache(cache_folder_).Keep(tensors, root);
  EXPECT_EQ(Cache().Find(tensors), std::nullopt);
  std::filesystem::remove(model_path_);
  Write(7);
  Cache().Keep(tensors, root);
  EXPECT_EQ(Cache().Find(tensors), std::nullopt);
}

TEST_F(DigestCacheTest, ADamagedEntryIsAsGoodAsNone) {
  const TensorSet tensors = Open();
  const Sha256Digest root = DigestOf(tensors).root;
  Cache().Keep(tensors, root);
  ASSERT_EQ(Entries().size(), 1u);
  const std::string path = Entries()[0];
  const std::string whole = ReadBytes(path);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = damaged[i] == '0' ? '1' : '0';
    WriteBytes(path, damaged);
    EXPECT_EQ(Cache().Find(tensors), std::nullopt) << "byte " << i;
    WriteBytes(path, whole.substr(0, i));
    EXPECT_EQ(Cache().Find(tensors), std::nullopt) << "the first " << i;
  }
  WriteBytes(path, whole + "x");
  EXPECT_EQ(Cache().Find(tensors), std::nullopt);
  Cache().Keep(tensors, root);
  EXPECT_EQ(Cache().Find(tensors), root);
}

TEST_F(DigestCacheTest, ManyThatWriteAtOnceLeaveOneWholeEntry) {
  const TensorSet tensors = Open();
  const Sha256Digest root = DigestOf(tensors).root;
  std::atomic<int> wrong{0};
  std::atomic<int> found{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        Cache().Keep(tensors, root);
        const std::optional<Sha256Digest> known = Cache().Find(tensors);
        (known == root ? found : wrong) += 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(found, 200);
  EXPECT_EQ(Entries().size(), 1u);
}

TEST_F(DigestCacheTest, AFolderThatCannotBeMadeIsNoError) {
  const TensorSet tensors = Open();
  WriteBytes(folder_.path() + "/file", "x");
  const DigestCache cache(folder_.path() + "/file/cache", -1'000'000'000);
  cache.Keep(tensors, DigestOf(tensors).root);
  EXPECT_EQ(cache.Find(tensors), std::nullopt);
}

}  // namespace
}  // namespace reenact::local_engine
