#include "train/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "eval/run_record.h"
#include "lra/folder_test_util.h"

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

TEST(MakeTrainRequestsTest, WhatIsStartedFromMustBeThere) {
  TrainChoice choice = Plain();
  choice.from = "no/such/run";
  EXPECT_THAT(std::string(MakeTrainRequests(choice).status().message()),
              HasSubstr("no/such/run: no such checkpoint or run folder"));
}

}  // namespace
}  // namespace lra
