// Several seeds of a cell, one of which diverges.
#include "train/series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "eval/leaderboard.h"
#include "eval/run_record.h"
#include "eval/table_writer.h"
#include "run_folder/divergence.h"
#include "run_folder/stopped_runs.h"
#include "tests/training_fixture.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class SeriesTest : public TrainerTest {
 protected:
  static TrainRequest Seed(uint32_t seed) {
    return Request("seeds/s" + std::to_string(seed), "linear",
                   {"train.steps=2", "seed=" + std::to_string(seed)});
  }
  // Its first loss is not finite.
  static TrainRequest Diverging(uint32_t seed) {
    TrainRequest request = Seed(seed);
    request.make_classifier = [](const ExperimentConfig& config, const TaskSpec& spec) {
      auto model = CreateClassifier(config, spec);
      if (model.ok())
        (*model)->parameters().parameters()[0].value.detach().fill_(
            std::numeric_limits<float>::quiet_NaN());
      return model;
    };
    return request;
  }
};

TEST_F(SeriesTest, ADivergedSeedIsCountedAndTheOthersGoOn) {
  std::vector<uint32_t> done;
  const absl::Status status = TrainSeries({Seed(0), Diverging(1), Seed(2), Seed(3), Seed(4)},
                                          [&](const TrainRequest&, const RunRecord& record) {
                                            done.push_back(record.seed());
                                            return absl::OkStatus();
                                          });
  EXPECT_THAT(done, ElementsAre(0, 2, 3, 4));
  EXPECT_TRUE(HasDiverged(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(HasSubstr("1 of 5 runs diverged"), HasSubstr("seed 1 ("),
                             Not(HasSubstr("seed 2 ("))));

  FoundRuns found = *FindRunRecords({*folder_ + "/seeds"});
  EXPECT_EQ(found.runs.size(), 4u);
  ASSERT_TRUE(AddStoppedRuns(&found).ok());
  const auto board = BuildLeaderboard(found, {}, {});
  ASSERT_TRUE(board.ok()) << board.status();
  const std::string table = WriteLeaderboard(*board, TableFormat::kMarkdown);
  EXPECT_THAT(table, HasSubstr(" 4/5"));
  EXPECT_THAT(table, HasSubstr("seed 1, diverged at step 0"));
}

TEST_F(SeriesTest, AnyOtherErrorEndsTheSeries) {
  TrainRequest without_data = Seed(7);
  without_data.runtime.set_data_dir(*folder_ + "/nothing");
  int done = 0;
  const absl::Status status = TrainSeries({without_data, Seed(8)}, [&](const auto&, const auto&) {
    ++done;
    return absl::OkStatus();
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  EXPECT_EQ(done, 0);
}

}  // namespace
}  // namespace lra
