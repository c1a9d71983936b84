#include "train/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "datasets/data_test_util.h"
#include "eval/run_record.h"
#include "lra/fingerprint.h"
#include "lra/folder_test_util.h"
#include "models/base/parameters.h"
#include "run_folder/checkpoint.h"

namespace lra {
namespace {

using testing::HasSubstr;

TrainChoice Plain() {
  TrainChoice choice;
  choice.experiment.task = "listops";
  choice.experiment.attention = "linear";
  return choice;
}

std::vector<TrainRequest> Make(const TrainChoice& choice) {
  auto requests = MakeTrainRequests(choice);
  EXPECT_TRUE(requests.ok()) << requests.status();
  return requests.ok() ? *std::move(requests) : std::vector<TrainRequest>(1);
}

TEST(MakeTrainRequestsTest, DefaultsOfOneRun) {
  unsetenv("LRA_DATA");
  TrainChoice choice = Plain();
  choice.resume = true;
  choice.command_line = "lra train";
  choice.runtime.set_threads(3);
  const std::vector<TrainRequest> requests = Make(choice);
  ASSERT_EQ(requests.size(), 1u);
  const TrainRequest& request = requests.front();
  EXPECT_EQ(request.runtime.data_dir(), "data/listops");
  EXPECT_EQ(request.runtime.out_dir(), "runs/listops-linear-small-s0");
  EXPECT_EQ(request.runtime.threads(), 3);
  EXPECT_TRUE(request.resume);
  EXPECT_EQ(request.command_line, "lra train");
  EXPECT_EQ(request.resolved.provenance.at("seed"), "default");
  EXPECT_EQ(request.make_classifier, &CreateClassifier);
}

TEST(MakeTrainRequestsTest, ARequestASeedInAFolderOfItsOwn) {
  TrainChoice choice = Plain();
  choice.seeds = "0-1,7";
  choice.runtime.set_data_dir("here");
  std::vector<std::string> folders;
  for (const TrainRequest& request : Make(choice)) {
    folders.push_back(request.runtime.out_dir());
    EXPECT_EQ(request.runtime.data_dir(), "here");
    EXPECT_EQ(request.resolved.provenance.at("seed"), "--seeds");
  }
  EXPECT_EQ(folders, (std::vector<std::string>{"runs/listops-linear-small-s0",
                                               "runs/listops-linear-small-s1",
                                               "runs/listops-linear-small-s7"}));
  choice.runtime.set_out_dir("mine");
  EXPECT_EQ(Make(choice)[2].runtime.out_dir(), "mine-s7");
  EXPECT_EQ(Make(choice)[2].resolved.config.seed(), 7u);
  choice.seeds = "7";  // the folder is the one run's
  EXPECT_EQ(Make(choice)[0].runtime.out_dir(), "mine");
  choice.seeds = "7-";
  EXPECT_THAT(std::string(MakeTrainRequests(choice).status().message()), HasSubstr("--seeds"));
}

TEST(MakeTrainRequestsTest, ASeedThatOthersReplaceIsRefused) {
  TrainChoice choice = Plain();
  choice.experiment.sets.push_back("seed=5");
  EXPECT_EQ(Make(choice)[0].resolved.config.seed(), 5u);
  choice.seeds = "0";
  EXPECT_THAT(std::string(MakeTrainRequests(choice).status().message()),
              HasSubstr("--set seed=5 changes nothing: --seeds"));
}

// The page's commands come one after the other, and each is resumed in its own folder.
TEST(MakeTrainRequestsTest, OptionsHaveFoldersOfTheirOwn) {
  TrainChoice a = Plain(), b = Plain();
  a.experiment.attention = b.experiment.attention = "factorized";
  a.experiment.sets = {"attention.options.reweighting=NO_REWEIGHTING"};
  b.experiment.sets = {"attention.options.scale=LEARNED"};
  EXPECT_NE(Make(a)[0].runtime.out_dir(), Make(b)[0].runtime.out_dir());
  b.resume = true;
  const std::string folder = Make(b)[0].runtime.out_dir();
  b.resume = false;
  EXPECT_EQ(Make(b)[0].runtime.out_dir(), folder);
}

TEST(MakeTrainRequestsTest, OtherDataHasFoldersOfItsOwn) {
  const TestFolder folder;
  const std::string own = folder.File("listops"), copy = folder.File("copy");
  const std::string other = folder.File("other");
  const TaskSpec spec = SmallSpec();
  WriteTestData(own, spec, {{"train", RandomExamples(spec, 5, 1)}});
  WriteTestData(copy, spec, {{"train", RandomExamples(spec, 5, 1)}});
  WriteTestData(other, spec, {{"train", RandomExamples(spec, 5, 2)}});
  setenv("LRA_DATA", folder.path().c_str(), 1);
  const auto folder_with = [](const std::string& data, const std::string& seeds) {
    TrainChoice choice = Plain();
    choice.runtime.set_data_dir(data);
    choice.seeds = seeds;
    return Make(choice).back().runtime.out_dir();
  };
  // The task's own folder, however it is spelt, and one without data, which training refuses.
  EXPECT_EQ(folder_with("", ""), "runs/listops-linear-small-s0");
  EXPECT_EQ(folder_with(own, ""), "runs/listops-linear-small-s0");
  EXPECT_EQ(folder_with(copy + "/../listops/", ""), "runs/listops-linear-small-s0");
  EXPECT_EQ(folder_with(folder.File("nothing"), ""), "runs/listops-linear-small-s0");
  const std::string with_copy = folder_with(copy, "");
  EXPECT_THAT(with_copy, testing::MatchesRegex("runs/listops-linear-small-data-[0-9a-f]{8}-s0"));
  EXPECT_EQ(folder_with(copy, ""), with_copy);  // found again by --resume
  EXPECT_NE(folder_with(other, ""), with_copy);
  EXPECT_THAT(folder_with(other, "3-4"), testing::EndsWith("-s4"));
  EXPECT_EQ("runs/listops-linear-small" + DataInName("listops", copy) + "-s0", with_copy);
  for (const std::string& none : {std::string(), own, folder.File("nothing")})
    EXPECT_EQ(DataInName("listops", none), "") << none;
  // What a record of such a run says of the data.
  const ExperimentConfig config = Make(Plain())[0].resolved.config;
  const auto train_split = [&](const std::string& data) {
    return DataOfRun(config, data).split_fingerprint().at("train");
  };
  EXPECT_EQ(train_split(""), train_split(copy));
  EXPECT_NE(train_split(""), train_split(other));
  EXPECT_TRUE(DataOfRun(config, folder.File("nothing")).split_fingerprint().empty());
  unsetenv("LRA_DATA");
}

TEST(CheckRunDirectoryTest, AFolderThatHoldsARunIsForResumeOnly) {
  const TestFolder folder;
  TrainRequest request;
  request.runtime.set_out_dir(folder.path());
  EXPECT_TRUE(CheckRunDirectory(request).ok());
  ASSERT_TRUE(WriteFileAtomically(folder.File(kRecordFile), "").ok());
  EXPECT_EQ(CheckRunDirectory(request).code(), absl::StatusCode::kAlreadyExists);
  request.resume = true;
  EXPECT_TRUE(CheckRunDirectory(request).ok());
}

// Listings would take the folder for one run, and pass over those below it.
TEST(CheckRunDirectoryTest, AFolderOfRunsIsNoRunsFolder) {
  const TestFolder folder;
  TrainRequest request;
  request.runtime.set_out_dir(folder.path());
  ASSERT_TRUE(WriteFileAtomically(folder.File("notes.txt"), "").ok());
  ASSERT_TRUE(MakeDirectories(folder.File("logs/old")).ok());
  EXPECT_TRUE(CheckRunDirectory(request).ok());
  const std::string below = folder.File("linear/seed-0");
  ASSERT_TRUE(MakeDirectories(below).ok());
  ASSERT_TRUE(WriteFileAtomically(JoinPath(below, kRecordFile), "").ok());
  for (const bool resume : {false, true}) {  // there is nothing here to go on with
    request.resume = resume;
    const absl::Status refused = CheckRunDirectory(request);
    EXPECT_EQ(refused.code(), absl::StatusCode::kAlreadyExists);
    EXPECT_THAT(
        std::string(refused.message()),
        testing::AllOf(HasSubstr(below), HasSubstr(absl::StrCat("--out ", folder.File("NAME")))));
  }
  // A run's own folder, and what lies below it, as evaluations do.
  request.runtime.set_out_dir(below);
  ASSERT_TRUE(MakeDirectories(JoinPath(below, "evaluations/test")).ok());
  ASSERT_TRUE(WriteFileAtomically(JoinPath(below, "evaluations/test/record.textproto"), "").ok());
  EXPECT_TRUE(CheckRunDirectory(request).ok());
  // Inside a run nobody would find another.
  request.runtime.set_out_dir(JoinPath(below, "deeper/mine"));
  EXPECT_THAT(std::string(CheckRunDirectory(request).message()),
              HasSubstr("deeper/mine lies in the folder of a run, "));
  // A path that is not there yet, as people name it.
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(below);
  request.runtime.set_out_dir("mine/deeper");
  EXPECT_FALSE(CheckRunDirectory(request).ok());
  std::filesystem::current_path(before);
  // One that stopped before its first checkpoint.
  request.runtime.set_out_dir(folder.File("cosformer"));
  ASSERT_TRUE(MakeDirectories(folder.File("cosformer")).ok());
  ASSERT_TRUE(WriteFileAtomically(folder.File("cosformer/curve.jsonl"), "").ok());
  EXPECT_TRUE(CheckRunDirectory(request).ok());
}

TEST(MakeTrainRequestsTest, WhatIsStartedFromMustBeThere) {
  TrainChoice choice = Plain();
  choice.from = "no/such/run";
  EXPECT_THAT(std::string(MakeTrainRequests(choice).status().message()),
              HasSubstr("no/such/run: no such checkpoint or run folder"));
  choice.init_from = "another";
  EXPECT_THAT(std::string(MakeTrainRequests(choice).status().message()),
              HasSubstr("--from no/such/run and --init-from another: --from takes a whole model"));
}

// The digest is a part of the name and of the fingerprint, where the weights lie is not.
TEST(MakeTrainRequestsTest, AnEncoderIsNamedByItsDigest) {
  const TestFolder folder;
  std::vector<std::string> names;
  for (const char* run : {"here", "there"}) {
    ParameterStore parameters(3);
    parameters.Create("embedding.token.weight", {1}, Initializer::Normal(1));
    CheckpointState state;
    ASSERT_TRUE(SaveCheckpoint(folder.File(run), parameters, {}, &state).ok());
    TrainChoice choice = Plain();
    choice.init_from = folder.File(run);
    const TrainRequest request = Make(choice)[0];
    EXPECT_EQ(request.resolved.config.encoder_weights_sha256(), state.weights_sha256());
    EXPECT_EQ(request.start_checkpoint, CheckpointPath(folder.File(run), 0));
    EXPECT_THAT(request.resolved.provenance.at("encoder_weights_sha256"),
                testing::StartsWith("--init-from "));
    names.push_back(request.runtime.out_dir());
    choice.experiment.sets = {"encoder_weights_sha256=0123"};
    EXPECT_THAT(std::string(MakeTrainRequests(choice).status().message()),
                HasSubstr("encoder_weights_sha256 is 0123"));
    choice.experiment.sets = {"pretrain.objective=CAUSAL", "pretrain.examples=8",
                              "pretrain.learning_rate=1e-3"};
    EXPECT_THAT(std::string(MakeTrainRequests(choice).status().message()),
                HasSubstr("pretraining starts from initial weights; leave out --init-from"));
  }
  EXPECT_EQ(names[0], names[1]);
  EXPECT_NE(names[0], Make(Plain())[0].runtime.out_dir());
}

// Seeds with encoders of their own are one cell: names, too, differ in the seed alone.
TEST(MakeTrainRequestsTest, EachSeedStartsFromItsOwnEncoder) {
  const TestFolder folder;
  TrainChoice choice = Plain();
  const std::vector<TrainRequest> plain = Make(choice);
  for (const uint32_t seed : {1, 2}) {
    ParameterStore parameters(seed);
    parameters.Create("embedding.token.weight", {1}, Initializer::Normal(1));
    CheckpointState state;
    *state.mutable_config() = plain[0].resolved.config;
    state.mutable_config()->set_seed(seed);
    const std::string run = folder.File(absl::StrCat("linear-s", seed));
    ASSERT_TRUE(SaveCheckpoint(run, parameters, {}, &state).ok());
  }
  const std::string step = "/checkpoint/step-0";
  choice.init_from = folder.File("{attention}-s{seed}") + step;
  choice.seeds = "1-2";
  const std::vector<TrainRequest> both = Make(choice);
  ASSERT_EQ(both.size(), 2u);
  const ExperimentConfig &one = both[0].resolved.config, &two = both[1].resolved.config;
  EXPECT_NE(one.encoder_weights_sha256(), two.encoder_weights_sha256());
  EXPECT_EQ(both[1].start_checkpoint, CheckpointPath(folder.File("linear-s2"), 0));
  EXPECT_EQ(one.encoder_recipe(), two.encoder_recipe());
  EXPECT_EQ(CellFingerprint(one), CellFingerprint(two));
  EXPECT_EQ(both[0].resolved.provenance.at("encoder_recipe"), "--init-from " + choice.init_from);
  std::string name = both[0].runtime.out_dir();
  ASSERT_EQ(name.substr(name.size() - 3), "-s1");
  EXPECT_EQ(both[1].runtime.out_dir(), name.replace(name.size() - 3, 3, "-s2"));
  choice.seeds = "1-3";
  EXPECT_THAT(std::string(MakeTrainRequests(choice).status().message()),
              HasSubstr("linear-s3" + step + ": no such checkpoint or run folder"));
  choice.init_from = folder.File("{attention}") + step;
  EXPECT_THAT(std::string(MakeTrainRequests(choice).status().message()),
              HasSubstr("it has {attention} and no {seed}"));
  std::swap(choice.from, choice.init_from);
  choice.from = folder.File("linear-s{seed}") + step;
  EXPECT_THAT(std::string(MakeTrainRequests(choice).status().message()),
              HasSubstr("linear-s{seed}" + step + ": no such checkpoint or run folder"));
}

// A suite's workers find the recipe among their settings.
TEST(MakeTrainRequestsTest, ARecipeIsThatOfTheEncoder) {
  const TestFolder folder;
  TrainChoice choice = Plain();
  ParameterStore parameters(3);
  parameters.Create("embedding.token.weight", {1}, Initializer::Normal(1));
  CheckpointState state;
  ASSERT_TRUE(SaveCheckpoint(folder.File("s0"), parameters, {}, &state).ok());
  choice.init_from = folder.File("s{seed}/checkpoint/step-0");
  const std::string recipe = Make(choice)[0].resolved.config.encoder_recipe();
  choice.experiment.sets = {"encoder_recipe=" + recipe};
  EXPECT_EQ(Make(choice)[0].resolved.config.encoder_recipe(), recipe);
  choice.experiment.sets = {"encoder_recipe=0123"};
  EXPECT_THAT(std::string(MakeTrainRequests(choice).status().message()),
              HasSubstr(": it was made by recipe " + recipe + ", encoder_recipe is 0123"));
  choice.init_from = folder.File("s0");
  EXPECT_THAT(std::string(MakeTrainRequests(choice).status().message()),
              HasSubstr("encoder_recipe is set, which says how encoders were made that seeds"));
  choice.experiment.sets.clear();
  EXPECT_FALSE(Make(choice)[0].resolved.config.has_encoder_recipe());
}

}  // namespace
}  // namespace lra
