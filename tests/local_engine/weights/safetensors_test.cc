#include "local_engine/weights/safetensors.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

#include "tests/local_engine/weights/file_refusal.h"
#include "tests/local_engine/weights/weight_files.h"
#include "tests/support/temp_folder.h"

namespace reenact::local_engine {
namespace {

std::vector<StoredTensor> TwoTensors() {
  return {Store("a", DataType::kF32, {2, 3}, {1, 2, 3, 4, 5, 6}),
          Store("b", DataType::kBF16, {4}, {0.5f, -0.0f, 1e-39f, 3.0f})};
}

absl::Status SafetensorsStatus(const std::string& bytes) {
  const AlignedCopy copy(bytes);
  TensorSet tensors;
  return ReadSafetensors("model.safetensors", copy.bytes(), &tensors);
}

void ExpectSafetensorsRefused(const std::string& bytes, const std::string& words) {
  ExpectFileRefused(SafetensorsStatus(bytes), "model.safetensors", words);
}

std::string WithEntry(const std::string& entry, size_t data_bytes = 8) {
  return SafetensorsWithHeader("{\"x\":" + entry + "}", std::string(data_bytes, '\1'));
}

TEST(Safetensors, ReadsShapesTypesAndValues) {
  const AlignedCopy copy(SafetensorsBytes(TwoTensors()));
  TensorSet tensors;
  ASSERT_TRUE(ReadSafetensors("f", copy.bytes(), &tensors).ok());
  const Tensor* a = tensors.Find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->RowCount(), 2u);
  std::vector<float> row(3);
  WidenRow(*a, 1, row);
  EXPECT_EQ(row, (std::vector<float>{4, 5, 6}));
  const Tensor* b = tensors.Find("b");
  ASSERT_NE(b, nullptr);
  row.resize(4);
  WidenRow(*b, 0, row);
  EXPECT_EQ(row[0], 0.5f);
  EXPECT_EQ(float_bits(row[1]), 0x80000000u);
  EXPECT_EQ(row[2], 0x0.16p-126f) << "a subnormal stays";
  EXPECT_EQ(tensors.Find("c"), nullptr);
}

TEST(Safetensors, DamageIsNamed) {
  ExpectSafetensorsRefused("", "ends before the length");
  ExpectSafetensorsRefused(std::string(8, '\xff'), "claims a header of 18446744073709551615");
  ExpectSafetensorsRefused(SafetensorsWithHeader("[1]", ""), "no JSON object");
  ExpectSafetensorsRefused(SafetensorsWithHeader(std::string(200'000, '['), ""), "no JSON object");
  ExpectSafetensorsRefused(WithEntry(R"({"dtype":"F32","shape":[2]})"), "\"x\": the entry lacks");
  ExpectSafetensorsRefused(WithEntry(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"),
                           "lacks");
  ExpectSafetensorsRefused(WithEntry(R"({"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})"),
                           "lacks");
  ExpectSafetensorsRefused(WithEntry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8,9]})"),
                           "lacks");
  ExpectSafetensorsRefused(WithEntry(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"),
                           "outside");
  ExpectSafetensorsRefused(WithEntry(R"({"dtype":"F32","shape":[4],"data_offsets":[0,16]})"),
                           "outside");
  ExpectSafetensorsRefused(WithEntry(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"),
                           "[3] of F32 takes 12 bytes, not 8");
  ExpectSafetensorsRefused(WithEntry(R"({"dtype":"F32","shape":[0],"data_offsets":[0,0]})"),
                           "no value");
  ExpectSafetensorsRefused(WithEntry(R"({"dtype":"F32","shape":[4294967296,4294967296,4],
                              "data_offsets":[0,8]})"),
                           "too large");
  ExpectSafetensorsRefused(WithEntry(R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})"),
                           "before tensor \"x\" belong to no tensor");
  ExpectSafetensorsRefused(WithEntry(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})"),
                           "at its end belong to no tensor");
  ExpectSafetensorsRefused(SafetensorsWithHeader(
                               R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
                        "y":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                               std::string(8, '\1')),
                           "tensor \"y\" overlaps tensor \"x\"");
  ExpectSafetensorsRefused(SafetensorsWithHeader(
                               R"({"x":{"dtype":"I8","shape":[1],"data_offsets":[0,1]},
                        "y":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})",
                               std::string(5, '\1')),
                           "\"y\": its data is not aligned");
  ExpectSafetensorsRefused(
      SafetensorsWithHeader(R"({"":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}})", "x"),
      "name is empty");
}

TEST(Safetensors, AnUnsupportedTypeIsRefusedByName) {
  const absl::Status status =
      SafetensorsStatus(WithEntry(R"({"dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8]})"));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(std::string(status.message()).find("\"x\": dtype F8_E4M3"), std::string::npos)
      << status;
}

TEST(Safetensors, EveryTruncationIsAnError) {
  const std::string whole = SafetensorsBytes(TwoTensors());
  ASSERT_TRUE(SafetensorsStatus(whole).ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(SafetensorsStatus(whole.substr(0, size)).ok()) << size;
  }
}

TEST(Safetensors, AMutatedFileIsAnErrorOrReadsWithinItself) {
  const std::string whole = SafetensorsBytes(TwoTensors());
  int refused = 0;
  for (size_t at = 0; at + 32 < whole.size(); ++at) {
    for (char byte : {'\0', '\x7f', '\xff', '9', '0', '"', '[', '}', ','}) {
      std::string mutated = whole;
      mutated[at] = byte;
      const AlignedCopy copy(mutated);
      TensorSet tensors;
      if (!ReadSafetensors("f", copy.bytes(), &tensors).ok()) {
        ++refused;
        continue;
      }
      DigestOf(tensors);  // Reads every byte.
    }
  }
  EXPECT_GT(refused, 1000);
}

class ShardedFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::vector<StoredTensor> tensors = TwoTensors();
    WriteBytes(Path("one.safetensors"), SafetensorsBytes({tensors[0]}));
    WriteBytes(Path("two.safetensors"), SafetensorsBytes({tensors[1]}));
  }

  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }

  std::string ErrorWithIndex(const std::string& weight_map) {
    WriteBytes(Path("model.safetensors.index.json"), "{\"weight_map\":" + weight_map + "}");
    return std::string(OpenSafetensorsFolder(folder_.path()).status().message());
  }

  testing::TempFolder folder_;
};

TEST_F(ShardedFolder, HasTheSameDigestAsOneFile) {
  EXPECT_EQ(ErrorWithIndex(R"({"a":"one.safetensors","b":"two.safetensors"})"), "");
  const absl::StatusOr<TensorSet> sharded = OpenSafetensorsFolder(folder_.path());
  ASSERT_TRUE(sharded.ok()) << sharded.status();
  const testing::TempFolder other;
  WriteBytes(other.path() + "/model.safetensors", SafetensorsBytes(TwoTensors()));
  const absl::StatusOr<TensorSet> single = OpenSafetensorsFolder(other.path());
  ASSERT_TRUE(single.ok()) << single.status();
  EXPECT_EQ(DigestOf(*sharded).root, DigestOf(*single).root);
}

TEST_F(ShardedFolder, AnIndexThatDoesNotAgreeIsNamed) {
  EXPECT_EQ(ErrorWithIndex(R"({"a":"one.safetensors"})"), "");
  EXPECT_NE(ErrorWithIndex(R"({"b":"one.safetensors","a":"two.safetensors"})").find("not listed"),
            std::string::npos);
  EXPECT_NE(ErrorWithIndex(R"({"a":"one.safetensors","c":"one.safetensors"})")
                .find("\"c\" is listed but not here"),
            std::string::npos);
  EXPECT_NE(ErrorWithIndex(R"({"a":"../one.safetensors"})").find("of this folder"),
            std::string::npos);
  EXPECT_NE(ErrorWithIndex(R"({"a":"model.safetensors.index.json"})").find("of this folder"),
            std::string::npos)
      << "an index may not name itself";
  EXPECT_NE(ErrorWithIndex(R"({"a":"absent.safetensors"})").find("absent.safetensors"),
            std::string::npos);
  EXPECT_NE(ErrorWithIndex("[]").find("weight_map"), std::string::npos);
}

TEST(Safetensors, AFolderWithoutWeightsSaysWhatIsMissing) {
  const testing::TempFolder folder;
  const absl::Status status = OpenSafetensorsFolder(folder.path()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(std::string(status.message()).find("model.safetensors"), std::string::npos);
}

// Enough for several threads.
TEST(WeightsDigest, OfManyMegabytesIsThatOfTheTensorsOneByOneAndEachByteIsReportedHere) {
  constexpr size_t kCount = 5;
  const std::vector<std::byte> data((size_t{11} << 20) + 5 * kCount, std::byte{3});
  TensorSet all;
  for (size_t i = 0; i < kCount; ++i) {
    const uint64_t size = data.size() - 5 * i;
    ASSERT_TRUE(all.Add({std::string(1, static_cast<char>('a' + i)),
                         DataType::kI8,
                         {size},
                         data.data(),
                         size})
                    .ok());
  }
  uint64_t read_bytes = 0;
  bool elsewhere = false;
  const std::thread::id here = std::this_thread::get_id();
  const WeightsDigest digest = DigestOf(all, [&](std::span<const std::byte> read) {
    read_bytes += read.size();
    elsewhere |= std::this_thread::get_id() != here;
  });
  EXPECT_FALSE(elsewhere);
  uint64_t size_bytes = 0;
  for (const auto& [name, tensor] : all.tensors()) {
    size_bytes += tensor.size_bytes;
    TensorSet one;
    ASSERT_TRUE(one.Add(tensor).ok());
    EXPECT_EQ(digest.leaves.at(name), DigestOf(one).root) << name;
  }
  EXPECT_EQ(read_bytes, size_bytes);
  EXPECT_EQ(digest.root, DigestOf(all).root);
}

TEST(WeightsDigest, EveryPartOfATensorCounts) {
  const auto root = [](const std::vector<StoredTensor>& tensors) {
    const AlignedCopy copy(SafetensorsBytes(tensors));
    TensorSet set;
    EXPECT_TRUE(ReadSafetensors("f", copy.bytes(), &set).ok());
    return HexText(DigestOf(set).root);
  };
  const std::string before = root(TwoTensors());
  std::vector<StoredTensor> changed = TwoTensors();
  changed[0].data[5] ^= 1;
  EXPECT_NE(root(changed), before);
  changed = TwoTensors();
  changed[0].shape = {3, 2};
  EXPECT_NE(root(changed), before);
  changed = TwoTensors();
  changed[1].type = DataType::kF16;
  EXPECT_NE(root(changed), before);
  changed = TwoTensors();
  changed[1].name = "c";
  EXPECT_NE(root(changed), before);
  changed = TwoTensors();
  std::swap(changed[0], changed[1]);
  EXPECT_EQ(root(changed), before) << "the place in the file does not count";
}

}  // namespace
}  // namespace reenact::local_engine
