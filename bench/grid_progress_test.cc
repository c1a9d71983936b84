#include "bench/grid_progress.h"

#include <gtest/gtest.h>

#include <vector>

#include "bench/efficiency_grid.h"
#include "bench/record_file.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

constexpr char kGrid[] = "cosformer_table5_small";

std::vector<BenchRecord> CellsOfGrid() {
  EfficiencyGrid grid = DefaultGrid();
  OverrideGrid(*LoadEfficiencyGrid(kGrid), &grid);
  std::vector<BenchRecord> cells = ExpandGrid(*PlanOfGrid(grid));
  for (BenchRecord& cell : cells) cell.mutable_result()->set_outcome(BenchResult::REFUSED);
  return cells;
}

class GridProgressTest : public ::testing::Test {
 protected:
  void Keep(const BenchRecord& cell) { ASSERT_TRUE(AppendRecord(path_, cell).ok()); }
  int Measured() { return ProgressOfGrid(kGrid, path_)->measured; }
  const TestFolder folder_;
  const std::string path_ = folder_.File("cells.jsonl");
};

TEST_F(GridProgressTest, CountsCellsWhoeverMeasuredThem) {
  std::vector<BenchRecord> cells = CellsOfGrid();
  Keep(cells[0]);
  cells[1].mutable_request()->set_threads(2);
  cells[1].mutable_machine()->mutable_machine()->set_cpu("some");
  Keep(cells[1]);
  const auto progress = ProgressOfGrid(kGrid, path_);
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->measured, 2);
  EXPECT_EQ(progress->cells, cells.size());
}

TEST_F(GridProgressTest, ACellTwiceIsOneAndOneThatFailedIsNone) {
  std::vector<BenchRecord> cells = CellsOfGrid();
  Keep(cells[0]);
  cells[0].mutable_machine()->mutable_machine()->set_cpu("another");
  Keep(cells[0]);
  cells[1].mutable_result()->set_outcome(BenchResult::FAILED);
  Keep(cells[1]);
  EXPECT_EQ(Measured(), 1);
}

TEST_F(GridProgressTest, AFileThatIsNotThereHasNone) {
  const auto progress = ProgressOfGrid(kGrid, path_);
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->measured, 0);
  EXPECT_EQ(progress->cells, CellsOfGrid().size());
}

TEST_F(GridProgressTest, WhatTheGridDoesNotAskForIsNotCounted) {
  BenchRecord other = CellsOfGrid()[0];
  other.mutable_request()->set_tokens(other.request().tokens() + 1);
  Keep(other);
  EXPECT_EQ(Measured(), 0);
}

}  // namespace
}  // namespace lra
