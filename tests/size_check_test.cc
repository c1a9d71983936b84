// Models that cannot fit are refused before anything of them is allocated.
#include "train/size_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "datasets/manifest.h"
#include "inspect/evaluate.h"
#include "models/base/allocation_meter.h"
#include "models/base/safetensors.h"
#include "run_folder/checkpoint.h"
#include "run_folder/checkpoint_metadata.h"
#include "tests/training_fixture.h"
#include "train/trainable.h"
#include "train/trainer.h"

namespace lra {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class SizeCheckTest : public TrainerTest {};

// What opening the run answers, having allocated next to nothing.
std::string Refusal(const TrainRequest& request) {
  const MeteredScope metered;
  const absl::Status status = OpenRun(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_LT(metered.meter().peak_bytes(), 10'000'000);
  EXPECT_FALSE(std::filesystem::exists(request.runtime.out_dir()));
  return std::string(status.message());
}

// 128 (4 E^2 + 2 E M) weights, four numbers of four bytes each: 106 TB.
TEST_F(SizeCheckTest, AModelBeyondTheMemoryIsRefusedWithBothFigures) {
  const TrainRequest request =
      Request("wide", "linear",
              {"model.width=65536", "model.qkv_width=65536", "model.mlp_width=262144",
               "model.layers=128", "model.head_width=64"});
  EXPECT_THAT(Refusal(request),
              AllOf(HasSubstr("training it takes at least 106 TB"), HasSubstr("and there are "),
                    HasSubstr("model.width 65536"), HasSubstr("--memory-budget 105")));
}

TEST_F(SizeCheckTest, PaddingToAMillionTokensCountsItsActivations) {
  const std::string refusal =
      Refusal(Request("long", "linear",
                      {"view.max_length_tokens=1000000", "view.pad_to=MAX_LENGTH",
                       "model.layers=128", "model.mlp_width=262144", "model.head_width=64"}));
  EXPECT_THAT(refusal, AllOf(HasSubstr("one example of 1,000,000 tokens"), HasSubstr(" TB")));
}

// `lra config` checks what can be trained, and so it makes models: without their memory.
TEST_F(SizeCheckTest, CheckingAConfigurationTakesNoMemory) {
  const TrainRequest request =
      Request("checked", "s4d",
              {"model.width=65536", "model.qkv_width=65536", "model.mlp_width=262144",
               "model.layers=128", "model.head_width=64"});
  const auto data = ReadManifest(request.runtime.data_dir());
  ASSERT_TRUE(data.ok()) << data.status();
  const MeteredScope metered;
  EXPECT_EQ(CheckTrainable(request, *data), absl::OkStatus());
  EXPECT_LT(metered.meter().peak_bytes(), 10'000'000);
}

TEST_F(SizeCheckTest, ABudgetAboveTheNeedOverrides) {
  const auto opened = OpenRun(Request("budget", "linear", {}));
  ASSERT_TRUE(opened.ok()) << opened.status();
  lra::Run& run = **opened;
  EXPECT_TRUE(CheckTrainingFits(run, true).ok());
  ModelConfig& model = *run.request.resolved.config.mutable_model();
  model.set_width(65536);
  model.set_mlp_width(262144);
  model.set_layers(128);
  EXPECT_EQ(CheckTrainingFits(run, true).code(), absl::StatusCode::kInvalidArgument);
  run.request.runtime.set_memory_budget_bytes(int64_t{1} << 60);
  EXPECT_TRUE(CheckTrainingFits(run, true).ok());
}

// The file is of a model of width 32.
TEST_F(SizeCheckTest, AWeightsFileThatClaimsALargerModelIsRefused) {
  const TrainRequest request = Request("claims", "linear", {"train.steps=2"});
  ASSERT_TRUE(TrainRun(request).ok());
  const auto file =
      ReadSafetensors(CheckpointPath(request.runtime.out_dir(), 2) + "/weights.safetensors");
  ASSERT_TRUE(file.ok()) << file.status();
  CheckpointState state = *StateFromMetadata("w", file->metadata);
  state.mutable_config()->mutable_model()->set_width(60000);
  EvaluateRequest evaluate;
  evaluate.checkpoint = *folder_ + "/claims.safetensors";
  evaluate.data_dir = request.runtime.data_dir();
  evaluate.quiet = true;
  ASSERT_TRUE(WriteSafetensors(evaluate.checkpoint, file->tensors, CheckpointMetadata(state)).ok());
  const absl::Status status = EvaluateCheckpoint(evaluate).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("claims.safetensors: has "), HasSubstr("model.width 60000"),
                    HasSubstr(") take "), HasSubstr(" MB; they are not of one model")));
}

}  // namespace
}  // namespace lra
