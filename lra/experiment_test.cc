// On the configurations of the tree.
#include "lra/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "lra/fingerprint.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using testing::HasSubstr;

const ExperimentChoice kPlain = {.task = "listops", .attention = "linear"};

ExperimentChoice With(ExperimentChoice choice, const std::vector<std::string>& sets) {
  choice.sets = sets;
  return choice;
}

ResolvedConfig Resolve(const ExperimentChoice& choice) {
  const auto resolved = ResolveExperiment(choice);
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  return resolved.ok() ? *resolved : ResolvedConfig();
}

std::string Error(const ExperimentChoice& choice) {
  const absl::Status status = ResolveExperiment(choice).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

std::string Name(const ExperimentChoice& choice) { return ExperimentName(Resolve(choice).config); }

class RunFileTest : public testing::Test {
 protected:
  std::string Write(const std::string& text) {
    const std::string path = folder_.File("mine.textproto");
    EXPECT_EQ(WriteFileAtomically(path, text), absl::OkStatus());
    return path;
  }
  const TestFolder folder_;
};

TEST(ResolveExperimentTest, DefaultsAndWhoChose) {
  const ResolvedConfig resolved = Resolve(kPlain);
  EXPECT_EQ(resolved.config.protocol(), "fair@1");
  EXPECT_EQ(resolved.config.preset(), "small");
  EXPECT_EQ(resolved.provenance.at("task"), "--task");
  EXPECT_EQ(resolved.provenance.at("protocol"), "default");
  EXPECT_EQ(resolved.provenance.at("preset"), "default");
}

TEST(ResolveExperimentTest, NamesTellAnEarlierVersionOfAProtocol) {
  ExperimentChoice choice = {.task = "text", .attention = "linear", .protocol = "strong"};
  const std::string present = ExperimentName(Resolve(choice).config);
  EXPECT_EQ(present, "text-linear-small-strong-s0");
  choice.protocol = "strong@1";
  const std::string earlier = ExperimentName(Resolve(choice).config);
  EXPECT_THAT(earlier, testing::MatchesRegex("text-linear-small-strong-[0-9a-f]+-s0"));
}

TEST_F(RunFileTest, FlagsWinOverTheFileAndSetsOverBoth) {
  ExperimentChoice choice = {
      .preset = "smoke",
      .run_file = Write("task: 'text' attention: 'linear' preset: 'lra2020' protocol: 'lra2020' "
                        "overrides { train { steps: 30 log_every_steps: 7 } }"),
      .sets = {"train.steps=40"}};
  const ResolvedConfig resolved = Resolve(choice);
  EXPECT_EQ(resolved.config.task(), "text");
  EXPECT_EQ(resolved.config.attention().name(), "linear");
  EXPECT_EQ(resolved.config.preset(), "smoke");
  EXPECT_THAT(resolved.config.protocol(), HasSubstr("lra2020@"));
  EXPECT_EQ(resolved.config.train().steps(), 40);
  EXPECT_EQ(resolved.config.train().log_every_steps(), 7);
  EXPECT_EQ(resolved.provenance.at("task"), "run file mine");
  EXPECT_EQ(resolved.provenance.at("preset"), "--preset");
  EXPECT_EQ(resolved.provenance.at("train.steps"), "--set");
  EXPECT_EQ(resolved.provenance.at("train.log_every_steps"), "run file mine");
}

TEST_F(RunFileTest, OneOfSeveralAttentionsMustBeChosen) {
  ExperimentChoice choice = {
      .run_file = Write("task: 'listops' attention: 'linear' attention: 'cosformer'")};
  EXPECT_THAT(Error(choice),
              HasSubstr("--attention is needed: run file mine is meant for linear, cosformer"));
  choice.attention = "cosformer";
  EXPECT_EQ(Resolve(choice).config.attention().name(), "cosformer");
}

TEST(ResolveExperimentTest, NamesWhatIsMissingOrUnknown) {
  EXPECT_THAT(Error({.attention = "linear"}),
              HasSubstr("--task is needed; known: bytes_lm, cifar_pixels, copy, image, listops"));
  EXPECT_THAT(Error({.task = "listops"}), HasSubstr("--attention is needed; known: bigbird"));
  EXPECT_THAT(Error({.task = "listop", .attention = "linear"}), HasSubstr("\"listops\""));
  EXPECT_THAT(Error(With(kPlain, {"train.step=3"})), HasSubstr("did you mean \"steps\""));
}

TEST(ExperimentNameTest, PlainRunsAreCalledAsTheyAlwaysWere) {
  EXPECT_EQ(Name(kPlain), "listops-linear-small-s0");
  EXPECT_EQ(Name({.task = "text", .attention = "cosformer", .preset = "smoke", .sets = {"seed=3"}}),
            "text-cosformer-smoke-s3");
  // What is set to the value that it has changes nothing.
  const int64_t steps = Resolve(kPlain).config.train().steps();
  EXPECT_EQ(Name(With(kPlain, {absl::StrCat("train.steps=", steps)})), "listops-linear-small-s0");
}

TEST(ExperimentNameTest, SaysWhatDiffers) {
  ExperimentChoice other = kPlain;
  other.protocol = "lra2020";
  EXPECT_EQ(Name(other), "listops-linear-small-lra2020-s0");
  const ResolvedConfig resolved = Resolve(With(other, {"train.steps=7000", "seed=2"}));
  EXPECT_EQ(ExperimentName(resolved.config),
            absl::StrCat("listops-linear-small-lra2020-",
                         CellFingerprint(resolved.config).substr(0, 8), "-s2"));
}

// The commands of docs/reweighting.md among them.
TEST(ExperimentNameTest, UnlikeConfigurationsHaveUnlikeNames) {
  const ExperimentChoice family = {.task = "listops", .attention = "factorized"};
  std::vector<ExperimentChoice> choices = {
      kPlain,
      family,
      With(kPlain, {"seed=1"}),
      With(kPlain, {"train.steps=7"}),
      With(kPlain, {"train.steps=8"}),
      With(kPlain, {"attention.causal=true"}),
      With(family, {"attention.options.reweighting=NO_REWEIGHTING"}),
      With(family,
           {"attention.options.reweighting=DECAY", "attention.options.half_life_tokens=16"}),
      With(family, {"attention.options.scale=LEARNED"})};
  for (const std::string& protocol : ConfigNames("protocols")) {
    for (const char* preset : {"lra2020", "smoke"})
      choices.push_back({"listops", "linear", protocol, preset});
  }
  std::set<std::string> names, fingerprints;
  for (const ExperimentChoice& choice : choices) {
    const ResolvedConfig resolved = Resolve(choice);
    EXPECT_EQ(ExperimentName(resolved.config), Name(choice));  // found again by --resume
    names.insert(ExperimentName(resolved.config));
    fingerprints.insert(Fingerprint(resolved.config));
  }
  EXPECT_EQ(fingerprints.size(), choices.size());
  EXPECT_EQ(names.size(), choices.size());
}

// A record's protocol may be one that this program lacks.
TEST(ExperimentNameTest, OfAConfigurationThatCannotBeMadeAgain) {
  ExperimentConfig config = Resolve(kPlain).config;
  config.set_protocol("fair@99");
  EXPECT_EQ(ExperimentName(config),
            absl::StrCat("listops-linear-small-", CellFingerprint(config).substr(0, 8), "-s0"));
}

TEST(ConfigDescriptionTest, OfEveryKind) {
  for (const char* kind : {"tasks", "attentions", "protocols", "presets"}) {
    for (const std::string& name : ConfigNames(kind)) {
      const auto description = ConfigDescription(kind, name);
      ASSERT_TRUE(description.ok()) << description.status();
      EXPECT_NE(*description, "") << kind << "/" << name;
    }
  }
  EXPECT_EQ(*ConfigDescription("presets", "smoke"),
            LoadFragment("presets", "smoke")->description());
  EXPECT_THAT(std::string(ConfigDescription("tasks", "listop").status().message()),
              HasSubstr("\"listops\""));
}

// A block that uses no attention is the method.
TEST(ExperimentNameTest, TheMethodIsTheAttentionOrTheBlockWithoutOne) {
  EXPECT_EQ(MethodOf(Resolve(kPlain).config), "linear");
  ExperimentChoice gated = {.task = "listops", .attention = "none"};
  gated.sets = {"block.name=gated_attention"};
  EXPECT_EQ(MethodOf(Resolve(gated).config), "gated_attention");
  EXPECT_THAT(Name(gated), testing::StartsWith("listops-gated_attention-small-"));
  EXPECT_THAT(Name(With(kPlain, {"block.name=mixer"})),
              testing::StartsWith("listops-linear-mixer-small-"));
  EXPECT_EQ(Name(With(kPlain, {"block.name=attention_mlp"})), Name(kPlain));
}

}  // namespace
}  // namespace lra
