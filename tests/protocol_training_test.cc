// Runs every task under every protocol's model and loader, on small random data of the task's own
// form: it trains, evaluates as many examples as the protocol scores, and the checkpoint read back
// gives the same predictions. (What the switches compute is tested in models/ and datasets/.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "eval/run_record.h"
#include "inspect/evaluate.h"
#include "lra/config.h"
#include "lra/folder_test_util.h"
#include "tests/random_task_request.h"
#include "train/trainer.h"

namespace lra {
namespace {

class ProtocolTrainingTest : public testing::TestWithParam<std::string> {
 protected:
  void Run(const std::string& protocol, const std::vector<std::string>& sets) {
    SCOPED_TRACE(protocol);
    const TrainRequest request = RandomTaskRequest(GetParam(), protocol, sets, folder_, protocol);
    const auto record = TrainRun(request);
    ASSERT_TRUE(record.ok()) << record.status();
    EXPECT_TRUE(CheckPredictions(request.runtime.out_dir(), *record).ok());
    const SplitResult* test = FindResult(*record, "test");
    ASSERT_NE(test, nullptr);
    const int all = GetParam() == "pathfinder32" ? 6 : 10;
    const bool drop_last = request.resolved.config.evaluation().drop_last();
    EXPECT_EQ(test->examples(), drop_last ? all / kRandomTaskBatch * kRandomTaskBatch : all);

    EvaluateRequest evaluate;
    evaluate.checkpoint = request.runtime.out_dir();
    evaluate.data_dir = request.runtime.data_dir();
    evaluate.split = "test";
    evaluate.quiet = true;
    const auto evaluation = EvaluateCheckpoint(evaluate);
    ASSERT_TRUE(evaluation.ok()) << evaluation.status();
    EXPECT_EQ(evaluation->record.results(0).predictions_sha256(), test->predictions_sha256());
  }

  const TestFolder folder_;
};

TEST_P(ProtocolTrainingTest, TrainsUnderEveryProtocol) {
  WriteRandomTask(GetParam(), folder_.File("data"));
  int protocols = 0;
  for (const std::string& protocol : ConfigNames("protocols")) {
    if (LoadFragment("protocols", protocol)->task().count(GetParam()) == 0) continue;
    Run(protocol, {});
    ++protocols;
  }
  EXPECT_GE(protocols, 4);
}

TEST_P(ProtocolTrainingTest, TrainsWithBatchNormsBehindTheBlocks) {
  WriteRandomTask(GetParam(), folder_.File("data"));
  Run("lra2020", {"model.norm=BATCH", "model.norm_placement=AFTER"});
}

// Where padding counts, a batch in parts is padded as a whole, so losses are equal up to rounding.
TEST(AccumulationTest, PartsKeepThePaddingThatCounts) {
  const TestFolder folder;
  WriteRandomTask("retrieval", folder.File("data"));
  for (const std::string set : {"model.pooling=MEAN_OF_ALL", "model.mask=NO_MASK"}) {
    std::vector<RunRecord> records;
    for (const int micro_batch : {0, 1}) {
      TrainRequest request = RandomTaskRequest(
          "retrieval", "fair", {set, "train.log_every_steps=1", "model.dropout=0.1"}, folder,
          absl::StrCat(set, micro_batch));
      request.runtime.set_micro_batch_examples(micro_batch);
      const auto record = TrainRun(request);
      ASSERT_TRUE(record.ok()) << record.status();
      records.push_back(*record);
    }
    ASSERT_EQ(records[0].curve_size(), records[1].curve_size());
    for (int i = 0; i < records[0].curve_size(); ++i) {
      EXPECT_NEAR(records[0].curve(i).train_loss(), records[1].curve(i).train_loss(), 1e-4) << set;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tasks, ProtocolTrainingTest,
                         testing::Values("listops", "text", "retrieval", "image", "pathfinder32"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace lra
