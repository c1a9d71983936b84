// Pins what a step of training asks of a device, for every attention: tests/data/device_steps.tsv.
// The fake device counts. LRA_WRITE_GOLDEN=1 writes the table.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "eval/run_record.h"
#include "lra/golden_test_util.h"
#include "lra/status_error.h"
#include "models/attention_names.h"
#include "models/base/fake_device.h"
#include "run_folder/divergence.h"
#include "run_folder/run_folder.h"
#include "tests/objective_gradients.h"
#include "tests/random_task_request.h"
#include "tests/training_fixture.h"
#include "tests/wrapped_classifier.h"
#include "train/label_objective.h"
#include "train/shared_gradient.h"
#include "train/trainer.h"

namespace lra {
namespace {

// "-", or "mm 2, nonzero".
std::string Text(const CallCounts& counts) {
  if (counts.empty()) return "-";
  return absl::StrJoin(counts, ", ", [](std::string* out, const auto& count) {
    absl::StrAppend(out, count.first);
    if (count.second > 1) absl::StrAppend(out, " ", count.second);
  });
}

// A model whose loss is not finite in step kBad. It notes its statistics as they were before it.
class FailingClassifier : public WrappedClassifier {
 public:
  using WrappedClassifier::WrappedClassifier;
  static constexpr uint32_t kBad = 12;  // eight more are under way on a device
  static inline bool throws = false;    // an error from outside instead
  static inline std::vector<at::Tensor> statistics, before;

  at::Tensor Forward(const HostBatch& batch, const ForwardContext& context) const override {
    if (!context.training || context.step != kBad)
      return WrappedClassifier::Forward(batch, context);
    statistics.clear(), before.clear();
    for (const Parameter& buffer : parameters().buffers()) {
      if (!buffer.is_statistic) continue;
      statistics.push_back(buffer.value);
      before.push_back(buffer.value.detach().cpu().clone());
    }
    const at::Tensor logits = WrappedClassifier::Forward(batch, context);
    if (throws) throw StatusError(absl::AbortedError("the attention of somebody else fails"));
    return logits * INFINITY;
  }
};

class DeviceStepTest : public TrainerTest {
 protected:
  void SetUp() override { FakeDevice(); }  // before the first backward

  // Gradient and update of one batch whose examples differ in length; nothing is measured for a
  // curve. A step before made what is made once.
  static FakeDeviceWork WorkOfStep(TrainRequest request) {
    request.runtime.set_device("fake");
    const auto run = OpenRun(request);
    EXPECT_TRUE(run.ok()) << run.status();
    const LabelObjective objective(**run);
    const HostBatch batch = FirstExamples((*run)->train, 8);
    FakeDeviceWork work;
    for (const uint32_t step : {0, 1}) {
      TakeFakeDeviceWork();
      (*run)->optimizer->ZeroGradients();
      auto added = objective.AddGradient(batch, 0, {.training = true, .step = step});
      EXPECT_TRUE(added.ok()) << added.status();
      const at::Tensor norm = (*run)->optimizer->StepOnDevice(
          objective.MakeSchedule(step).At(step, 0), added->on_device.select(0, 0));
      work = TakeFakeDeviceWork();
      added->Read();
      EXPECT_TRUE(std::isfinite(added->loss_sum) && added->loss_sum > 0);
      EXPECT_TRUE(std::isfinite(norm.item<double>()));
    }
    return work;
  }

  static void ExpectNoWaiting(const FakeDeviceWork& work) {
    EXPECT_EQ(Total(work.uploads), 1) << Text(work.uploads);
    EXPECT_EQ(Total(work.host_reads), 0) << Text(work.host_reads);
  }

  static RunRecord Train(const std::string& name, const std::string& device,
                         const std::vector<std::string>& sets) {
    TrainRequest request = Request(name, "transformer", sets);
    request.runtime.set_device(device);
    const auto record = TrainRun(request);
    if (record.ok()) return *record;
    return *ReadRunRecord(request.runtime.out_dir());  // of a run that diverged
  }
};

TEST_F(DeviceStepTest, AsksOfADeviceWhatTheTableSays) {
  const std::string known = ReadFile(LRA_DEVICE_STEPS).value_or("");
  const bool is_written = std::getenv("LRA_WRITE_GOLDEN") != nullptr;
  std::string table = "attention\toperators\tuploads\thost reads\n";
  for (const std::string& attention : AttentionNames()) {
    SCOPED_TRACE(attention);
    const FakeDeviceWork work = WorkOfStep(Request(attention, attention, {"model.layers=2"}));
    ExpectNoWaiting(work);
    // A new attention need not have a line.
    if (!is_written && !absl::StrContains(known, absl::StrCat("\n", attention, "\t"))) continue;
    absl::StrAppend(&table, attention, "\t", Total(work.operators), "\t", Text(work.uploads), "\t",
                    Text(work.host_reads), "\n");
  }
  ExpectGolden(LRA_DEVICE_STEPS, table);
}

TEST_F(DeviceStepTest, OptionsOfTheEncoderAskForNoAnswers) {
  for (const std::string set :
       {"model.norm=BATCH", "model.pooled_norm=OVER_EXAMPLES", "model.pooling=MAX",
        "model.pooling=QUERY", "model.positions=ROTARY", "model.positions=ALIBI",
        "model.stem_tokens=3", "model.attention_filter_tokens=3", "optimizer.average_decay=0.9"}) {
    SCOPED_TRACE(set);
    ExpectNoWaiting(WorkOfStep(Request(set, "transformer", {"model.layers=2", set})));
  }
}

// How many chunks there are in each bucket only the device knows.
TEST_F(DeviceStepTest, TheCausalReformerAsksForNoAnswers) {
  ExpectNoWaiting(
      WorkOfStep(Request("causal", "reformer", {"model.layers=2", "attention.causal=true"})));
}

TEST_F(DeviceStepTest, BothTextsOfPairsGoTogether) {
  const TestFolder folder;
  WriteRandomTask("retrieval", folder.File("data"));
  ExpectNoWaiting(WorkOfStep(RandomTaskRequest("retrieval", "fair", {}, folder, "run", "linear")));
}

// Between curve points nobody waits for the device; the curve is the host's nevertheless.
TEST_F(DeviceStepTest, TrainsAsTheHostDoes) {
  const std::vector<std::string> sets = {"train.steps=26", "train.log_every_steps=13",
                                         "train.eval_every_steps=26"};
  const RunRecord host = Train("host", "cpu", sets), device = Train("device", "fake", sets);
  ASSERT_EQ(host.curve_size(), 2);
  ASSERT_EQ(device.curve_size(), 2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_NEAR(host.curve(i).train_loss(), device.curve(i).train_loss(), 1e-4);
    EXPECT_NEAR(host.curve(i).gradient_norm(), device.curve(i).gradient_norm(), 1e-3);
  }
}

// Though later steps are under way when the host hears of it.
TEST_F(DeviceStepTest, AFailureIsThatOfItsStep) {
  const RunRecord record =
      Train("diverges", "fake",
            {"train.steps=200", "schedule.learning_rate=1000", "schedule.warmup_fraction=0",
             "schedule.kind=CONSTANT", "optimizer.clip_norm=0", "optimizer.weight_decay=10",
             "train.log_every_steps=100", "train.eval_every_steps=100"});
  ASSERT_EQ(record.failure().kind(), RunFailure::DIVERGED);
  EXPECT_GT(record.failure().last_loss_size(), 0);
  for (const double loss : record.failure().last_loss()) EXPECT_TRUE(std::isfinite(loss));
  const auto left = ReadRunFolder(*folder_ + "/diverges");
  ASSERT_TRUE(left.ok()) << left.status();
  EXPECT_EQ(left->step(), record.failure().step());
}

// Nor are running statistics those of the step that failed, or of later ones that were under way.
TEST_F(DeviceStepTest, AFailureLeavesTheStatisticsOfBefore) {
  for (const std::string device : {"cpu", "fake"}) {
    for (const bool throws : {false, true}) {
      const std::string name = absl::StrCat("statistics-", device, throws);
      SCOPED_TRACE(name);
      TrainRequest request =
          Request(name, "transformer",
                  {"train.steps=30", "train.log_every_steps=30", "train.eval_every_steps=30",
                   "model.norm=BATCH", "model.pooled_norm=OVER_EXAMPLES"});
      request.runtime.set_device(device);
      request.make_classifier = MakeWrapped<FailingClassifier>;
      FailingClassifier::throws = throws;
      const absl::Status status = TrainRun(request).status();
      EXPECT_EQ(HasDiverged(status), !throws) << status;
      EXPECT_EQ(ReadRunFolder(*folder_ + "/" + name)->step(), FailingClassifier::kBad);
      // Means and variances: two norms of the layer, the last one, and that of what is pooled.
      ASSERT_EQ(FailingClassifier::before.size(), 8u);
      for (size_t i = 0; i < FailingClassifier::before.size(); ++i) {
        const at::Tensor& was = FailingClassifier::before[i];
        EXPECT_TRUE(FailingClassifier::statistics[i].cpu().equal(was)) << i;
        const auto at_first = static_cast<int64_t>(i % 2);
        EXPECT_FALSE(was.eq(at_first).all().item<bool>()) << i << " has learned nothing";
      }
    }
  }
}

// The whole gradient at once, not a parameter after the other.
TEST_F(DeviceStepTest, ASharedGradientIsOneCopyEachWay) {
  TrainRequest request = Request("shared", "linear", {"model.layers=1"});
  request.runtime.set_device("fake");
  const auto run = OpenRun(request);
  ASSERT_TRUE(run.ok()) << run.status();
  const LabelObjective objective(**run);
  SharedGradient gradient(objective, (*run)->ranks.get(), /*is_exact=*/true);
  const HostBatch batch = FirstExamples((*run)->train, 2);  // two shards
  FakeDeviceWork work;
  for (const uint32_t step : {0, 1}) {  // the first made what is made once
    TakeFakeDeviceWork();
    ASSERT_TRUE(gradient.Add(batch, 0, {.training = true, .step = step}, false).ok());
    work = TakeFakeDeviceWork();
  }
  const std::string whole = absl::StrCat("Float [", objective.parameters().count(), "]");
  EXPECT_EQ(work.host_reads["copy of " + whole], 2) << Text(work.host_reads);
  EXPECT_EQ(work.uploads[whole], 1) << Text(work.uploads);
  // Beside them each shard's batch goes there, and what it guessed comes back.
  EXPECT_EQ(Total(work.uploads), 3) << Text(work.uploads);
  EXPECT_EQ(Total(work.host_reads), 4) << Text(work.host_reads);
}

}  // namespace
}  // namespace lra
