// Every answer that a driver can give, and what becomes of it.

#include "local_engine/engine/choose_device.h"

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"

namespace reenact::local_engine {
namespace {

constexpr int64_t kGigabyte = 1'000'000'000;
constexpr DeviceNeeds kNeeds = {.least_capability = 90, .memory_bytes = 16 * kGigabyte};

CudaDeviceInfo Hopper() {
  return {.name = "NVIDIA H200",
          .capability = 90,
          .total_bytes = 141 * kGigabyte,
          .free_bytes = 140 * kGigabyte};
}

absl::StatusOr<DeviceChoice> Choose(DeviceWish wish, const absl::StatusOr<CudaDeviceInfo>& answer) {
  return ChooseDevice(wish, kNeeds, [&answer] { return answer; });
}

// That kAuto is the CPU and says so, and kCuda an error of this code that says so and names the way
// out.
void ExpectRefused(const absl::StatusOr<CudaDeviceInfo>& answer, absl::StatusCode code,
                   const std::string& why) {
  const absl::StatusOr<DeviceChoice> left_to_us = Choose(DeviceWish::kAuto, answer);
  ASSERT_TRUE(left_to_us.ok()) << left_to_us.status();
  EXPECT_FALSE(left_to_us->cuda);
  EXPECT_NE(left_to_us->message.find(why), std::string::npos) << left_to_us->message;
  const absl::StatusOr<DeviceChoice> asked_for = Choose(DeviceWish::kCuda, answer);
  EXPECT_EQ(asked_for.status().code(), code) << asked_for.status();
  const std::string message(asked_for.status().message());
  EXPECT_NE(message.find(why), std::string::npos) << message;
  EXPECT_NE(message.find("--device cpu"), std::string::npos) << message;
}

TEST(ChooseDevice, TakesADeviceThatServes) {
  for (DeviceWish wish : {DeviceWish::kAuto, DeviceWish::kCuda}) {
    const absl::StatusOr<DeviceChoice> choice = Choose(wish, Hopper());
    ASSERT_TRUE(choice.ok()) << choice.status();
    EXPECT_TRUE(choice->cuda);
    EXPECT_EQ(choice->message, "");
  }
}

TEST(ChooseDevice, DoesNotAskTheDriverForTheCpu) {
  bool asked = false;
  const absl::StatusOr<DeviceChoice> choice = ChooseDevice(DeviceWish::kCpu, kNeeds, [&asked] {
    asked = true;
    return absl::StatusOr<CudaDeviceInfo>(Hopper());
  });
  ASSERT_TRUE(choice.ok());
  EXPECT_FALSE(choice->cuda);
  EXPECT_FALSE(asked);
}

TEST(ChooseDevice, SaysThatThereIsNoDriverOrDevice) {
  ExpectRefused(absl::UnavailableError("there is no NVIDIA driver"),
                absl::StatusCode::kFailedPrecondition, "there is no NVIDIA driver");
}

TEST(ChooseDevice, RefusesADeviceThatIsOlderThanTheBuild) {
  CudaDeviceInfo device = Hopper();
  device.capability = 75;
  ExpectRefused(device, absl::StatusCode::kFailedPrecondition, "7.5");
}

TEST(ChooseDevice, RefusesAModelLargerThanTheDevice) {
  CudaDeviceInfo device = Hopper();
  device.total_bytes = 12 * kGigabyte;
  ExpectRefused(device, absl::StatusCode::kResourceExhausted, "the model needs 16.0 GB");
}

TEST(ChooseDevice, RefusesADeviceThatOthersHaveFilled) {
  CudaDeviceInfo device = Hopper();
  device.free_bytes = kNeeds.memory_bytes - 1;
  ExpectRefused(device, absl::StatusCode::kResourceExhausted, "are free");
  device.free_bytes = kNeeds.memory_bytes;
  EXPECT_TRUE(Choose(DeviceWish::kCuda, device).ok()) << "what fits exactly fits";
}

TEST(DeviceWish, HasThreeNames) {
  EXPECT_EQ(*DeviceWishNamed("auto"), DeviceWish::kAuto);
  EXPECT_EQ(*DeviceWishNamed("cpu"), DeviceWish::kCpu);
  EXPECT_EQ(*DeviceWishNamed("cuda"), DeviceWish::kCuda);
  EXPECT_EQ(DeviceWishNamed("gpu").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace reenact::local_engine
