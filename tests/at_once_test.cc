// Seeds of a cell side by side in one process: each does what it does alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "eval/run_record.h"
#include "lra/files.h"
#include "models/base/fake_device.h"
#include "run_folder/checkpoint.h"
#include "run_folder/divergence.h"
#include "run_folder/run_folder.h"
#include "tests/training_fixture.h"
#include "train/series.h"
#include "train/trainer.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class AtOnceTest : public TrainerTest {
 protected:
  void SetUp() override { FakeDevice(); }  // before the first backward

  static TrainRequest Seed(const std::string& folder, uint32_t seed,
                           const std::vector<std::string>& more = {}) {
    std::vector<std::string> sets = {"train.steps=12", "train.log_every_steps=3",
                                     "train.eval_every_steps=6", "model.dropout=0.2",
                                     "seed=" + std::to_string(seed)};
    sets.insert(sets.end(), more.begin(), more.end());
    return Request(folder + "/s" + std::to_string(seed), "cosformer", sets);
  }
  static std::vector<TrainRequest> Seeds(const std::string& folder, int count) {
    std::vector<TrainRequest> all;
    for (int seed = 0; seed < count; ++seed) all.push_back(Seed(folder, seed));
    return all;
  }
  static absl::Status Ignore(const TrainRequest&, const RunRecord&) { return absl::OkStatus(); }

  // Weights, curve and predictions, bit for bit.
  static void ExpectSame(const std::string& a, const std::string& b) {
    const std::string one = *folder_ + "/" + a, other = *folder_ + "/" + b;
    const auto record = ReadRunRecord(one), expected = ReadRunRecord(other);
    ASSERT_TRUE(record.ok()) << record.status();
    ASSERT_TRUE(expected.ok()) << expected.status();
    EXPECT_TRUE(EqualExceptVolatile(*record, *expected)) << a;
    for (const char* file :
         {"predictions.npy", "predictions-validation.npy", "curve.jsonl",
          "checkpoint/step-12/weights.safetensors", "checkpoint/step-12/optimizer.safetensors"})
      EXPECT_EQ(*ReadFile(one + "/" + file), *ReadFile(other + "/" + file)) << a << " " << file;
  }
};

TEST_F(AtOnceTest, EachSeedIsWhatItIsAlone) {
  std::vector<uint32_t> order;
  const auto done = [&](const TrainRequest&, const RunRecord& record) {
    order.push_back(record.seed());
    return absl::OkStatus();
  };
  ASSERT_TRUE(TrainSeries(Seeds("alone", 5), done).ok());
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4));
  order.clear();
  ASSERT_TRUE(TrainAtOnce(Seeds("together", 5), 3, done).ok());
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4));
  for (int seed = 0; seed < 5; ++seed) {
    const std::string name = "/s" + std::to_string(seed);
    ExpectSame("together" + name, "alone" + name);
    const Efficiency efficiency = ReadRunRecord(*folder_ + "/together" + name)->efficiency();
    EXPECT_EQ(efficiency.runs_at_once(), 3);
    EXPECT_FALSE(efficiency.has_joules());
    EXPECT_FALSE(efficiency.has_cpu_seconds());
    const Efficiency alone = ReadRunRecord(*folder_ + "/alone" + name)->efficiency();
    EXPECT_EQ(alone.runs_at_once(), 0);
    EXPECT_TRUE(alone.has_cpu_seconds());
  }
}

// A step of each in turn: the first checkpoint of the last seed is older than the end of the first.
TEST_F(AtOnceTest, TheyTrainSideBySide) {
  std::vector<TrainRequest> requests = Seeds("turns", 3);
  for (TrainRequest& request : requests) request.runtime.set_checkpoint_every_steps(1);
  int ended = 0;
  const auto done = [&](const TrainRequest&, const RunRecord&) {
    if (ended++ == 0) {
      for (const TrainRequest& request : requests) {
        const auto left = ReadRunFolder(request.runtime.out_dir());
        EXPECT_TRUE(left.ok()) << left.status();
        EXPECT_GE(left->step(), 11) << request.runtime.out_dir();
      }
    }
    return absl::OkStatus();
  };
  ASSERT_TRUE(TrainAtOnce(requests, 3, done).ok());
  EXPECT_EQ(ended, 3);
}

TEST_F(AtOnceTest, OneThatDivergesLeavesTheOthersAlone) {
  std::vector<TrainRequest> requests = Seeds("diverges", 4);
  requests[1].make_classifier = [](const ExperimentConfig& config, const TaskSpec& spec) {
    auto model = CreateClassifier(config, spec);
    if (model.ok())
      (*model)->parameters().parameters()[0].value.detach().fill_(
          std::numeric_limits<float>::quiet_NaN());
    return model;
  };
  const absl::Status status = TrainAtOnce(requests, 4, &Ignore);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("1 of 4 runs diverged"));
  EXPECT_TRUE(ReadRunRecord(*folder_ + "/diverges/s1")->has_failure());
  ASSERT_TRUE(TrainSeries(Seeds("healthy", 4), &Ignore).ok());
  for (const int seed : {0, 2, 3}) {
    const std::string name = "/s" + std::to_string(seed);
    ExpectSame("diverges" + name, "healthy" + name);
  }
}

TEST_F(AtOnceTest, OneThatFailsLeavesThoseThatHaveBegunAlone) {
  std::vector<TrainRequest> requests = Seeds("fails", 4);
  requests[1].runtime.set_data_dir(*folder_ + "/nothing");
  std::vector<uint32_t> ended;
  const absl::Status status =
      TrainAtOnce(requests, 2, [&](const TrainRequest&, const RunRecord& record) {
        ended.push_back(record.seed());
        return absl::OkStatus();
      });
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  EXPECT_THAT(ended, ElementsAre(0)) << "what would fail as well is not begun";
}

// In pieces, each of which ends as if it was killed: what was saved goes on, side by side again.
TEST_F(AtOnceTest, ResumesWhereItWas) {
  ASSERT_TRUE(TrainSeries(Seeds("whole", 3), &Ignore).ok());
  std::vector<TrainRequest> requests = Seeds("pieces", 3);
  for (TrainRequest& request : requests) {
    request.runtime.set_checkpoint_every_steps(2);
    request.runtime.set_keep_checkpoints(9);
  }
  ASSERT_TRUE(TrainAtOnce(requests, 3, &Ignore).ok());
  // Back to where each was at different steps.
  const int64_t reached[] = {4, 10, 6};
  for (int seed = 0; seed < 3; ++seed) {
    const std::string run = requests[seed].runtime.out_dir();
    for (const char* file : {"record.textproto", "record.json"})
      std::filesystem::remove(run + "/" + file);
    for (const int64_t step : CheckpointSteps(run)) {
      if (step > reached[seed]) std::filesystem::remove_all(CheckpointPath(run, step));
    }
    ASSERT_TRUE(WriteFileAtomically(run + "/checkpoint/latest",
                                    "step-" + std::to_string(reached[seed]) + "\n")
                    .ok());
    requests[seed].resume = true;
  }
  ASSERT_TRUE(TrainAtOnce(requests, 3, &Ignore).ok());
  for (int seed = 0; seed < 3; ++seed) {
    const std::string name = "/s" + std::to_string(seed);
    ExpectSame("pieces" + name, "whole" + name);
    EXPECT_EQ(ReadRunRecord(*folder_ + "/pieces" + name)->efficiency().resumes(), 1);
  }
}

TEST_F(AtOnceTest, StagesBeforeLabelsTakeTurnsToo) {
  const std::vector<std::string> sets = {"pretrain.objective=MASKED", "pretrain.examples=32",
                                         "pretrain.masked_fraction=0.3",
                                         "pretrain.learning_rate=5e-3", "pretrain.until=NOTHING"};
  const auto seeds = [&](const std::string& folder) {
    return std::vector<TrainRequest>{Seed(folder, 0, sets), Seed(folder, 1, sets)};
  };
  ASSERT_TRUE(TrainSeries(seeds("pre-alone"), &Ignore).ok());
  ASSERT_TRUE(TrainAtOnce(seeds("pre-together"), 2, &Ignore).ok());
  for (const char* name : {"/s0", "/s1"})
    ExpectSame("pre-together" + std::string(name), "pre-alone" + std::string(name));
}

// On a device each has a stream of its own; the stand-in finds work that does not wait for another
// stream where it must (models/base/fake_streams.h).
TEST_F(AtOnceTest, StreamsDoNotMeetOnADevice) {
  for (const char* graphs : {"off", "on"}) {
    std::vector<TrainRequest> requests = Seeds(std::string("device-") + graphs, 3);
    for (TrainRequest& request : requests) {
      request.runtime.set_device("fake");
      request.graphs = graphs;
    }
    ASSERT_TRUE(TrainAtOnce(requests, 3, &Ignore).ok());
    TrainRequest alone = Seed(std::string("device-alone-") + graphs, 1);
    alone.runtime.set_device("fake");
    alone.graphs = graphs;
    ASSERT_TRUE(TrainRun(alone).ok());
    ExpectSame(std::string("device-") + graphs + "/s1",
               std::string("device-alone-") + graphs + "/s1");
  }
}

}  // namespace
}  // namespace lra
