#include "run_folder/checkpoint.h"

#include <ATen/ops/rand.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "models/base/safetensors.h"
#include "run_folder/checkpoint_metadata.h"

namespace lra {
namespace {

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() : run_(folder_.File("run")), store_(7) {
    MakeStore(&store_);
    moments_ = {{"exp_avg/a.weight", at::rand({3, 5})}, {"step/a.weight", at::rand({})}};
  }
  static void MakeStore(ParameterStore* store) {
    store->Create("a.weight", {3, 5}, Initializer::XavierUniform());
    store->Create("a.bias", {3}, Initializer::Zeros());
    store->CreateBuffer("a.projection", {2, 4}, Initializer::Normal(1));
  }
  void Save(int64_t step) {
    state_.set_step(step);
    const absl::Status status = SaveCheckpoint(run_, store_, moments_, &state_);
    ASSERT_TRUE(status.ok()) << status;
  }
  static void FlipByte(const std::string& path, int64_t offset) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(offset);
    const char byte = static_cast<char>(file.get());
    file.seekp(offset);
    file.put(static_cast<char>(byte ^ 1));
  }

  const TestFolder folder_;
  std::string run_;
  ParameterStore store_;
  NamedTensors moments_;
  CheckpointState state_;
};

TEST_F(CheckpointTest, RoundTrip) {
  Save(5);
  const std::string latest = *LatestCheckpoint(run_);
  EXPECT_EQ(latest, CheckpointPath(run_, 5));
  const CheckpointState state = *LoadCheckpointState(latest);
  EXPECT_EQ(state.step(), 5);
  ParameterStore other(8);
  MakeStore(&other);
  EXPECT_FALSE(other.parameters()[0].value.equal(store_.parameters()[0].value));
  ASSERT_TRUE(LoadWeights(latest, state, other).ok());
  EXPECT_TRUE(other.parameters()[0].value.equal(store_.parameters()[0].value));
  EXPECT_TRUE(other.buffers()[0].value.equal(store_.buffers()[0].value));
  NamedTensors moments;
  const auto restore = [&](const NamedTensors& stored) {
    moments = stored;
    return absl::OkStatus();
  };
  ASSERT_TRUE(LoadOptimizer(latest, state, restore).ok());
  ASSERT_EQ(moments.size(), 2u);
  for (size_t i = 0; i < moments.size(); ++i) {
    EXPECT_EQ(moments[i].first, moments_[i].first);
    EXPECT_TRUE(moments[i].second.equal(moments_[i].second));
  }
}

TEST_F(CheckpointTest, WhatAnOptimizerRefusesIsToldWithTheFile) {
  Save(5);
  const std::string latest = *LatestCheckpoint(run_);
  const absl::Status status =
      LoadOptimizer(latest, *LoadCheckpointState(latest),
                    [](const NamedTensors&) { return absl::DataLossError("no such moment"); });
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(status.message().find("optimizer.safetensors"), absl::string_view::npos) << status;
}

// A run is stopped while a step is validated, then resumed and validated.
TEST_F(CheckpointTest, TheValidatedStepReplacesTheOneThatWasNot) {
  state_.mutable_unvalidated()->set_step(5);
  Save(5);
  EXPECT_TRUE(LoadCheckpointState(CheckpointPath(run_, 5))->has_unvalidated());
  state_.clear_unvalidated();
  state_.set_best_validation(0.5);
  Save(5);
  const CheckpointState state = *LoadCheckpointState(*LatestCheckpoint(run_));
  EXPECT_FALSE(state.has_unvalidated());
  EXPECT_EQ(state.best_validation(), 0.5);
  EXPECT_TRUE(LoadWeights(CheckpointPath(run_, 5), state, store_).ok());
  EXPECT_EQ(CheckpointSteps(run_), std::vector<int64_t>{5});
}

// Checkpoints were written so while accuracy was the only metric.
TEST_F(CheckpointTest, AnEarlierCheckpointOpensInTheFormOfToday) {
  state_.set_best_validation_accuracy(0.5);
  state_.add_curve()->set_train_accuracy(0.25);
  state_.mutable_curve(0)->set_validation_accuracy(0.5);
  Save(5);
  const CheckpointState state = *LoadCheckpointState(CheckpointPath(run_, 5));
  EXPECT_EQ(state.best_validation(), 0.5);
  EXPECT_EQ(state.best_validation_accuracy(), 0);
  EXPECT_EQ(state.curve(0).train().at("accuracy"), 0.25);
  EXPECT_EQ(state.curve(0).validation().at("accuracy"), 0.5);
  EXPECT_FALSE(state.curve(0).has_validation_accuracy());
}

TEST_F(CheckpointTest, PruneKeepsTheNamedStepsOnly) {
  Save(5), Save(10), Save(15);
  std::filesystem::create_directories(run_ + "/checkpoint/step-20.tmp-1-1");
  EXPECT_EQ(CheckpointSteps(run_), (std::vector<int64_t>{5, 10, 15}));
  // What a user keeps there is none of the program's.
  std::filesystem::create_directories(run_ + "/checkpoint/before-my-change");
  PruneCheckpoints(run_, {5, 15});
  EXPECT_TRUE(FileExists(run_ + "/checkpoint/before-my-change"));
  EXPECT_TRUE(FileExists(CheckpointPath(run_, 5)));
  EXPECT_FALSE(FileExists(CheckpointPath(run_, 10)));
  EXPECT_TRUE(FileExists(CheckpointPath(run_, 15)));
  EXPECT_FALSE(FileExists(run_ + "/checkpoint/step-20.tmp-1-1"));
  EXPECT_EQ(*LatestCheckpoint(run_), CheckpointPath(run_, 15));
}

// The newest checkpoint is removed, as the message about a damaged one advises.
TEST_F(CheckpointTest, WithoutTheNewestTheOneBeforeItIsTheLatest) {
  Save(5), Save(10), Save(15);
  std::filesystem::remove_all(CheckpointPath(run_, 15));
  EXPECT_EQ(*LatestCheckpoint(run_), CheckpointPath(run_, 10));
  std::filesystem::remove_all(CheckpointPath(run_, 10));
  std::filesystem::remove_all(CheckpointPath(run_, 5));
  EXPECT_EQ(LatestCheckpoint(run_).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(CheckpointTest, EveryFlippedByteIsRefusedByName) {
  Save(5);
  const std::string path = CheckpointPath(run_, 5);
  for (const char* file : {"weights.safetensors", "optimizer.safetensors", "state.textproto"}) {
    const std::string damaged = path + "/" + file;
    for (const int64_t offset :
         {int64_t{0}, *FileSizeBytes(damaged) / 2, *FileSizeBytes(damaged) - 2}) {
      FlipByte(damaged, offset);
      const auto state = LoadCheckpointState(path);
      absl::Status status = state.status();
      if (status.ok()) status = LoadWeights(path, *state, store_);
      const auto take_all = [](const NamedTensors&) { return absl::OkStatus(); };
      if (status.ok()) status = LoadOptimizer(path, *state, take_all);
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss)
          << file << " byte " << offset << ": " << status;
      EXPECT_NE(status.message().find(file), absl::string_view::npos) << status;
      FlipByte(damaged, offset);
    }
  }
  EXPECT_TRUE(LoadWeights(path, *LoadCheckpointState(path), store_).ok());
}

// Nothing stands beside a lone file that could say what its bytes were.
TEST_F(CheckpointTest, AFlippedByteOfALoneFileIsRefusedWithBothDigests) {
  Save(5);
  const std::string path = run_ + "/lone.safetensors";
  std::filesystem::copy(CheckpointPath(run_, 5) + "/weights.safetensors", path);
  const auto state = LoadCheckpointState(path);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->step(), 5);
  EXPECT_TRUE(LoadWeights(path, *state, store_).ok());
  const SafetensorsFile file = *ReadSafetensors(path);
  const std::string written = file.metadata.at("lra.tensors_sha256");
  const std::string bytes = *ReadFile(path);
  // The tensors have 3 * 5, 3 and 2 * 4 floats: the last 104 bytes.
  EXPECT_EQ(written, Sha256Hex(absl::string_view(bytes).substr(bytes.size() - 104)));
  FlipByte(path, *FileSizeBytes(path) - 50);
  const absl::Status damaged = LoadCheckpointState(path).status();
  EXPECT_EQ(damaged.code(), absl::StatusCode::kDataLoss);
  const std::string flipped =
      Sha256Hex(absl::string_view(*ReadFile(path)).substr(bytes.size() - 104));
  EXPECT_THAT(std::string(damaged.message()),
              testing::AllOf(testing::HasSubstr(path), testing::HasSubstr("is " + flipped),
                             testing::HasSubstr("says " + written)));
  EXPECT_NE(flipped, written);
}

TEST_F(CheckpointTest, ALoneFileWithoutADigestIsOlderAndOpens) {
  state_.set_step(5);
  state_.set_format_version(1);
  std::filesystem::create_directories(run_);
  const std::string path = run_ + "/lone.safetensors";
  const auto written = WriteSafetensors(path, {{"a.weight", store_.parameters()[0].value.detach()}},
                                        CheckpointMetadata(state_));
  ASSERT_TRUE(written.ok()) << written.status();
  const auto state = LoadCheckpointState(path);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->weights_sha256(), *written);
}

TEST_F(CheckpointTest, NoCheckpointIsNotFoundAndABadPointerIsDataLoss) {
  EXPECT_EQ(LatestCheckpoint(run_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(CheckpointSteps(run_).empty());
  Save(5);
  ASSERT_TRUE(WriteFileAtomically(run_ + "/checkpoint/latest", "../../etc\n").ok());
  EXPECT_EQ(LatestCheckpoint(run_).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(CheckpointTest, OtherShapesAreRefused) {
  Save(5);
  ParameterStore other(7);
  other.Create("a.weight", {3, 6}, Initializer::XavierUniform());
  const absl::Status status =
      LoadWeights(CheckpointPath(run_, 5), *LoadCheckpointState(CheckpointPath(run_, 5)), other);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(status.message().find("a.weight"), absl::string_view::npos) << status;
}

}  // namespace
}  // namespace lra
