// What `lra export` writes and refuses, without Python; tests/export_test.py compares the logits.
#include "inspect/export_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "inspect/exported_files.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "models/interface/attention.h"
#include "models/interface/block.h"
#include "tests/random_task_request.h"
#include "train/trainer.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using Json = nlohmann::json;

class ExportModelTest : public testing::Test {
 protected:
  // A run of two steps, with checkpoints of both.
  void Train(const std::string& task, const std::vector<std::string>& sets = {},
             const std::string& attention = "transformer") {
    WriteRandomTask(task, folder_.File("data"));
    std::vector<std::string> all = {"train.steps=2", "train.eval_every_steps=1"};
    all.insert(all.end(), sets.begin(), sets.end());
    TrainRequest request = RandomTaskRequest(task, "fair", all, folder_, "run", attention);
    request.runtime.set_keep_checkpoints(2);
    ASSERT_TRUE(TrainRun(request).ok());
  }
  ModelExportRequest Request(const std::string& checkpoint = "selected") const {
    return {folder_.File("run"), checkpoint, folder_.File("out-" + checkpoint)};
  }
  Json Config(const std::string& checkpoint = "selected") const {
    return Json::parse(*ReadFile(folder_.File("out-" + checkpoint + "/config.json")));
  }

  const TestFolder folder_;
};

// A plug-in need not be among them: it is refused by name.
TEST(ExportedNamesTest, AreRegistered) {
  EXPECT_THAT(AttentionRegistry::Get().Names(), IsSupersetOf(ExportedNames("attention")));
  EXPECT_THAT(BlockRegistry::Get().Names(), IsSupersetOf(ExportedNames("block")));
  EXPECT_THAT(ExportedNames("attention"), IsSupersetOf({"transformer", "cosformer", "s4d"}));
  EXPECT_THAT(ExportedNames("block"), IsSupersetOf({"attention_mlp", "mixer"}));
}

TEST(CheckIsExportedTest, NamesWhatThereIs) {
  ExperimentConfig config;
  config.mutable_block()->set_name("attention_mlp");
  config.mutable_attention()->set_name("linear");
  EXPECT_TRUE(CheckIsExported(config).ok());
  config.mutable_attention()->set_name("taylor");
  EXPECT_EQ(CheckIsExported(config).code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(CheckIsExported(config).message()),
              HasSubstr("attention.name: is \"taylor\", which the PyTorch file does not have; it "
                        "has transformer, local, "));
  config.mutable_block()->set_name("average");
  EXPECT_THAT(std::string(CheckIsExported(config).message()),
              HasSubstr("block.name: is \"average\", which the PyTorch file does not have; it has "
                        "attention_mlp, mixer, "));
  config.mutable_block()->set_name("gated_attention");
  config.mutable_attention()->set_name("none");
  EXPECT_TRUE(CheckIsExported(config).ok());
}

TEST_F(ExportModelTest, WritesTheRunsOwnWeightsAndWhatTheModelNeeds) {
  Train("listops", {"model.pooling=CLS", "view.pad_to=POWER_OF_TWO", "view.max_length_tokens=50"},
        "cosformer");
  const auto exported = ExportPyTorch(Request());
  ASSERT_TRUE(exported.ok()) << exported.status();
  EXPECT_THAT(exported->files, ElementsAre("weights.safetensors", "config.json", "model.py"));
  EXPECT_EQ(*ReadFile(folder_.File("out-selected/weights.safetensors")),
            *ReadFile(JoinPath(exported->checkpoint, "weights.safetensors")));
  EXPECT_EQ(*ReadFile(folder_.File("out-selected/model.py")), kModelPy);
  EXPECT_FALSE(exported->computes_otherwise);
  const Json config = Config();
  EXPECT_EQ(config["step"], exported->step);
  EXPECT_EQ(config["longest_tokens"], 65);  // 50, rounded up, and CLS
  EXPECT_EQ(config["pad_to_tokens"], 64);
  EXPECT_EQ(config["padding_matters"], false);
  EXPECT_EQ(config["zero_is_padding"], false);
  EXPECT_EQ(config["task"]["classes"], 10);
  EXPECT_EQ(config["task"]["vocabulary_size"], 16);
  EXPECT_EQ(config["task"]["is_pair"], false);
  EXPECT_EQ(config["task"]["token_names"][15], "]");
  EXPECT_EQ(config["attention"]["name"], "cosformer");
  EXPECT_EQ(config["attention"]["causal"], false);
  EXPECT_EQ(config["attention"]["options"]["scale"], "FIXED");
  EXPECT_FALSE(config["attention"]["options"].contains("@type"));
  EXPECT_EQ(config["block"]["name"], "attention_mlp");
  EXPECT_TRUE(config["block"]["options"].is_object());
  EXPECT_EQ(config["model"]["pooled_norm"], "NO_POOLED_NORM");
}

TEST_F(ExportModelTest, SaysWherePaddingMatters) {
  Train("listops", {"model.mask=NO_MASK"});
  ASSERT_TRUE(ExportPyTorch(Request()).ok());
  EXPECT_EQ(Config()["padding_matters"], true);
  EXPECT_EQ(Config()["pad_to_tokens"], 0);
}

TEST_F(ExportModelTest, ImagesAndPairsKeepTheirForm) {
  Train("image", {"view.pixels=REAL"});
  ASSERT_TRUE(ExportPyTorch(Request()).ok());
  const Json task = Config()["task"];
  EXPECT_EQ(task["is_real"], true);
  EXPECT_EQ(task["image_side_pixels"], 32);
  EXPECT_EQ(Config()["pad_to_tokens"], 0);
}

// Fields that are younger than a run are at the values that stand for what was done before.
TEST(ExportedConfigTest, FillsLegacyValues) {
  ExperimentConfig config;
  config.mutable_view()->set_max_length_tokens(8);
  config.mutable_model()->set_layers(1);
  config.mutable_attention()->set_name("transformer");
  const Json json = Json::parse(ExportedConfig(config, TaskSpec(), {.step = 3}));
  EXPECT_EQ(json["block"]["name"], "attention_mlp");
  EXPECT_EQ(json["model"]["stem_tokens"], 0);
  EXPECT_EQ(json["model"]["attention_filter_tokens"], 0);
  EXPECT_EQ(json["attention"]["causal"], false);
  EXPECT_EQ(json["longest_tokens"], 8);
  EXPECT_EQ(json["step"], 3);
}

TEST_F(ExportModelTest, ChoosesCheckpoints) {
  Train("listops");
  for (const auto& [checkpoint, step] : {std::pair{"step-1", 1}, {"step-2", 2}, {"last", 2}}) {
    const auto exported = ExportPyTorch(Request(checkpoint));
    ASSERT_TRUE(exported.ok()) << exported.status();
    EXPECT_EQ(exported->step, step);
    EXPECT_EQ(Config(checkpoint)["step"], step);
  }
  for (const char* wrong : {"step-7", "best", "step-"}) {
    const absl::Status status = ExportPyTorch(Request(wrong)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("must be selected, last or step-1, step-2"));
  }
  // Not over what is there already.
  EXPECT_FALSE(ExportPyTorch(Request("last")).ok());
  ModelExportRequest lone = Request("last");
  lone.run = folder_.File("out-last/weights.safetensors");
  lone.out_dir = folder_.File("lone");
  EXPECT_THAT(std::string(ExportPyTorch(lone).status().message()), HasSubstr("is no run's folder"));
  lone.checkpoint = "selected";
  EXPECT_TRUE(ExportPyTorch(lone).ok());
}

TEST_F(ExportModelTest, RefusesDamagedWeights) {
  Train("listops");
  const std::string weights = folder_.File("run/checkpoint/step-2/weights.safetensors");
  std::string bytes = *ReadFile(weights);
  bytes.back() ^= 1;
  ASSERT_TRUE(WriteFileAtomically(weights, bytes).ok());
  EXPECT_EQ(ExportPyTorch(Request("last")).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_FALSE(FileExists(folder_.File("out-last")));
}

}  // namespace
}  // namespace lra
