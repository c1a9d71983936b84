// Tests of the doctor's rules about settings that explain a curve.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "eval/doctor.h"
#include "eval/doctor_test_util.h"

namespace lra {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(Doctor, SettingsExplainARunThatHasNotStarted) {
  DoctorCase facts = MakeCase(0.30, 1.31);
  facts.run.mutable_config()->mutable_model()->set_pooling(ModelConfig::MEAN);
  EXPECT_THAT(Causes(facts), ElementsAre(kWrongPooling, kNotStarted));
  EXPECT_THAT(Diagnose(facts)->findings[0].landmark, HasSubstr("590 steps"));
  EXPECT_THAT(Fix(facts), StartsWith("--set model.pooling=FIRST,"));
  facts = MakeCase(0.30, 1.31);
  facts.run.mutable_config()->mutable_schedule()->set_learning_rate(6e-2f);
  facts.run.mutable_config()->mutable_schedule()->set_warmup_steps(30);
  EXPECT_THAT(Causes(facts), ElementsAre(kRateTooHigh, kNotStarted));
  EXPECT_THAT(Fix(facts), AllOf(StartsWith("--set schedule.learning_rate=0.002,"),
                                HasSubstr("--set schedule.warmup_steps=60")));
  facts.run.mutable_config()->mutable_schedule()->set_learning_rate(6e-5f);
  EXPECT_THAT(Causes(facts), ElementsAre(kRateTooLow, kNotStarted));
  // No causal model reads its output at the first token.
  facts = MakeCase(0.30, 1.31);
  facts.run.mutable_config()->mutable_model()->set_pooling(ModelConfig::LAST_TOKEN);
  EXPECT_THAT(Causes(facts), ElementsAre(kWrongPooling, kNotStarted));
  facts.run.mutable_config()->mutable_attention()->set_causal(true);
  EXPECT_THAT(Causes(facts), ElementsAre(kNotStarted));
  // The same settings are no finding in a run that learns.
  facts = MakeCase(0.45, 1.1);
  facts.run.mutable_config()->mutable_schedule()->set_learning_rate(6e-2f);
  facts.run.mutable_config()->mutable_model()->set_pooling(ModelConfig::MEAN);
  EXPECT_THAT(Causes(facts), IsEmpty());
  // They are one if large steps left their mark: a loss above the class entropy after the warm-up,
  // or weights that moved by more than 1 % a step.
  facts.run.mutable_curve(4)->set_train_loss(1.5);
  EXPECT_THAT(Causes(facts), ElementsAre(kRateTooHigh));
  facts.run.mutable_curve(4)->set_train_loss(1.1);
  facts.model->change = 2.1;
  EXPECT_THAT(Causes(facts), ElementsAre(kRateTooHigh));
  facts.model->change = 1.9;
  EXPECT_THAT(Causes(facts), IsEmpty());
}

TEST(Doctor, UpdateRatiosTellARateThatNoLandmarkKnows) {
  DoctorCase facts = MakeCase(0.30, 1.31);
  for (CurvePoint& point : *facts.run.mutable_curve()) point.set_update_ratio(0.2);
  EXPECT_THAT(Causes(facts), ElementsAre(kRateTooHigh, kNotStarted));
  // A third of 0.002, three times as much, and twice the 200 steps: each can be pasted.
  EXPECT_EQ(Fix(facts), "--set schedule.learning_rate=0.000667 --set optimizer.clip_norm=1");
  for (CurvePoint& point : *facts.run.mutable_curve()) point.set_update_ratio(1e-8);
  EXPECT_THAT(Causes(facts), ElementsAre(kRateTooLow, kNotStarted));
  EXPECT_EQ(Fix(facts), "--set schedule.learning_rate=0.006");
  for (CurvePoint& point : *facts.run.mutable_curve()) point.set_update_ratio(1e-3);
  EXPECT_THAT(Causes(facts), ElementsAre(kNotStarted));
  EXPECT_THAT(Fix(facts), StartsWith("--set train.steps=400, or --seeds 0-2: "));
}

// 0.05 over the root of 1,000 steps is 0.0016, the largest rate of lra2020's schedule.
TEST(Doctor, RatesAreComparedAsTheLargestOfTheirSchedules) {
  DoctorCase facts = MakeCase(0.30, 1.31);
  ScheduleConfig& schedule = *facts.run.mutable_config()->mutable_schedule();
  schedule.set_kind(ScheduleConfig::INVERSE_SQRT);
  schedule.set_warmup_steps(100);
  schedule.set_learning_rate(0.02f);  // 0.002 at step 100
  EXPECT_THAT(Causes(facts), ElementsAre(kNotStarted));
  schedule.set_learning_rate(0.6f);
  EXPECT_THAT(Causes(facts), ElementsAre(kRateTooHigh, kNotStarted));
  EXPECT_THAT(Fix(facts), StartsWith("--set schedule.learning_rate=0.02,"));
  schedule.set_learning_rate(2e-3f);
  EXPECT_THAT(Causes(facts), ElementsAre(kRateTooLow, kNotStarted));
  // Nothing is said of the rate before the warm-up has ended.
  schedule.set_warmup_steps(1000);
  EXPECT_THAT(Causes(facts), ElementsAre(kNotStarted));
}

TEST(Doctor, ALossThatExplodesIsToldAtOnce) {
  DoctorCase facts = MakeCase(0.25, 1e6);
  facts.run.mutable_curve()->DeleteSubrange(2, 8);  // step 40, before runs are judged
  facts.run.mutable_config()->mutable_schedule()->set_warmup_steps(10);
  EXPECT_THAT(Causes(facts), ElementsAre(kRateTooHigh));
  facts.run.mutable_config()->mutable_schedule()->set_learning_rate(6e-5f);
  EXPECT_THAT(Causes(facts), ElementsAre(kRateTooHigh));
  for (CurvePoint& point : *facts.run.mutable_curve()) point.set_train_loss(2.5);
  EXPECT_THAT(Causes(facts), IsEmpty());
  for (CurvePoint& point : *facts.run.mutable_curve()) point.set_train_loss(1e6);
  facts.run.mutable_config()->mutable_schedule()->set_warmup_steps(100);
  EXPECT_THAT(Causes(facts), IsEmpty());
}

}  // namespace
}  // namespace lra
