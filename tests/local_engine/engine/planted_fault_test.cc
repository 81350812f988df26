// The matrix finds what it is there for: with each fault planted, its row shows a difference, and
// without it the row holds.

#include "local_engine/engine/planted_fault.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "local_engine/engine/invariance_matrix.h"
#include "local_engine/engine/output_text.h"
#include "local_engine/tokenizer/tokenizer_json.h"
#include "tests/local_engine/engine/small_model.h"
#include "tests/local_engine/tokenizer/small_tokenizer.h"
#include "tests/support/temp_folder.h"

namespace reenact::local_engine {

EngineFault engine_fault = EngineFault::kNone;

namespace {

struct FaultyRow {
  EngineFault fault;
  const char* name;  // Of the fault.
  Invariance invariance;
};

#define FAULT(name, invariance) \
  { EngineFault::name, #name, Invariance::invariance }
constexpr FaultyRow kFaults[] = {
    FAULT(kDrawByProcessCounter, kRun),
    FAULT(kBatchPicksKernel, kBatch),
    FAULT(kPrefillPicksKernel, kPrefillDecode),
    FAULT(kChunkEdgeLost, kChunk),
    FAULT(kCacheIgnoresParent, kCache),
    FAULT(kCacheTrustsHash, kCache),
    FAULT(kCachePublishesEarly, kCache),
    FAULT(kPreemptMovesDraw, kPreempt),
    FAULT(kPreemptCountsTwice, kPreempt),
    FAULT(kDrawByBatchRow, kSeedIsolation),
    FAULT(kDrawByRequest, kOrder),
    FAULT(kThreadsPickKernel, kThreads),
    FAULT(kIsaPicksKernel, kIsa),
};
#undef FAULT

TEST(EngineFault, EveryFaultIsSeenByItsRow) {
  const testing::TempFolder folder;
  WriteSmallModel(folder.path(), SmallShape(), "LlamaForCausalLM");
  const MatrixSettings settings = {.model_path = folder.path(),
                                   .batch_sizes = {4},
                                   .chunk_sizes = {3, 32},
                                   .lengths = {2, 33},
                                   .residue_step = 17,
                                   .orders = 3};
  std::set<Invariance> tried;
  for (const FaultyRow& planted : kFaults) {
    engine_fault = planted.fault;
    const absl::StatusOr<MatrixRow> faulty = RunInvariance(planted.invariance, settings);
    engine_fault = EngineFault::kNone;
    ASSERT_TRUE(faulty.ok()) << planted.name << ": " << faulty.status();
    EXPECT_GT(faulty->differences, 0) << planted.name;
    if (!tried.insert(planted.invariance).second) continue;
    const absl::StatusOr<MatrixRow> sound = RunInvariance(planted.invariance, settings);
    ASSERT_TRUE(sound.ok()) << planted.name << ": " << sound.status();
    EXPECT_EQ(sound->differences, 0) << "without a fault: " << sound->first_difference;
  }
  EXPECT_EQ(tried.size(), std::size(kInvariances)) << "a row has no fault of its own";
  // kStopTextLeaks has the test below.
  EXPECT_EQ(std::size(kFaults) + 2, static_cast<size_t>(EngineFault::kCount));
}

std::string TextBefore(const std::string& stop) {
  absl::StatusOr<Tokenizer> tokenizer = TokenizerFromJson(ByteLevelTokenizer().Json());
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  if (!tokenizer.ok()) return "";
  const std::vector<std::string> stops = {stop};
  OutputText text(&*tokenizer, {}, stops);
  std::string given;
  for (const char c : std::string("we say stop here")) {
    const uint32_t id = tokenizer->Encode(std::string(1, c), {.add_special_tokens = false})->at(0);
    const OutputText::Piece piece = text.Push(static_cast<int32_t>(id), /*may_stop=*/true);
    given += piece.text;
    if (!piece.stop_text.empty()) return given;
  }
  return given + text.Finish(true).text;
}

TEST(EngineFault, AStopTextThatLeaksIsSeen) {
  engine_fault = EngineFault::kStopTextLeaks;
  EXPECT_NE(TextBefore("say stop"), "we ");
  engine_fault = EngineFault::kNone;
  EXPECT_EQ(TextBefore("say stop"), "we ");
  EXPECT_EQ(TextBefore("stop it"), "we say stop here");
}

}  // namespace
}  // namespace reenact::local_engine
