// The engine on the emulated device: how it is chosen, what is refused, and how many launches a
// layer takes. The engine's own tests are compiled into this program too, on this backend.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/engine.h"
#include "local_engine/engine/backend.h"
#include "local_engine/engine/cuda_backend.h"
#include "local_engine/engine/invariance_trial.h"
#include "local_engine/model/load_model.h"
#include "tests/local_engine/cuda/emulation/execution.h"
#include "tests/local_engine/cuda/emulation/memory_checks.h"
#include "tests/local_engine/engine/small_model.h"
#include "tests/local_engine/reference/golden_models.h"
#include "tests/support/temp_folder.h"

namespace reenact::local_engine {
namespace {

class CudaEngine : public ::testing::Test {
 protected:
  void SetUp() override { WriteSmallModel(folder_.path(), SmallShape(), "LlamaForCausalLM"); }

  void TearDown() override {
    cuda_emulation::LimitDeviceBytes(most_bytes_);
    EXPECT_EQ(cuda_emulation::TakeReport(), "");
  }

  absl::StatusOr<std::unique_ptr<Engine>> Load(BackendKind backend) {
    return Engine::Load(
        folder_.path(),
        {.backend = backend, .on_load_progress = [this](int64_t done_bytes, int64_t total_bytes) {
           done_bytes_ = done_bytes;
           total_bytes_ = total_bytes;
         }});
  }

  testing::TempFolder folder_;
  int64_t done_bytes_ = 0;
  int64_t total_bytes_ = 0;
  const int64_t most_bytes_ = cuda_emulation::MostDeviceBytes();
};

TEST_F(CudaEngine, TakesTheDeviceThatIsThere) {
  for (const BackendKind backend : {BackendKind::kAuto, BackendKind::kCuda}) {
    const auto engine = Load(backend);
    ASSERT_TRUE(engine.ok()) << engine.status();
    EXPECT_EQ((*engine)->device().backend, BackendKind::kCuda);
    EXPECT_EQ((*engine)->device().name, "emulated device");
    EXPECT_EQ((*engine)->device().message, "");
    EXPECT_EQ(done_bytes_, total_bytes_);
  }
}

TEST_F(CudaEngine, AModelLargerThanTheDeviceIsRefusedBeforeItIsRead) {
  cuda_emulation::LimitDeviceBytes(100'000);
  const auto refused = Load(BackendKind::kCuda);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(refused.status().message().find("emulated device"), absl::string_view::npos)
      << refused.status();
  EXPECT_EQ(done_bytes_, 0);
  const auto on_cpu = Load(BackendKind::kAuto);
  ASSERT_TRUE(on_cpu.ok()) << on_cpu.status();
  EXPECT_EQ((*on_cpu)->device().backend, BackendKind::kCpu);
  EXPECT_NE((*on_cpu)->device().message.find("the model needs"), std::string::npos);
}

TEST_F(CudaEngine, HeadsThatTheKernelsDoNotHaveAreNamedBeforeTheModelIsRead) {
  RandomModelShape shape = SmallShape();
  shape.head_dim = 264;
  WriteSmallModel(folder_.path(), shape, "LlamaForCausalLM");
  const auto refused = Load(BackendKind::kCuda);
  EXPECT_NE(refused.status().message().find("heads of 264 values"), absl::string_view::npos)
      << refused.status();
  EXPECT_EQ(done_bytes_, 0);
  const auto on_cpu = Load(BackendKind::kAuto);
  ASSERT_TRUE(on_cpu.ok()) << on_cpu.status();
  EXPECT_NE((*on_cpu)->device().message.find("heads of 264 values"), std::string::npos);
}

TEST_F(CudaEngine, ProfileStockStaysOnTheCpu) {
  const auto engine =
      Engine::Load(folder_.path(), {.profile = Profile::kStock, .backend = BackendKind::kAuto});
  ASSERT_TRUE(engine.ok()) << engine.status();
  EXPECT_EQ((*engine)->device().backend, BackendKind::kCpu);
  EXPECT_EQ(
      Engine::Load(folder_.path(), {.profile = Profile::kStock, .backend = BackendKind::kCuda})
          .status()
          .code(),
      absl::StatusCode::kInvalidArgument);
}

TEST_F(CudaEngine, ADecodedTokenTakesSevenLaunchesALayer) {
  const auto launches_of = [&](int layers) {
    WriteModel(folder_.path(), {"LlamaForCausalLM", "", {.layer_count = layers}, false, ""});
    const auto model = LoadModel(folder_.path());
    EXPECT_TRUE(model.ok()) << model.status();
    auto backend = MakeCudaBackend(**model, {.max_positions = 8}, [](int64_t) {});
    EXPECT_TRUE(backend.ok() && (*backend)->ReservePages(1).ok());
    const int64_t before = cuda_emulation::CountersSoFar().grids;
    const std::vector<int32_t> pages = {0}, tokens = {5};
    const StepSequence sequence = {pages, 0, tokens, 1};
    std::vector<SequenceOutput> outputs;
    EXPECT_TRUE((*backend)->Forward({&sequence, 1}, &outputs).ok());
    return cuda_emulation::CountersSoFar().grids - before;
  };
  EXPECT_EQ(launches_of(3) - launches_of(2), 7);
}

// Plain samplers take 8 bytes of a row of logits from the device, and 16 with its logprob; tokens
// and logprobs are those of the CPU.
TEST_F(CudaEngine, TokensArePickedWhereTheLogitsAre) {
  const std::vector<int32_t> pages = {0}, tokens = {5, 6};
  const auto model = LoadModel(folder_.path());
  ASSERT_TRUE(model.ok()) << model.status();
  auto backend = MakeCudaBackend(**model, {.max_positions = 8}, [](int64_t) {});
  ASSERT_TRUE(backend.ok() && (*backend)->ReservePages(1).ok());
  StepSequence sequence = {pages, 0, tokens, 1};
  sequence.pick =
      TokenPick{.temperature = 0.9f, .key = {.seed = 3, .position = 2}, .logprob = true};
  std::vector<SequenceOutput> outputs;
  ASSERT_TRUE((*backend)->Forward({&sequence, 1}, &outputs).ok());
  EXPECT_TRUE(outputs[0].logits.empty());
  EXPECT_TRUE(outputs[0].picked.has_value());

  Requests requests;
  for (const float temperature : {0.0f, 0.9f, 1.7f}) {
    for (const bool logprobs : {false, true}) {
      requests.push_back({.prompt = {5, 6, 7},
                          .max_tokens = 9,
                          .sampling = {.temperature = temperature},
                          .seed = 11,
                          .ignore_end = true,
                          .logprobs = logprobs});
    }
  }
  const MatrixSettings on_device = {.model_path = folder_.path(), .backend = BackendKind::kCuda};
  Trial trial(on_device);
  const std::unique_ptr<Engine> device = trial.NewEngine({});
  const std::unique_ptr<Engine> cpu = trial.NewEngineOfBackend({});
  ASSERT_TRUE(device != nullptr && cpu != nullptr) << trial.status();
  trial.Compare(trial.RunTogether(cpu.get(), requests), trial.RunTogether(device.get(), requests),
                "picked");
  EXPECT_TRUE(trial.status().ok()) << trial.status();
  EXPECT_EQ(trial.row().differences, 0) << trial.row().first_difference;
  EXPECT_GT(trial.row().comparisons, 50);
}

TEST_F(CudaEngine, TheBackendItselfCopiesNothingOfAModelThatDoesNotFit) {
  const auto model = LoadModel(folder_.path());
  ASSERT_TRUE(model.ok()) << model.status();
  cuda_emulation::LimitDeviceBytes(10'000);
  int64_t copied = 0;
  const auto refused =
      MakeCudaBackend(**model, {.max_positions = 8}, [&](int64_t bytes) { copied += bytes; });
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(copied, 0);
}

}  // namespace
}  // namespace reenact::local_engine
