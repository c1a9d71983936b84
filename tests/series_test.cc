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
#include "inspect/doctor_case.h"
#include "inspect/open_checkpoint.h"
#include "lra/files.h"
#include "run_folder/checkpoint.h"
#include "run_folder/divergence.h"
#include "run_folder/run_folder.h"
#include "run_folder/stopped_runs.h"
#include "tasks/task_facts.h"
#include "tests/training_fixture.h"
#include "train/trainer.h"

namespace lra {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
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
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(HasSubstr("1 of 5 runs diverged"), HasSubstr("seed 1 ("),
                             Not(HasSubstr("seed 2 ("))));

  // Five records: the diverged one says so, and has no result.
  FoundRuns found = *FindRunRecords({*folder_ + "/seeds"});
  ASSERT_EQ(found.runs.size(), 5u);
  EXPECT_TRUE(found.unfinished.empty());
  const RunRecord& failed = found.runs[1].record;
  EXPECT_EQ(failed.seed(), 1u);
  EXPECT_EQ(failed.failure().kind(), RunFailure::DIVERGED);
  EXPECT_EQ(failed.failure().step(), 0);
  EXPECT_THAT(failed.failure().cause(), HasSubstr("training: loss is not finite at step 0"));
  EXPECT_EQ(failed.results_size(), 0);
  EXPECT_FALSE(FileExists(found.runs[1].directory + "/failure.txt"));
  for (const int whole : {0, 2, 3, 4}) {
    EXPECT_FALSE(found.runs[whole].record.has_failure());
    EXPECT_NE(FindResult(found.runs[whole].record, "test"), nullptr);
  }
  EXPECT_EQ(failed.cell_fingerprint(), found.runs[0].record.cell_fingerprint());
  ASSERT_TRUE(AddStoppedRuns(&found).ok());
  const auto board = BuildLeaderboard(found, {}, {});
  ASSERT_TRUE(board.ok()) << board.status();
  const std::string table = WriteLeaderboard(*board, TableFormat::kMarkdown);
  EXPECT_THAT(table, HasSubstr(" 4/5"));
  EXPECT_THAT(table, HasSubstr("seed 1, diverged at step 0"));
}

TEST_F(SeriesTest, EveryReaderSaysThatARunDiverged) {
  TrainRequest request = Diverging(9);
  request.runtime.set_out_dir(*folder_ + "/read");
  const absl::Status status = TrainRun(request).status();
  ASSERT_TRUE(HasDiverged(status)) << status;
  const auto watched = ReadActivePart(request.runtime.out_dir());
  ASSERT_TRUE(watched.ok()) << watched.status();
  EXPECT_EQ(watched->state, RunState::kDiverged);
  EXPECT_EQ(watched->failure, status.message());
  const auto diagnosed =
      GatherCase({.run = request.runtime.out_dir(), .knowledge_of = KnowledgeOfTask});
  ASSERT_TRUE(diagnosed.ok()) << diagnosed.status();
  EXPECT_THAT(diagnosed->notes, Contains("it stopped: " + std::string(status.message())));
  // The weights before the failure are there to look at.
  EXPECT_EQ(*FindCheckpoint(request.runtime.out_dir()),
            CheckpointPath(request.runtime.out_dir(), 0));
  std::vector<std::string> fields;
  for (const FieldDifference& difference :
       DiffRecords(RunRecord(), *ReadRunRecord(request.runtime.out_dir())))
    fields.push_back(difference.path);
  EXPECT_THAT(fields, IsSupersetOf({"failure.kind", "failure.cause"}));
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
