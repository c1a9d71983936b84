// Every task under every protocol's model and loader, on small random data in the task's own form:
// trains, evaluates as many examples as the protocol scores, and the checkpoint read back gives the
// same predictions. (What the switches compute: models/, datasets/.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "datasets/test_data.h"
#include "eval/run_record.h"
#include "lra/config.h"
#include "lra/test_folder.h"
#include "tasks/task.h"
#include "train/evaluate.h"
#include "train/trainer.h"

namespace lra {
namespace {

constexpr int kBatch = 4;

// Half of an image is black; texts are byte literals, as those of pairs are.
std::vector<uint16_t> RandomTokens(const TaskSpec& spec, RandomStream* random) {
  std::vector<uint16_t> tokens;
  if (spec.image_side_pixels() > 0) {
    tokens.resize(spec.max_length_tokens());
    for (uint16_t& pixel : tokens) {
      const auto value = static_cast<int>(random->Between(-255, 255));
      pixel = static_cast<uint16_t>(std::max(0, value));
    }
    return tokens;
  }
  const bool is_text = spec.content() == TaskSpec::TEXT;
  if (is_text) tokens = {'b', '\''};
  for (int64_t left = random->Between(1, 60); left > 0; --left) {
    const int highest = is_text ? 'z' : spec.vocabulary_size() - 1;
    tokens.push_back(static_cast<uint16_t>(random->Between(is_text ? 'a' : 1, highest)));
  }
  if (is_text) tokens.push_back('\'');
  return tokens;
}

std::vector<EncodedExample> Examples(const TaskSpec& spec, int64_t count, uint32_t seed) {
  RandomStream random(seed, RandomDomain::kTest, {1, 0, 0});
  std::vector<EncodedExample> examples(count);
  for (int64_t i = 0; i < count; ++i) {
    examples[i].tokens = RandomTokens(spec, &random);
    if (spec.is_pair()) examples[i].tokens_b = RandomTokens(spec, &random);
    examples[i].label = static_cast<int32_t>(i % spec.classes());
  }
  return examples;
}

// Sixty examples where a task has one stored split (tests are six of them), else sixty and ten.
void WriteData(const std::string& task_name, const std::string& directory) {
  const auto task =
      TaskRegistry::Get().Create("task", task_name, LoadTaskFile(task_name)->options());
  ASSERT_TRUE(task.ok()) << task.status();
  std::vector<TestSplit> splits;
  for (const SplitSize& split : (*task)->Splits()) {
    const bool is_large = split.name == "train" || split.name == "all";
    splits.push_back({split.name, Examples((*task)->Spec(), is_large ? 60 : 10,
                                           static_cast<uint32_t>(splits.size()))});
  }
  WriteTestData(directory, (*task)->Spec(), splits);
}

absl::StatusOr<ResolvedConfig> Resolve(const std::string& task, const std::string& protocol,
                                       std::vector<std::string> sets) {
  ConfigBuilder builder(task);
  LRA_RETURN_IF_ERROR(builder.AddProtocol(protocol));
  LRA_RETURN_IF_ERROR(builder.AddPreset("smoke"));
  LRA_RETURN_IF_ERROR(builder.AddAttention("transformer"));
  if (task == "text" || task == "retrieval" || task == "listops") {
    sets.insert(sets.end(), {"view.max_length_tokens=48"});
  }
  sets.insert(sets.end(),
              {"train.steps=3", absl::StrCat("train.batch_examples=", kBatch),
               "train.eval_every_steps=3", "train.log_every_steps=3", "schedule.kind=CONSTANT",
               "schedule.learning_rate=1e-3", "evaluation.selection=LAST"});
  for (const std::string& set : sets) LRA_RETURN_IF_ERROR(builder.Set(set));
  return builder.Build();
}

class ProtocolTrainingTest : public testing::TestWithParam<std::string> {
 protected:
  void Run(const std::string& protocol, const std::vector<std::string>& sets) {
    SCOPED_TRACE(protocol);
    const auto resolved = Resolve(GetParam(), protocol, sets);
    ASSERT_TRUE(resolved.ok()) << resolved.status();
    TrainRequest request;
    request.resolved = *resolved;
    request.runtime.set_quiet(true);
    request.runtime.set_threads(1);
    request.runtime.set_data_dir(folder_.File("data"));
    request.runtime.set_out_dir(folder_.File(protocol));
    const auto record = TrainRun(request);
    ASSERT_TRUE(record.ok()) << record.status();
    EXPECT_TRUE(CheckPredictions(request.runtime.out_dir(), *record).ok());
    const SplitResult* test = FindResult(*record, "test");
    ASSERT_NE(test, nullptr);
    const int all = GetParam() == "pathfinder32" ? 6 : 10;
    const bool drop_last = resolved->config.evaluation().drop_last();
    EXPECT_EQ(test->examples(), drop_last ? all / kBatch * kBatch : all);

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
  WriteData(GetParam(), folder_.File("data"));
  int protocols = 0;
  for (const std::string& protocol : ConfigNames("protocols")) {
    if (LoadFragment("protocols", protocol)->task().count(GetParam()) == 0) continue;
    Run(protocol, {});
    ++protocols;
  }
  EXPECT_GE(protocols, 4);
}

TEST_P(ProtocolTrainingTest, TrainsWithBatchNormsBehindTheBlocks) {
  WriteData(GetParam(), folder_.File("data"));
  Run("lra2020", {"model.norm=BATCH", "model.norm_placement=AFTER"});
}

// A batch in parts is padded as a whole where padding counts: same losses up to rounding.
TEST(AccumulationTest, PartsKeepThePaddingThatCounts) {
  const TestFolder folder;
  WriteData("retrieval", folder.File("data"));
  for (const std::string set : {"model.pooling=MEAN_OF_ALL", "model.mask=NO_MASK"}) {
    const auto resolved =
        Resolve("retrieval", "fair", {set, "train.log_every_steps=1", "model.dropout=0.1"});
    ASSERT_TRUE(resolved.ok()) << resolved.status();
    std::vector<RunRecord> records;
    for (const int micro_batch : {0, 1}) {
      TrainRequest request;
      request.resolved = *resolved;
      request.runtime.set_quiet(true);
      request.runtime.set_threads(1);
      request.runtime.set_micro_batch_examples(micro_batch);
      request.runtime.set_data_dir(folder.File("data"));
      request.runtime.set_out_dir(folder.File(absl::StrCat(set, micro_batch)));
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
