// Looks at a trained model on another device than the CPU, with what they show on the CPU beside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "datasets/npy_test_util.h"
#include "inspect/attention_maps.h"
#include "inspect/evaluate.h"
#include "inspect/model_facts.h"
#include "inspect/perturbed.h"
#include "lra/folder_test_util.h"
#include "models/base/fake_device.h"
#include "tests/random_task_request.h"
#include "train/trainer.h"

namespace lra {
namespace {

using testing::HasSubstr;

// Largest difference of logits or weights: both devices compute on the host, with other operators.
constexpr double kTolerance = 1e-5;

class LookDeviceTest : public testing::Test {
 protected:
  // The device must be there before the first backward.
  static void SetUpTestSuite() { FakeDevice(); }

  void Train(const std::string& task, const std::string& attention,
             std::vector<std::string> sets = {}) {
    WriteRandomTask(task, folder_.File("data"));
    sets.insert(sets.end(), {"train.steps=1", "train.eval_every_steps=1"});
    const TrainRequest request = RandomTaskRequest(task, "fair", sets, folder_, "run", attention);
    ASSERT_TRUE(TrainRun(request).ok());
  }
  void Fill(const std::string& device, LookRequest* request) const {
    request->checkpoint = folder_.File("run");
    request->device = device;
    request->split = "validation";
    request->quiet = true;
  }
  void ExpectEqualFiles(const std::string& a, const std::string& b) const {
    const auto first = ReadNpyFloat(folder_.File(a)), second = ReadNpyFloat(folder_.File(b));
    ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
    ASSERT_EQ(first->shape, second->shape);
    for (size_t i = 0; i < first->values.size(); ++i)
      ASSERT_NEAR(first->values[i], second->values[i], kTolerance) << i;
  }

  // Whether the device computed since the last call.
  static bool DeviceWorked() { return Total(TakeFakeDeviceWork().operators) > 0; }

  const TestFolder folder_;
};

TEST_F(LookDeviceTest, EvaluatesTheSameLogits) {
  Train("listops", "cosformer");
  for (const std::string device : {"cpu", "fake"}) {
    EvaluateRequest request;
    Fill(device, &request);
    request.out_dir = folder_.File(device);
    const auto evaluation = EvaluateCheckpoint(request);
    ASSERT_TRUE(evaluation.ok()) << evaluation.status();
    EXPECT_EQ(DeviceWorked(), device == "fake");
  }
  ExpectEqualFiles("cpu/predictions.npy", "fake/predictions.npy");
}

TEST_F(LookDeviceTest, DrawsTheSameMaps) {
  Train("listops", "cosformer");
  for (const std::string device : {"cpu", "fake"}) {
    AttendRequest request;
    Fill(device, &request);
    request.out_dir = folder_.File(device);
    request.examples = 2;
    const auto attended = AttendCheckpoint(request);
    ASSERT_TRUE(attended.ok()) << attended.status();
    EXPECT_EQ(DeviceWorked(), device == "fake");
  }
  ExpectEqualFiles("cpu/all-mean.npy", "fake/all-mean.npy");
  ExpectEqualFiles("cpu/all-reweighting.npy", "fake/all-reweighting.npy");
}

TEST_F(LookDeviceTest, PerturbsTheSameInputs) {
  Train("image", "linear");
  std::vector<ProfileTable> tables;
  for (const std::string device : {"cpu", "fake"}) {
    PerturbedRequest request;
    Fill(device, &request);
    const auto scores = ScorePerturbed(request);
    ASSERT_TRUE(scores.ok()) << scores.status();
    EXPECT_EQ(DeviceWorked(), device == "fake");
    tables.push_back(PerturbedTable(*scores));
  }
  ASSERT_GT(tables[0].rows.size(), 1u);
  ASSERT_EQ(tables[0].rows.size(), tables[1].rows.size());
  for (size_t i = 0; i < tables[0].rows.size(); ++i)
    EXPECT_EQ(tables[0].rows[i].value, tables[1].rows[i].value) << tables[0].rows[i].name;
}

TEST_F(LookDeviceTest, TheDoctorFindsTheSameFacts) {
  Train("listops", "linear");
  std::vector<ModelFacts> facts;
  for (const std::string device : {"cpu", "fake"}) {
    const auto found = LookAtModel(
        {.path = folder_.File("run"), .data_dir = folder_.File("data"), .device = device});
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(DeviceWorked(), device == "fake");
    facts.push_back(*found);
  }
  EXPECT_TRUE(facts[1].has_finite_logits);
  EXPECT_EQ(facts[0].change, facts[1].change);
  ASSERT_TRUE(facts[0].order_effect && facts[1].order_effect);
  EXPECT_NEAR(*facts[0].order_effect, *facts[1].order_effect, 1e-3);
}

// A model that has no positions is found out where single examples are padded, too: what is
// reordered are tokens.
TEST_F(LookDeviceTest, TheDoctorLeavesPaddingWhereItIs) {
  Train("listops", "linear", {"model.positions=NO_POSITIONS", "view.pad_to=MAX_LENGTH"});
  const auto facts =
      LookAtModel({.path = folder_.File("run"), .data_dir = folder_.File("data"), .device = "cpu"});
  ASSERT_TRUE(facts.ok()) << facts.status();
  ASSERT_TRUE(facts->order_effect.has_value());
  EXPECT_LT(*facts->order_effect, 2e-5);  // docs/diagnosis.md
}

TEST_F(LookDeviceTest, ADeviceThatIsNotThereIsNamed) {
  Train("listops", "linear");
  EvaluateRequest request;
  Fill("tpu", &request);
  EXPECT_THAT(std::string(EvaluateCheckpoint(request).status().message()),
              HasSubstr("--device: is \"tpu\", must be cpu, cuda, cuda:NUMBER or fake"));
}

}  // namespace
}  // namespace lra
