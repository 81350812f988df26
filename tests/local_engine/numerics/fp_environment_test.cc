#include "local_engine/numerics/fp_environment.h"

#include <cfenv>
#include <string>
#include <thread>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "gtest/gtest.h"

namespace reenact::local_engine {
namespace {

TEST(FloatingPointEnvironment, AFreshThreadIsFine) {
  std::thread([] { EXPECT_TRUE(CheckFloatingPointEnvironment().ok()); }).join();
}

TEST(FloatingPointEnvironment, ADirectedRoundingIsNamedAndCured) {
  std::thread([] {
    std::fesetround(FE_UPWARD);
    const absl::Status status = CheckFloatingPointEnvironment();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(std::string(status.message()).find("rounding"), std::string::npos) << status;
    SetFloatingPointEnvironment();
    EXPECT_TRUE(CheckFloatingPointEnvironment().ok());
  }).join();
}

#if defined(__SSE2__)
TEST(FloatingPointEnvironment, FlushedSubnormalsAreNamedAndCured) {
  std::thread([] {
    _mm_setcsr(0x9fc0);
    volatile float tiny = 0x1p-140f;
    volatile float product = tiny * 1.0f;
    EXPECT_EQ(product, 0.0f) << "the control: this mode does lose subnormals";
    const std::string message(CheckFloatingPointEnvironment().message());
    EXPECT_NE(message.find("results are flushed"), std::string::npos) << message;
    EXPECT_NE(message.find("operands are read as zero"), std::string::npos) << message;
    EXPECT_NE(message.find("0x9fc0"), std::string::npos) << message;
    SetFloatingPointEnvironment();
    product = tiny * 1.0f;
    EXPECT_GT(product, 0.0f);
  }).join();
}
#endif

}  // namespace
}  // namespace reenact::local_engine
