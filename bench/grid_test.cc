#include "bench/grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "bench/record_file.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

GridPlan Plan() {
  GridPlan plan;
  plan.methods = {{"transformer", {}, false}, {"linear", {}, false}};
  plan.tokens = {512, 1024, 2048, 4096};
  plan.scopes = {BenchRequest::OPERATOR};
  plan.modes = {BenchRequest::TRAINING};
  plan.batches = {1};
  plan.paddings = {false};
  plan.precisions = {NumericsConfig::FP32};
  plan.head_widths = {32};
  return plan;
}

// Times that grow as N^2 for the transformer and as N for all others.
BenchResult Answer(const BenchRequest& request) {
  const double n = static_cast<double>(request.tokens());
  BenchResult result;
  result.set_outcome(BenchResult::MEASURED);
  result.mutable_passes()->add_seconds(request.attention() == "transformer" ? n * n * 1e-6
                                                                            : n * 1e-3);
  return result;
}

struct CountingRunner {
  int* runs;
  BenchResult operator()(const BenchRequest& request) const {
    ++*runs;
    return Answer(request);
  }
};

class GridTest : public ::testing::Test {
 protected:
  const TestFolder folder_;
  const std::string path_ = folder_.path() + "/cells.jsonl";
  int runs_ = 0;
};

TEST(ExpandGrid, TakesEveryCombination) {
  GridPlan plan = Plan();
  plan.modes.push_back(BenchRequest::FORWARD);
  plan.precisions.push_back(NumericsConfig::BF16);
  EXPECT_THAT(ExpandGrid(plan), SizeIs(2 * 2 * 2 * 4));
}

TEST(ExpandGrid, KeepsTokensWhereTheyAreFixed) {
  GridPlan plan = Plan();
  plan.batches = {};
  plan.tokens_in_batch = {4096};
  std::vector<int64_t> batches;
  for (const BenchRecord& cell : ExpandGrid(plan)) batches.push_back(cell.request().batch());
  EXPECT_EQ(batches, (std::vector<int64_t>{8, 4, 2, 1, 8, 4, 2, 1}));
}

TEST(ExpandGrid, LeavesOutWhatHasNoMeaning) {
  GridPlan plan = Plan();
  plan.paddings = {true};  // of one example nothing is padded
  EXPECT_THAT(ExpandGrid(plan), SizeIs(0));
  plan.paddings = {false};
  plan.modes = {BenchRequest::STREAMING};
  plan.tokens_in_batch = {4096};
  EXPECT_THAT(ExpandGrid(plan), SizeIs(8));  // those of a fixed batch
}

TEST(Parse, NamesFlagWordAndKnownWords) {
  EXPECT_EQ(ParseScopes({"operator,model"})->size(), 2u);
  EXPECT_THAT(std::string(ParseModes({"train"}).status().message()),
              AllOf(HasSubstr("--mode"), HasSubstr("\"train\""), HasSubstr("streaming")));
  EXPECT_FALSE(ParsePaddings({"full"}).ok());
  EXPECT_FALSE(ParsePrecisions({"float16"}).ok());
}

TEST_F(GridTest, ResumesWithoutMeasuringAgain) {
  EXPECT_EQ(*RunGrid(Plan(), {{}, path_, true}, CountingRunner{&runs_}), 8);
  EXPECT_EQ(*RunGrid(Plan(), {{}, path_, true}, CountingRunner{&runs_}), 0);
  EXPECT_EQ(runs_, 8);
  GridPlan longer = Plan();
  longer.tokens.push_back(8192);
  EXPECT_EQ(*RunGrid(longer, {{}, path_, true}, CountingRunner{&runs_}), 2);
  EXPECT_THAT(*ReadRecordFile(path_), SizeIs(10));
}

TEST_F(GridTest, GoesOnBehindALineThatWasCutOff) {
  ASSERT_TRUE(RunGrid(Plan(), {{}, path_, true}, CountingRunner{&runs_}).ok());
  std::ofstream(path_, std::ios::app) << "{\"request\": {\"sco";
  EXPECT_THAT(*ReadRecordFile(path_), SizeIs(8));
  GridPlan longer = Plan();
  longer.tokens = {8192};
  EXPECT_EQ(*RunGrid(longer, {{}, path_, true}, CountingRunner{&runs_}), 2);
  EXPECT_THAT(*ReadRecordFile(path_), SizeIs(10));
}

TEST_F(GridTest, AnotherMachineIsMeasuredAnew) {
  ASSERT_TRUE(RunGrid(Plan(), {{}, path_, true}, CountingRunner{&runs_}).ok());
  GridRun other = {{}, path_, true};
  other.machine.set_threads(7);
  EXPECT_EQ(*RunGrid(Plan(), other, CountingRunner{&runs_}), 8);
}

TEST_F(GridTest, FailuresAreTriedAgain) {
  const CellRunner fails = [](const BenchRequest&) {
    BenchResult result;
    result.set_outcome(BenchResult::FAILED);
    return result;
  };
  EXPECT_EQ(*RunGrid(Plan(), {{}, path_, true}, fails), 8);
  EXPECT_EQ(*RunGrid(Plan(), {{}, path_, true}, CountingRunner{&runs_}), 8);
}

TEST_F(GridTest, WhatIsOutOfMemoryStaysSoAtGreaterLengths) {
  const CellRunner run = [&](const BenchRequest& request) {
    ++runs_;
    BenchResult result = Answer(request);
    if (request.attention() == "transformer" && request.tokens() >= 1024) {
      result.set_outcome(BenchResult::OUT_OF_MEMORY);
      result.set_reason("above 1 MB of tensors");
    }
    return result;
  };
  EXPECT_EQ(*RunGrid(Plan(), {{}, path_, true}, run), 2 + 4);
  const std::vector<BenchRecord> records = *ReadRecordFile(path_);
  ASSERT_THAT(records, SizeIs(8));
  EXPECT_EQ(records[3].result().outcome(), BenchResult::OUT_OF_MEMORY);
  EXPECT_EQ(records[3].result().reason(), "as at N = 1024: above 1 MB of tensors");
}

TEST_F(GridTest, LeavesOutWhatWouldTakeTooLongUntilItMay) {
  GridPlan plan = Plan();
  plan.base.set_limit_seconds(4.15);  // the transformer takes 4.19 s at 2,048, linear 4.10 at 4,096
  EXPECT_EQ(*RunGrid(plan, {{}, path_, true}, CountingRunner{&runs_}), 2 + 4);
  EXPECT_EQ((*ReadRecordFile(path_))[2].result().outcome(), BenchResult::SKIPPED);
  EXPECT_EQ(*RunGrid(plan, {{}, path_, true}, CountingRunner{&runs_}), 0);
  plan.base.set_limit_seconds(100);
  EXPECT_EQ(*RunGrid(plan, {{}, path_, true}, CountingRunner{&runs_}), 2);
}

TEST(ReadRecordFile, NamesFileAndLine) {
  const TestFolder folder;
  const std::string path = folder.path() + "/cells.jsonl";
  std::ofstream(path) << "{}\n{\"request\": 7}\n";
  EXPECT_THAT(std::string(ReadRecordFile(path).status().message()), HasSubstr("cells.jsonl:2"));
  EXPECT_EQ(ReadRecordFile(folder.path() + "/none").status().code(), absl::StatusCode::kNotFound);
}

// A logarithmic axis of such cells has no end: its ticks filled the memory.
TEST(ReadRecordFile, AMeasuredCellHasAPlaceOnEachAxis) {
  const auto refusal = [](const BenchRequest& request) {
    const TestFolder folder;
    BenchRecord record;
    *record.mutable_request() = request;
    *record.mutable_result() = Answer(request);
    EXPECT_TRUE(AppendRecord(folder.File("cells.jsonl"), record).ok());
    return std::string(ReadRecordFile(folder.File("cells.jsonl")).status().message());
  };
  BenchRequest request = ExpandGrid(Plan())[0].request();
  EXPECT_EQ(refusal(request), "");
  request.set_head_width(0);
  EXPECT_THAT(refusal(request), HasSubstr("cells.jsonl:1: a measured cell has heads of width 0, "
                                          "must be 1 at least"));
  request.set_tokens(0);
  request.set_scope(BenchRequest::MACHINE);  // none of a grid's
  EXPECT_THAT(refusal(request), HasSubstr("has 0 tokens"));
}

}  // namespace
}  // namespace lra
