#include "tools/reenact/io/suggestion.h"

#include <gtest/gtest.h>

namespace reenact::tools {
namespace {

TEST(ClosestWord, IsTheOneThatWasMeant) {
  const std::vector<std::string> words = {"list", "show", "diff", "replay", "--since", "--service"};
  EXPECT_EQ(ClosestWord("lst", words), "list");
  EXPECT_EQ(ClosestWord("repaly", words), "replay");
  EXPECT_EQ(ClosestWord("--sinec", words), "--since");
  EXPECT_EQ(ClosestWord("rerun", words), "");
  EXPECT_EQ(ClosestWord("", words), "");
  EXPECT_EQ(ClosestWord("ab", {"cd"}), "");
}

}  // namespace
}  // namespace reenact::tools
