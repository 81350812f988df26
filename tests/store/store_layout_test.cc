#include "store/store_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include "gtest/gtest.h"

#include "store/format/file_system.h"
#include "store/writer/segment_writer.h"
#include "tests/store/segment_samples.h"
#include "tests/support/temp_folder.h"

namespace reenact::store {
namespace {

using reenact::testing::TempFolder;

mode_t ModeOf(const std::string& path) {
  struct stat status {};

  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777;
}

// A machine on which everything lies on a file system of this type.
struct FakeMachine {
  explicit FakeMachine(int64_t type_magic, std::string type_name = "") {
    magic = type_magic;
    name = std::move(type_name);
    static constexpr FileSystemProbe kProbe = {
        .statfs =
            [](const char*, struct statfs* out) {
              *out = {};
              out->f_type = static_cast<decltype(out->f_type)>(magic);
              return 0;
            },
        .mount_info =
            [] {
              std::string text;
              for (int major = 0; major < 300; ++major) {
                for (int minor = 0; minor < 300; ++minor) {
                  text += "36 35 " + std::to_string(major) + ":" + std::to_string(minor) +
                          " / /mnt rw - " + name + " source rw\n";
                }
              }
              return text;
            }};
    SetFileSystemProbeForTesting(&kProbe);
  }

  ~FakeMachine() { SetFileSystemProbeForTesting(nullptr); }

  static inline int64_t magic = 0;
  static inline std::string name;
};

TEST(StoreLayout, NamesAreWhereTheDocumentationSays) {
  const StoreLayout layout{"/s"};
  EXPECT_EQ(layout.manifest(), "/s/segments/manifest.jsonl");
  EXPECT_EQ(layout.segment(schema::Ulid{}), "/s/segments/00000000000000000000000000.db");
  EXPECT_EQ(DefaultStorePath("/a", "/b", "/c"), "/a");
  EXPECT_EQ(DefaultStorePath("", "/b", "/c"), "/b/reenact");
  EXPECT_EQ(DefaultStorePath(nullptr, nullptr, "/c"), "/c/.local/share/reenact");
}

TEST(PrepareStore, MakesEverythingForItsOwnerOnly) {
  TempFolder folder;
  const StoreLayout layout{folder.File("a/b")};
  std::string key;
  std::string why;
  ASSERT_TRUE(PrepareStore(layout, &key, &why)) << why;
  EXPECT_EQ(key.size(), 32U);
  EXPECT_EQ(ModeOf(layout.root), 0700U);
  EXPECT_EQ(ModeOf(layout.segments()), 0700U);
  EXPECT_EQ(ModeOf(layout.key_file()), 0600U);
  std::string again;
  ASSERT_TRUE(PrepareStore(layout, &again, &why)) << why;
  EXPECT_EQ(again, key);
}

TEST(PrepareStore, ManyProcessesAgreeOnOneKey) {
  TempFolder folder;
  const StoreLayout layout{folder.File("store")};
  constexpr int kProcesses = 8;
  int pipes[2];
  ASSERT_EQ(::pipe(pipes), 0);
  for (int i = 0; i < kProcesses; ++i) {
    if (::fork() == 0) {
      std::string key;
      std::string why;
      if (!PrepareStore(layout, &key, &why)) key = "failed";
      ::_exit(::write(pipes[1], key.data(), key.size()) == 32 ? 0 : 1);
    }
  }
  std::set<std::string> keys;
  for (int i = 0; i < kProcesses; ++i) {
    int status = 0;
    ::wait(&status);
    EXPECT_EQ(status, 0);
    std::string key(32, '\0');
    if (status == 0 && ::read(pipes[0], key.data(), key.size()) == 32) keys.insert(key);
  }
  EXPECT_EQ(keys.size(), 1U);
  ::close(pipes[0]);
  ::close(pipes[1]);
}

TEST(PrepareStore, AFileInTheWayIsNamed) {
  TempFolder folder;
  std::ofstream(folder.File("taken")) << "x";
  std::string key;
  std::string why;
  EXPECT_FALSE(PrepareStore(StoreLayout{folder.File("taken")}, &key, &why));
  EXPECT_NE(why.find(folder.File("taken")), std::string::npos);
  EXPECT_NE(why.find("a file stands in its way"), std::string::npos) << why;
}

TEST(PrepareStore, ADamagedKeyIsNamed) {
  TempFolder folder;
  const StoreLayout layout{folder.path()};
  std::ofstream(layout.key_file()) << "short";
  std::string key;
  std::string why;
  EXPECT_FALSE(PrepareStore(layout, &key, &why));
  EXPECT_NE(why.find("5 bytes instead of 32"), std::string::npos) << why;
}

// Opening it would wait for ever, and the host with it.
TEST(PrepareStore, AFifoInPlaceOfTheKeyIsNamed) {
  TempFolder folder;
  const StoreLayout layout{folder.path()};
  ASSERT_EQ(::mkfifo(layout.key_file().c_str(), 0600), 0);
  std::string key;
  std::string why;
  EXPECT_FALSE(PrepareStore(layout, &key, &why));
  EXPECT_NE(why.find(layout.key_file()), std::string::npos) << why;
  EXPECT_NE(why.find("no regular file"), std::string::npos) << why;
}

// As many folders of one letter as make the path of a segment in the store so long.
std::string RootForSegmentPathsOf(size_t size, const TempFolder& folder) {
  const size_t of_segment = StoreLayout{""}.segment(schema::Ulid{}).size();
  std::string root = std::filesystem::canonical(folder.path()).string() + "/";
  while (root.size() + 3 < size - of_segment) root += "s/";
  return root + std::string(size - of_segment - root.size(), 's');
}

// Where SQLite can open no file, a recorder would take events and never get rid of them.
TEST(PrepareStore, APathThatIsTooLongForSqliteIsNamed) {
  TempFolder folder;
  constexpr size_t kLongest = 504;
  std::string key;
  std::string why;
  const StoreLayout fits{RootForSegmentPathsOf(kLongest, folder)};
  ASSERT_TRUE(PrepareStore(fits, &key, &why)) << why;
  std::unique_ptr<SegmentWriter> segment;
  ASSERT_EQ(
      SegmentWriter::Open({.path = fits.segment(schema::Ulid{}), .store_key = key}, &segment, &why),
      WriteCode::kOk)
      << why;
  const StoreLayout too_long{RootForSegmentPathsOf(kLongest + 1, folder)};
  EXPECT_FALSE(PrepareStore(too_long, &key, &why));
  EXPECT_NE(why.find("too long"), std::string::npos) << why;
  EXPECT_NE(why.find(too_long.root), std::string::npos) << why;
  // Not too careful either.
  EXPECT_NE(SegmentWriter::Open({.path = too_long.segment(schema::Ulid{}), .store_key = key},
                                &segment, &why),
            WriteCode::kOk);
}

TEST(PrepareStore, AFolderThatMayNotBeWrittenIsNamed) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  TempFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0500), 0);
  std::string key;
  std::string why;
  EXPECT_FALSE(PrepareStore(StoreLayout{folder.File("s")}, &key, &why));
  EXPECT_NE(why.find("no permission"), std::string::npos) << why;
  ::chmod(folder.path().c_str(), 0700);
}

TEST(NetworkFileSystem, KnowsThoseThatLocksDoNotHoldOn) {
  EXPECT_EQ(ClassifyFileSystem(0x6969, ""), "nfs");
  EXPECT_EQ(ClassifyFileSystem(0xff534d42, ""), "cifs");
  EXPECT_EQ(ClassifyFileSystem(static_cast<int32_t>(0xff534d42), ""), "cifs");
  EXPECT_EQ(ClassifyFileSystem(0x01021997, ""), "9p");
  EXPECT_EQ(ClassifyFileSystem(0x00c36400, ""), "ceph");
  EXPECT_EQ(ClassifyFileSystem(0x0bd00bd0, ""), "lustre");
  EXPECT_EQ(ClassifyFileSystem(0xef53, ""), "");      // ext4
  EXPECT_EQ(ClassifyFileSystem(0x01021994, ""), "");  // tmpfs
  EXPECT_EQ(ClassifyFileSystem(0x9123683e, ""), "");  // btrfs
  EXPECT_EQ(ClassifyFileSystem(0x65735546, "fuse.sshfs"), "fuse.sshfs");
  EXPECT_EQ(ClassifyFileSystem(0x65735546, "fuse.s3fs"), "fuse.s3fs");
  EXPECT_EQ(ClassifyFileSystem(0x65735546, "virtiofs"), "virtiofs");
  EXPECT_EQ(ClassifyFileSystem(0x65735546, ""), "fuse");
  EXPECT_EQ(ClassifyFileSystem(0x65735546, "fuseblk"), "");
  EXPECT_EQ(ClassifyFileSystem(0x65735546, "fuse.ntfs-3g"), "");
}

TEST(NetworkFileSystem, MountTypesAreReadPastOptionalFields) {
  constexpr char kText[] =
      "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
      "not a line\n"
      "23 22 0:45 / /mnt/with\\040space rw master:1 shared:2 - fuse.sshfs u@h:/ rw\n"
      "24 22 0:46 / /c rw - virtiofs share rw";
  EXPECT_EQ(MountTypeOfDevice(kText, "8:1"), "ext4");
  EXPECT_EQ(MountTypeOfDevice(kText, "0:45"), "fuse.sshfs");
  EXPECT_EQ(MountTypeOfDevice(kText, "0:46"), "virtiofs");
  EXPECT_EQ(MountTypeOfDevice(kText, "0:4"), "");
  EXPECT_EQ(MountTypeOfDevice("", "8:1"), "");
}

TEST(NetworkFileSystem, IsRefusedForStoresAndSegmentsInOneSentence) {
  TempFolder folder;
  std::string key;
  std::string why;
  {
    const FakeMachine nfs(0x6969);
    EXPECT_FALSE(PrepareStore(StoreLayout{folder.File("s")}, &key, &why));
    EXPECT_NE(why.find("network file system (nfs)"), std::string::npos) << why;
    EXPECT_NE(why.find(folder.File("s")), std::string::npos) << why;
    std::unique_ptr<SegmentWriter> writer;
    EXPECT_EQ(
        SegmentWriter::Open(reenact::testing::SampleOptions(folder.File("x.db")), &writer, &why),
        WriteCode::kRefused);
    EXPECT_NE(why.find("nfs"), std::string::npos) << why;
  }
  {
    const FakeMachine sshfs(0x65735546, "fuse.sshfs");
    EXPECT_FALSE(PrepareStore(StoreLayout{folder.File("s")}, &key, &why));
    EXPECT_NE(why.find("fuse.sshfs"), std::string::npos) << why;
  }
  {
    const FakeMachine ntfs(0x65735546, "fuseblk");
    EXPECT_TRUE(PrepareStore(StoreLayout{folder.File("s")}, &key, &why)) << why;
  }
}

TEST(ProcessIdentity, IsAliveAsLongAsItsProcess) {
  const ProcessIdentity self = ThisProcess();
  EXPECT_TRUE(IsAlive(self));
  EXPECT_EQ(DecodeOwner(EncodeOwner(self)), self);
  ProcessIdentity reused = self;
  ++reused.start;
  EXPECT_FALSE(IsAlive(reused));
  ProcessIdentity before_restart = self;
  before_restart.boot_id = "00000000-0000-0000-0000-000000000000.1";
  EXPECT_FALSE(IsAlive(before_restart));
  // The same machine, another container: its processes cannot be seen from here.
  ProcessIdentity elsewhere = self;
  elsewhere.boot_id = self.boot_id.substr(0, self.boot_id.find('.')) + ".1";
  EXPECT_TRUE(IsAlive(elsewhere));
  int pipes[2];
  ASSERT_EQ(::pipe(pipes), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string owner = EncodeOwner(ThisProcess());
    ::_exit(::write(pipes[1], owner.data(), owner.size()) > 0 ? 0 : 1);
  }
  char text[256];
  const ssize_t size = ::read(pipes[0], text, sizeof(text));
  ASSERT_GT(size, 0);
  const auto owner = DecodeOwner({text, static_cast<size_t>(size)});
  ASSERT_TRUE(owner.has_value());
  // A zombie first, then nothing.
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(IsAlive(*owner));
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(IsAlive(*owner));
  ::close(pipes[0]);
  ::close(pipes[1]);
}

TEST(ProcessIdentity, RefusesTextThatIsNone) {
  for (const char* text : {"", "1", "1 2", "x 2 boot", "1 x boot", "1  boot"}) {
    EXPECT_FALSE(DecodeOwner(text).has_value()) << text;
  }
}

TEST(ListSegments, ListsSegmentsOnlyAndInOrder) {
  TempFolder folder;
  const StoreLayout layout{folder.path()};
  EXPECT_TRUE(ListSegments(layout).empty());
  ASSERT_EQ(::mkdir(layout.segments().c_str(), 0700), 0);
  for (const char* name :
       {"01BX5ZZKBKACTAV9WEVGEMMVRZ.db", "01ARZ3NDEKTSV4RRFFQ69G5FAV.db", "manifest.jsonl",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV.db-wal", "01ARZ3NDEKTSV4RRFFQ69G5FA!.db", "x.db"}) {
    std::ofstream(layout.segments() + "/" + name).close();
  }
  EXPECT_EQ(ListSegments(layout), (std::vector<std::string>{"01ARZ3NDEKTSV4RRFFQ69G5FAV.db",
                                                            "01BX5ZZKBKACTAV9WEVGEMMVRZ.db"}));
}

TEST(Ulids, AreDistinctAndOfThisTime) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(schema::ToString(NewUlid()));
  EXPECT_EQ(seen.size(), 1000U);
  EXPECT_NEAR(static_cast<double>(schema::UnixMs(NewUlid())),
              static_cast<double>(WallNowNs() / 1'000'000), 60'000);
}

// cases/reports.md 88: a clock that was an hour ahead when the newest segment was made.
TEST(Ulids, OfASegmentSortBehindThoseThatAreThere) {
  const TempFolder folder;
  const StoreLayout layout{folder.File("store")};
  std::string key;
  std::string why;
  ASSERT_TRUE(PrepareStore(layout, &key, &why)) << why;
  const int64_t ahead_ms = WallNowNs() / 1'000'000 + 3'600'000;
  for (const int64_t newest_ms : {ahead_ms, (int64_t{1} << 48) - 2}) {
    const schema::Ulid newest = schema::MakeUlid(newest_ms, {255});
    std::ofstream(layout.segment(newest)) << "x";
    EXPECT_GT(schema::ToString(NewSegmentId(layout)), schema::ToString(newest));
  }
}

}  // namespace
}  // namespace reenact::store
