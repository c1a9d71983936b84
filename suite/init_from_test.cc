#include "suite/init_from.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "lra/folder_test_util.h"
#include "run_folder/checkpoint.h"
#include "suite/cells.h"
#include "suite/own_encoders.h"
#include "suite/pool.h"

namespace lra {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

constexpr char kAsks[] = "encoder_weights_sha256={init-from}";

// A checkpoint of a single number; returns the digest of its weights.
std::string MakeCheckpoint(const std::string& run) {
  ParameterStore parameters(3);
  parameters.Create("embedding.token.weight", {1}, Initializer::Normal(1));
  CheckpointState state;
  EXPECT_TRUE(SaveCheckpoint(run, parameters, {}, &state).ok());
  return state.weights_sha256();
}

// Softmax and ReLU, from scratch and from an encoder.
SuiteFile Suite() {
  SuiteFile suite;
  SuiteGroup& group = *suite.add_group();
  group.add_task("listops");
  group.add_attention("transformer");
  group.add_attention("relu");
  group.set_preset("smoke");
  SuiteFactor& factor = *group.add_factor();
  factor.set_name("start");
  factor.add_level()->set_name("initial weights");
  factor.add_level()->set_name("encoder");
  factor.mutable_level(1)->add_set(kAsks);
  return suite;
}

std::string Message(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

TEST(SetInitFrom, NamesTheWeightsWhereTheyAreAskedForAndNowhereElse) {
  const TestFolder folder;
  const std::string run = folder.File("run"), digest = MakeCheckpoint(run);
  SuiteFile suite = Suite();
  ASSERT_EQ(SetInitFrom(run, &suite), absl::OkStatus());
  EXPECT_EQ(suite.group(0).factor(0).level(1).set(0), "encoder_weights_sha256=" + digest);
  EXPECT_EQ(suite.init_from(), CheckpointPath(run, 0));
  const std::vector<SuiteCell> cells = *ExpandSuite(suite);
  ASSERT_EQ(cells.size(), 4u);
  int starting = 0;
  for (const SuiteCell& cell : cells) {
    const std::vector<std::string> words = TrainCommand("lra", "out", cell, 1, {});
    if (cell.config.has_encoder_weights_sha256()) {
      ++starting;
      EXPECT_EQ(cell.config.encoder_weights_sha256(), digest);
      EXPECT_THAT(words, IsSupersetOf({std::string("--init-from"), CheckpointPath(run, 0),
                                       "encoder_weights_sha256=" + digest}));
    } else {
      EXPECT_THAT(words, Not(testing::Contains("--init-from")));
    }
  }
  EXPECT_EQ(starting, 2);
  // An element of a job array reads the suite as it was stored.
  EXPECT_EQ(SetInitFrom("", &suite), absl::OkStatus());
}

TEST(SetInitFrom, AStoredSuiteTakesACopyOfItsWeightsAndNoOthers) {
  const TestFolder folder;
  const std::string run = folder.File("run"), copy = folder.File("copy");
  const std::string digest = MakeCheckpoint(run);
  ASSERT_EQ(MakeCheckpoint(copy), digest);
  SuiteFile suite = Suite();
  ASSERT_EQ(SetInitFrom(run, &suite), absl::OkStatus());
  ASSERT_EQ(SetInitFrom(copy, &suite), absl::OkStatus());
  EXPECT_EQ(suite.init_from(), CheckpointPath(copy, 0));
  suite.mutable_group(0)->mutable_factor(0)->mutable_level(1)->set_set(0,
                                                                       "encoder_weights_sha256=2b");
  EXPECT_THAT(Message(SetInitFrom(run, &suite)),
              HasSubstr(digest + ", the suite sets encoder_weights_sha256=2b; name a copy"));
}

TEST(SetInitFrom, FindsEverySettingThatAsks) {
  const TestFolder folder;
  const std::string run = folder.File("run"), digest = MakeCheckpoint(run);
  SuiteFile suite;
  SuiteGroup& group = *suite.add_group();
  group.add_set(kAsks);
  group.add_for_task()->add_set(kAsks);
  group.add_cell()->add_set(kAsks);
  group.add_factor()->add_level()->add_set(kAsks);
  SuitePair& pair = *group.add_pair();
  pair.mutable_first()->add_set(kAsks);
  pair.mutable_second()->add_set(kAsks);
  ASSERT_EQ(SetInitFrom(run, &suite), absl::OkStatus());
  EXPECT_THAT(suite.DebugString(), Not(HasSubstr(kInitFrom)));
}

TEST(SetInitFrom, RefusesASuiteWithoutItsRunAndARunWithoutItsSuite) {
  const TestFolder folder;
  const std::string run = folder.File("run");
  MakeCheckpoint(run);
  SuiteFile suite = Suite();
  EXPECT_THAT(Message(SetInitFrom("", &suite)), HasSubstr("name that run with --init-from RUN"));
  EXPECT_EQ(SetInitFrom(folder.File("none"), &suite).code(), absl::StatusCode::kNotFound);
  suite.mutable_group(0)->mutable_factor(0)->mutable_level(1)->set_set(0, "model.dropout=0.2");
  EXPECT_THAT(Message(SetInitFrom(run, &suite)),
              HasSubstr("no run of the suite sets encoder_weights_sha256={init-from}"));
}

TEST(StartAllFrom, PutsTheWeightsIntoTheSettingsOfLists) {
  const TestFolder folder;
  const std::string run = folder.File("run"), digest = MakeCheckpoint(run);
  const auto sets = [](const SuiteFile& suite) { return suite.group(0).set(); };
  SuiteFile suite = Suite();
  TrainChoice choice;
  ASSERT_EQ(StartAllFrom(choice, &suite), absl::OkStatus());
  EXPECT_THAT(sets(suite), testing::IsEmpty());
  suite.mutable_group(0)->clear_factor();
  choice.from = run;
  ASSERT_EQ(StartAllFrom(choice, &suite), absl::OkStatus());
  EXPECT_THAT(sets(suite), testing::ElementsAre("start_weights_sha256=" + digest));
  suite.mutable_group(0)->clear_set();
  choice.init_from = run;
  EXPECT_THAT(Message(StartAllFrom(choice, &suite)), HasSubstr("leave one of them out"));
  choice.from.clear();
  ASSERT_EQ(StartAllFrom(choice, &suite), absl::OkStatus());
  EXPECT_THAT(sets(suite), testing::ElementsAre("encoder_weights_sha256=" + digest));
}

}  // namespace
}  // namespace lra
