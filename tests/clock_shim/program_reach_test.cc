// Programs that the library does not reach, or reaches in vain: each is named.

#include "clock_shim/program_reach.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "tests/clock_shim/frozen_runs.h"
#include "tests/support/temp_folder.h"

namespace reenact::clock_shim {
namespace {

constexpr uid_t kNobody = 65534;

// Another user than root, who may do anything.
class AsNobody {
 public:
  AsNobody() { EXPECT_EQ(seteuid(kNobody), 0); }

  ~AsNobody() { EXPECT_EQ(seteuid(0), 0); }

  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;
};

// cases/replay.md: what cannot be reached is said.
TEST(ProgramReach, StaticProgramsAreNamedSo) {
  EXPECT_STREQ(WhyUnreachable(REENACT_STATIC_PROGRAM), "statically linked");
  EXPECT_EQ(WhyUnreachable(kProgram.c_str()), nullptr);
  EXPECT_EQ(WhyUnreachable("/nowhere/at/all"), nullptr);
  const Recording first = Record({REENACT_STATIC_PROGRAM});
  EXPECT_FALSE(first.report.reached);
}

TEST(ProgramReach, AStaticProgramThatWasStartedIsNamed) {
  const Recording first = Record({kProgram, "run", REENACT_STATIC_PROGRAM});
  EXPECT_TRUE(first.report.reached);
  ASSERT_EQ(first.report.unreached.size(), 1U);
  EXPECT_EQ(first.report.unreached[0],
            std::string(REENACT_STATIC_PROGRAM) + " (statically linked)");
}

// With cgo, which is Go's default where there is a C compiler, the library is loaded and of no use.
TEST(ProgramReach, AGoProgramThatLoadsTheLibraryIsNamed) {
  constexpr std::string_view kWhy = "written in Go, which reads the clock past libc";
  EXPECT_EQ(WhyUnreachable(REENACT_GO_NOTE_PROGRAM), kWhy);
  for (const Recording& recording :
       {Record({REENACT_GO_NOTE_PROGRAM}), Record({kProgram, "run", REENACT_GO_NOTE_PROGRAM})}) {
    EXPECT_TRUE(recording.report.reached);
    ASSERT_EQ(recording.report.unreached.size(), 1U);
    EXPECT_TRUE(recording.report.unreached[0].ends_with(std::string(" (").append(kWhy) + ")"));
  }
}

TEST(ProgramReach, ScriptsAreJudgedByTheirInterpreter) {
  const testing::TempFolder folder;
  const std::string path = folder.path() + "/script";
  std::ofstream(path) << "#! " << REENACT_STATIC_PROGRAM << " -x\n";
  EXPECT_STREQ(WhyUnreachable(path.c_str()), "statically linked");
  std::ofstream(path) << "#!/bin/sh\n";
  EXPECT_EQ(WhyUnreachable(path.c_str()), nullptr);
}

// A loader that does not trust its environment leaves the library out.
TEST(ProgramReach, ProgramsWithRightsOfTheirOwnAreNamed) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to make programs of another user";
  constexpr std::string_view kSetId = "set-user-ID: its environment is not trusted";
  const testing::TempFolder folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  const std::string path = folder.path() + "/program";
  std::filesystem::copy_file(kProgram, path);
  EXPECT_EQ(WhyUnreachable(path.c_str()), nullptr);

  ASSERT_EQ(chown(path.c_str(), kNobody, 0), 0);
  ASSERT_EQ(chmod(path.c_str(), 04755), 0);
  EXPECT_EQ(WhyUnreachable(path.c_str()), kSetId);
  const Recording started = Record({kProgram, "run", path});
  ASSERT_EQ(started.report.unreached.size(), 1U);
  EXPECT_EQ(started.report.unreached[0], path + " (" + std::string(kSetId) + ")");

  ASSERT_EQ(chown(path.c_str(), 0, 0), 0);
  ASSERT_EQ(chmod(path.c_str(), 04711), 0);  // Not to be read by those who may run it.
  EXPECT_EQ(WhyUnreachable(path.c_str()), nullptr) << "it is root's, and so are we";
  const AsNobody nobody;
  EXPECT_EQ(WhyUnreachable(path.c_str()), kSetId);
}

TEST(ProgramReach, ProgramsWithCapabilitiesAreNamed) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to give a file capabilities";
  const testing::TempFolder folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  const std::string path = folder.path() + "/program";
  std::filesystem::copy_file(kProgram, path);
  // As setcap(8) writes it: version 2, effective; CAP_NET_RAW.
  constexpr uint32_t kRaw[] = {0x02000001, 1U << 13, 0, 0, 0};
  if (setxattr(path.c_str(), "security.capability", kRaw, sizeof(kRaw), 0) != 0) {
    GTEST_SKIP() << "this file system keeps no capabilities";
  }
  const AsNobody nobody;
  EXPECT_STREQ(WhyUnreachable(path.c_str()), "with capabilities: its environment is not trusted");
  EXPECT_EQ(WhyUnreachable(kProgram.c_str()), nullptr);
}

}  // namespace
}  // namespace reenact::clock_shim
