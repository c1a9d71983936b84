#include "suite/own_encoders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lra/experiment.h"
#include "lra/fingerprint.h"
#include "lra/folder_test_util.h"
#include "run_folder/checkpoint.h"
#include "suite/init_from.h"
#include "suite/pool.h"

namespace lra {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

// Softmax and ReLU, two seeds, and one of ReLU from initial weights.
SuiteFile StartingSuite() {
  SuiteFile suite;
  SuiteGroup& group = *suite.add_group();
  group.add_task("listops");
  group.add_attention("transformer");
  group.add_attention("relu");
  group.set_seeds("0-1");
  group.set_preset("smoke");
  group.add_set(absl::StrCat("encoder_weights_sha256=", kInitFrom));
  SuiteGroup& scratch = *suite.add_group();
  scratch.add_task("listops");
  scratch.add_attention("relu");
  scratch.set_preset("smoke");
  return suite;
}

class OwnEncoders : public testing::Test {
 protected:
  // A checkpoint of a single number, of a run of the attention and seed; returns its digest.
  std::string Encoder(const std::string& attention, uint32_t seed) {
    ParameterStore parameters(seed + 10 * attention.size());
    parameters.Create("embedding.token.weight", {1}, Initializer::Normal(1));
    CheckpointState state;
    *state.mutable_config() =
        ResolveExperiment({"listops", attention, "", "smoke", "", {}})->config;
    state.mutable_config()->set_seed(seed);
    const std::string run = folder_.File(absl::StrCat(attention, "-s", seed));
    EXPECT_TRUE(SaveCheckpoint(run, parameters, {}, &state).ok());
    return state.weights_sha256();
  }

  void EncodeAll() {
    for (const char* attention : {"transformer", "relu"})
      for (const uint32_t seed : {0, 1})
        digests_[absl::StrCat(attention, "-s", seed)] = Encoder(attention, seed);
  }

  std::string Path() const { return folder_.File("{attention}-s{seed}/checkpoint/step-0"); }

  static std::string Message(const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  }

  const TestFolder folder_;
  std::map<std::string, std::string> digests_;
};

TEST_F(OwnEncoders, EachRunStartsFromTheOneOfItsAttentionAndSeed) {
  EncodeAll();
  SuiteFile suite = StartingSuite();
  ASSERT_EQ(SetInitFrom(Path(), &suite), absl::OkStatus());
  EXPECT_EQ(suite.encoder_size(), 4);
  const auto cells = ExpandSuite(suite);
  ASSERT_TRUE(cells.ok()) << cells.status();
  ASSERT_EQ(cells->size(), 5u);
  std::set<std::string> names, recipes, fingerprints;
  int starting = 0;
  for (const SuiteCell& cell : *cells) {
    const std::vector<std::string> words = TrainCommand("lra", "out", cell, 1, {});
    if (!cell.config.has_encoder_weights_sha256()) {
      EXPECT_THAT(words, testing::Not(Contains("--init-from")));
      continue;
    }
    ++starting;
    const std::string run = absl::StrCat(MethodOf(cell.config), "-s", cell.seed);
    EXPECT_EQ(cell.config.encoder_weights_sha256(), digests_.at(run));
    EXPECT_EQ(cell.init_from, Path());
    EXPECT_THAT(words, IsSupersetOf({std::string("--init-from"), cell.init_from,
                                     "encoder_weights_sha256=" + digests_.at(run),
                                     "encoder_recipe=" + cell.config.encoder_recipe()}));
    names.insert(CellName(cell));
    recipes.insert(cell.config.encoder_recipe());
    fingerprints.insert(CellFingerprint(cell.config));
  }
  EXPECT_EQ(starting, 4);
  EXPECT_EQ(names.size(), 2u);
  EXPECT_EQ(fingerprints.size(), 2u);  // a cell an attention
  EXPECT_EQ(recipes.size(), 1u);       // each with its own attention: one column
}

TEST_F(OwnEncoders, AStoredSuiteKeepsThemAndTakesCopiesOnly) {
  EncodeAll();
  SuiteFile suite = StartingSuite();
  ASSERT_EQ(SetInitFrom(Path(), &suite), absl::OkStatus());
  const SuiteFile stored = suite;
  EXPECT_EQ(SetInitFrom("", &suite), absl::OkStatus());
  EXPECT_EQ(SetInitFrom(Path(), &suite), absl::OkStatus());
  EXPECT_EQ(suite.DebugString(), stored.DebugString());
  EXPECT_THAT(Message(SetInitFrom(folder_.File("relu-s0"), &suite)),
              HasSubstr("each run of the suite has an encoder of its own"));
  EXPECT_THAT(Message(SetInitFrom(folder_.File("{attention}"), &suite)),
              HasSubstr("it has {attention} and no {seed}"));
  suite.mutable_encoder(0)->set_weights_sha256("2b");
  EXPECT_THAT(Message(SetInitFrom(Path(), &suite)), HasSubstr(", the suite has 2b; name copies"));
  suite.mutable_encoder()->RemoveLast();
  EXPECT_THAT(std::string(ExpandSuite(suite).status().message()),
              HasSubstr("the suite lists encoders, and none for relu, seed 1"));
}

// To one of the runs the encoder has the run's own attention, to the other another one.
TEST_F(OwnEncoders, AreOfOneRecipeForAllRunsOfAnAttention) {
  EncodeAll();
  SuiteFile suite = StartingSuite();
  suite.mutable_group(1)->add_set(absl::StrCat("encoder_weights_sha256=", kInitFrom));
  suite.mutable_group(1)->add_set("attention.causal=true");
  EXPECT_THAT(Message(SetInitFrom(Path(), &suite)),
              HasSubstr("for relu, seed 0: it was made by recipe "));
}

TEST_F(OwnEncoders, AreAllThereAndAskedFor) {
  EncodeAll();
  SuiteFile suite = StartingSuite();
  suite.mutable_group(0)->set_seeds("0-2");
  const absl::Status missing = SetInitFrom(Path(), &suite);
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("transformer-s2"));
  suite = StartingSuite();
  suite.mutable_group(0)->clear_set();
  EXPECT_THAT(Message(SetInitFrom(Path(), &suite)),
              HasSubstr("no run of the suite sets encoder_weights_sha256={init-from}"));
}

}  // namespace
}  // namespace lra
