#include "local_engine/model/load_model.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tests/local_engine/model/random_model.h"
#include "tests/support/temp_folder.h"

namespace reenact::local_engine {
namespace {

class LoadedFolder : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<const Model>> Load() {
    WriteFolder(folder_.path(), ConfigOf(shape_, architecture_, ""), tensors_);
    return LoadModel(folder_.path());
  }

  void ExpectRefused(absl::StatusCode code, const std::string& words) {
    const absl::Status status = Load().status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_NE(std::string(status.message()).find(words), std::string::npos) << status;
  }

  StoredTensor& Named(const std::string& name) {
    return *std::find_if(tensors_.begin(), tensors_.end(),
                         [&](const StoredTensor& tensor) { return tensor.name == name; });
  }

  testing::TempFolder folder_;
  RandomModelShape shape_;
  std::string architecture_ = "LlamaForCausalLM";
  std::vector<StoredTensor> tensors_ = RandomTensors(shape_).All();
};

TEST_F(LoadedFolder, BindsEveryTensor) {
  const auto model = Load();
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ((*model)->weights.layers.size(), 2u);
  EXPECT_EQ((*model)->weights.cache_type, DataType::kF32);
  EXPECT_NE((*model)->weights.head.weight, (*model)->weights.embedding);
}

TEST_F(LoadedFolder, AMissingTensorIsNamed) {
  Named("model.layers.1.mlp.up_proj.weight").name = "model.layers.1.mlp.other.weight";
  ExpectRefused(absl::StatusCode::kNotFound, "\"model.layers.1.mlp.up_proj.weight\" is missing");
}

TEST_F(LoadedFolder, ATensorWithoutAPlaceIsNamed) {
  tensors_.push_back(Store("model.layers.0.self_attn.sinks", DataType::kF32, {1}, {1.0f}));
  ExpectRefused(absl::StatusCode::kUnimplemented,
                "\"model.layers.0.self_attn.sinks\" has no place");
}

TEST_F(LoadedFolder, AnotherShapeIsNamed) {
  Named("model.layers.0.self_attn.k_proj.weight").shape = {48, 32};
  ExpectRefused(absl::StatusCode::kInvalidArgument,
                "\"model.layers.0.self_attn.k_proj.weight\" has shape [48, 32]; the configuration "
                "makes it [32, 48]");
}

TEST_F(LoadedFolder, BiasesThatTheArchitectureLacksAreNotDropped) {
  shape_.qkv_bias = true;
  tensors_ = RandomTensors(shape_).All();
  ExpectRefused(absl::StatusCode::kUnimplemented, ".bias\" has no place");
  architecture_ = "Qwen2ForCausalLM";
  EXPECT_TRUE(Load().ok());
}

TEST_F(LoadedFolder, ANormThatIsNotFiniteIsNamed) {
  Named("model.norm.weight").data.replace(0, 4, std::string("\0\0\x80\x7f", 4));
  ExpectRefused(absl::StatusCode::kInvalidArgument, "\"model.norm.weight\" holds a value");
}

TEST_F(LoadedFolder, TheCacheHasTheTypeOfTheWeights) {
  shape_.type = DataType::kBF16;
  tensors_ = RandomTensors(shape_).All();
  const auto model = Load();
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ((*model)->weights.cache_type, DataType::kBF16);
}

TEST(Projection, InterleavedRowsComeInTheOrderOfHalves) {
  const Projection projection{.interleaved_head_dim = 8};
  std::vector<uint64_t> rows;
  for (uint64_t output = 0; output < 16; ++output) rows.push_back(projection.RowOf(output));
  EXPECT_EQ(rows, (std::vector<uint64_t>{0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15}));
}

TEST(LoadModel, APathWithoutAModelIsNamed) {
  const absl::Status status = LoadModel("/nonexistent/model").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(std::string(status.message()).find("/nonexistent/model/config.json"),
            std::string::npos);
}

}  // namespace
}  // namespace reenact::local_engine
