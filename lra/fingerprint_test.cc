#include "lra/fingerprint.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "eval/run_record.pb.h"
#include "lra/sha256.h"
#include "models/attention/cosformer.pb.h"
#include "models/attention/linear.pb.h"
#include "models/attention/transformer.pb.h"

namespace lra {
namespace {

ExperimentConfig Config() {
  ExperimentConfig config;
  config.set_task("listops");
  config.mutable_model()->set_layers(2);
  config.mutable_model()->set_dropout(0.1f);
  config.mutable_model()->set_pooling(ModelConfig::CLS);
  LinearOptions options;
  options.set_epsilon(1e-6);
  config.mutable_attention()->mutable_options()->PackFrom(options);
  config.set_seed(0);
  return config;
}

// The expected value is computed from the definition: if the walk over fields changed, no stored
// record would match.
TEST(FingerprintTest, IsTheHashOfTypeAndLeaves) {
  EXPECT_EQ(Fingerprint(Config()), Sha256Hex("lra.ExperimentConfig\n"
                                             "4:task=7:listops\n"
                                             "12:model.layers=1:2\n"
                                             "13:model.pooling=3:CLS\n"
                                             "13:model.dropout=3:0.1\n"
                                             "17:attention.options=17:lra.LinearOptions\n"
                                             "25:attention.options.epsilon=5:1e-06\n"
                                             "4:seed=1:0\n"));
}

TEST(FingerprintTest, EveryChangeChangesIt) {
  std::set<std::string> seen = {Fingerprint(Config())};
  const std::vector<std::function<void(ExperimentConfig*)>> changes = {
      [](ExperimentConfig* c) { c->set_task("text"); },
      [](ExperimentConfig* c) { c->clear_task(); },
      [](ExperimentConfig* c) { c->mutable_model()->set_layers(3); },
      [](ExperimentConfig* c) { c->mutable_model()->set_dropout(0.100001f); },
      [](ExperimentConfig* c) { c->mutable_model()->set_attention_bias(false); },
      [](ExperimentConfig* c) { c->mutable_attention()->set_dropout(0); },
      [](ExperimentConfig* c) { c->clear_seed(); },
      [](ExperimentConfig* c) {
        c->mutable_attention()->mutable_options()->PackFrom(LinearOptions());
      },
      [](ExperimentConfig* c) {
        c->mutable_attention()->mutable_options()->PackFrom(TransformerOptions());
      },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    ExperimentConfig changed = Config();
    changes[i](&changed);
    EXPECT_TRUE(seen.insert(Fingerprint(changed)).second) << "change " << i;
  }
}

TEST(FingerprintTest, TheOrderOfBuildingDoesNot) {
  RunRecord a, b;
  for (int i = 0; i < 50; ++i) {
    (*a.mutable_provenance())[std::to_string(i)] = "x";
    (*b.mutable_provenance())[std::to_string(49 - i)] = "x";
  }
  EXPECT_EQ(Fingerprint(a), Fingerprint(b));
  (*b.mutable_provenance())["7"] = "y";
  EXPECT_NE(Fingerprint(a), Fingerprint(b));
}

TEST(FingerprintTest, VolatileFieldsAreLeftOutAtEveryDepth) {
  RunRecord record;
  record.set_method("linear");
  record.add_test_looks()->set_step(5);
  const std::string before = Fingerprint(record);
  record.mutable_machine()->set_cpu("some");
  record.set_finished_unix_seconds(1);
  record.mutable_test_looks(0)->set_unix_seconds(99);
  EXPECT_EQ(Fingerprint(record), before);
  record.mutable_test_looks(0)->set_step(6);
  EXPECT_NE(Fingerprint(record), before);
}

TEST(FingerprintTest, RepeatedElementsCountAndKeepTheirOrder) {
  TaskSpec ab, ba, a;
  ab.add_token_names("a"), ab.add_token_names("b");
  ba.add_token_names("b"), ba.add_token_names("a");
  a.add_token_names("a");
  EXPECT_NE(Fingerprint(ab), Fingerprint(ba));
  EXPECT_NE(Fingerprint(ab), Fingerprint(a));
}

// A value cannot imitate the line of another field.
TEST(FingerprintTest, StrangeValuesDoNotCollide) {
  ExperimentConfig one, two;
  one.set_protocol("x\n6:preset=1:y");
  two.set_protocol("x");
  two.set_preset("y");
  EXPECT_NE(Fingerprint(one), Fingerprint(two));
}

TEST(FingerprintTest, TypesWithEqualContentDiffer) {
  EXPECT_NE(Fingerprint(LinearOptions()), Fingerprint(CosformerOptions()));
}

TEST(FingerprintTest, ACellIsTheExperimentWithoutItsSeed) {
  ExperimentConfig other_seed = Config();
  other_seed.set_seed(1);
  EXPECT_NE(Fingerprint(Config()), Fingerprint(other_seed));
  EXPECT_EQ(CellFingerprint(Config()), CellFingerprint(other_seed));
  other_seed.mutable_model()->set_layers(9);
  EXPECT_NE(CellFingerprint(Config()), CellFingerprint(other_seed));
}

// Folders that were named before must be found again.
TEST(ShortFingerprintTest, IsTheFirstEightDigits) {
  EXPECT_EQ(ShortFingerprint("0123456789abcdef"), "01234567");
  EXPECT_EQ(ShortFingerprint(""), "");
}

}  // namespace
}  // namespace lra
