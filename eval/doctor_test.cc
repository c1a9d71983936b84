// Tests of the doctor's rules, one by one, on facts made by hand.
#include "eval/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_join.h"
#include "eval/doctor_test_util.h"

namespace lra {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST(Doctor, ASoundRunHasNoFindingAndTheMajorityLineIsSaid) {
  const DoctorCase facts = MakeCase(0.45, 1.1);
  EXPECT_THAT(Causes(facts), IsEmpty());
  // The class entropy is -(0.1 ln 0.1 + 3 * 0.3 ln 0.3) = 1.3138.
  EXPECT_THAT(Diagnose(facts)->notes[0],
              HasSubstr("majority class 30.0 %, class entropy 1.31 nats"));
}

TEST(Doctor, AtTheMajorityClassItHasNotStarted) {
  EXPECT_THAT(Causes(MakeCase(0.30, 1.31)), ElementsAre(kNotStarted));
  // Three standard deviations of the accuracy on 500 examples are 6.1 %; on the 60 late steps of 32
  // examples they are 3.1 %.
  EXPECT_THAT(Causes(MakeCase(0.325, 1.31)), ElementsAre(kNotStarted));
  EXPECT_THAT(Causes(MakeCase(0.34, 1.30)), IsEmpty());
  // Before the landmark's step it is too early to tell.
  DoctorCase early = MakeCase(0.30, 1.31);
  early.run.mutable_curve()->DeleteSubrange(4, 6);
  EXPECT_THAT(Causes(early), IsEmpty());
  for (CurvePoint& point : *early.run.mutable_curve()) point.set_train_loss(2.4);
  EXPECT_THAT(Causes(early), IsEmpty());
}

TEST(Doctor, LabelsAgainstTheOracle) {
  DoctorCase facts = MakeCase(0.45, 1.1);
  // The stored label is (true label + 1) mod 4. Rows of the table are stored labels.
  facts.data->label_table = {0, 0, 0, 300, 100, 0, 0, 0, 0, 300, 0, 0, 0, 0, 300, 0};
  EXPECT_THAT(Causes(facts), ElementsAre(kLabelShift));
  EXPECT_THAT(Diagnose(facts)->findings[0].observed, HasSubstr("(true label + 1) mod 4"));
  // Labels 0 and 1 are exchanged.
  facts.data->label_table = {0, 300, 0, 0, 100, 0, 0, 0, 0, 0, 300, 0, 0, 0, 0, 300};
  EXPECT_THAT(Causes(facts), ElementsAre(kLabelShift));
  EXPECT_THAT(Diagnose(facts)->findings[0].observed, HasSubstr("renaming"));
  // Stored and true labels are independent, with p_i p_j n examples each, so the agreement is 0.01
  // + 3 * 0.09 = 28 %.
  facts.data->label_table = {10, 30, 30, 30, 30, 90, 90, 90, 30, 90, 90, 90, 30, 90, 90, 90};
  EXPECT_THAT(Causes(facts), ElementsAre(kShuffledLabels));
  // A tenth of one class is wrong.
  facts.data->label_table = {100, 0, 0, 0, 0, 270, 0, 0, 0, 30, 300, 0, 0, 0, 0, 300};
  EXPECT_THAT(Causes(facts), ElementsAre(kWrongData));
  // A single wrong label among 1,000 is no finding.
  facts.data->label_table = {100, 0, 0, 0, 0, 299, 0, 0, 0, 1, 300, 0, 0, 0, 0, 300};
  EXPECT_THAT(Causes(facts), IsEmpty());
}

TEST(Doctor, LabelsMetInTraining) {
  DoctorCase facts = MakeCase(0.45, 1.1);
  const auto set_point = [&](int i, std::vector<int64_t> counts) {
    facts.run.mutable_curve(i)->mutable_label_examples()->Assign(counts.begin(), counts.end());
  };
  // The run met the examples sorted by class: each point has one class, and together they have the
  // counts of the split.
  for (int i = 0; i < 10; ++i) {
    const int label = i == 0 ? 0 : 1 + (i - 1) / 3;
    std::vector<int64_t> counts(4);
    counts[label] = 640;
    set_point(i, counts);
  }
  EXPECT_THAT(Causes(facts), ElementsAre(kDataOrder));
  // The labels that the run met are shifted by one, though those of the data are not.
  for (int i = 0; i < 10; ++i) set_point(i, {192, 64, 192, 192});
  EXPECT_THAT(Causes(facts), ElementsAre(kWrongData));
  facts.data->is_same = false;  // the labels of other data are no measure
  EXPECT_THAT(Causes(facts), IsEmpty());
}

TEST(Doctor, SplitsThatShareExamples) {
  DoctorCase facts = MakeCase(0.45, 1.1);
  facts.data->leaked_examples = 49;
  EXPECT_THAT(Causes(facts), IsEmpty());
  facts.data->leaked_examples = 50;
  EXPECT_THAT(Causes(facts), ElementsAre(kWrongSplit));
  facts.data->leaked_examples = 0;
  facts.run.mutable_config()->mutable_view()->set_split(DataView::TEST_AS_VALIDATION);
  EXPECT_THAT(Causes(facts), ElementsAre(kWrongSplit));
}

TEST(Doctor, ViewsThatLoseSomething) {
  DoctorCase facts = MakeCase(0.45, 1.1);
  facts.run.mutable_config()->mutable_view()->set_brackets(DataView::NONE);
  EXPECT_THAT(Causes(facts), ElementsAre(kDroppedBrackets));
  facts = MakeCase(0.45, 1.1);
  facts.data->bracket_share = 0;
  EXPECT_THAT(Causes(facts), ElementsAre(kDroppedBrackets));
  facts = MakeCase(0.45, 1.1);
  facts.run.mutable_config()->mutable_view()->set_zero_is_padding(true);
  EXPECT_THAT(Causes(facts), ElementsAre(kMaskedPixels));
  // This is a rule of lra2020, so it is no finding in a run that learns.
  facts.run.mutable_config()->set_task("image");
  facts.run.mutable_config()->set_protocol("lra2020@1");
  facts.run.mutable_config()->set_preset("lra2020");
  EXPECT_THAT(Causes(facts), IsEmpty());
  // So are dropped brackets of nystrom, unless the stored data has none.
  for (const bool learns : {true, false}) {
    facts = learns ? MakeCase(0.45, 1.1) : MakeCase(0.30, 1.31);
    facts.run.mutable_config()->set_protocol("nystrom@1");
    facts.run.mutable_config()->set_preset("nystrom");
    facts.run.mutable_config()->mutable_view()->set_brackets(DataView::NONE);
    EXPECT_THAT(Causes(facts), testing::Conditional(learns, Not(Contains(kDroppedBrackets)),
                                                    Contains(kDroppedBrackets)));
  }
}

TEST(Doctor, ADivergedRunIsAFinding) {
  DoctorCase facts = MakeCase(0.45, 1.1);
  RunFailure& failure = *facts.run.mutable_failure();
  failure.set_kind(RunFailure::DIVERGED);
  failure.set_step(207);
  failure.set_cause("loss is not finite");
  EXPECT_THAT(Causes(facts), ElementsAre(kDiverged));
  EXPECT_EQ(Diagnose(facts)->findings[0].observed, "step 207: loss is not finite");
  EXPECT_THAT(Fix(facts),
              StartsWith("--set schedule.learning_rate=0.000667 --set optimizer.clip_norm=1, or a "
                         "longer warm-up: --set schedule.warmup_steps="));
}

TEST(Doctor, BaselinesAreNoRuns) {
  DoctorCase facts = MakeCase(0.45, 1.1);
  facts.run.set_kind(RunRecord::BASELINE);
  facts.run.clear_curve();
  EXPECT_EQ(Diagnose(facts).status().message(),
            "it is no run of `lra train`, and has no curve to be looked at");
}

// What began with trained weights is not measured from initial values.
TEST(Doctor, WeightsOfAnotherRunMayStay) {
  DoctorCase facts = MakeCase(0.45, 1.1);
  facts.model->tensors[0].change = 0;
  EXPECT_THAT(Causes(facts), ElementsAre(kFrozenEmbedding));
  facts.model->began_with_initial = false;
  EXPECT_THAT(Causes(facts), IsEmpty());
  EXPECT_THAT(Diagnose(facts)->notes,
              Contains("it began with weights that were trained before: how far they moved was not "
                       "looked at"));
}

// Where order was seen to matter it does, whatever the setting; unseen, the setting is a hint.
TEST(Doctor, NoPositionsAreAFindingWhereOrderIsLost) {
  DoctorCase facts = MakeCase(0.30, 1.31);
  facts.run.mutable_config()->mutable_model()->set_positions(ModelConfig::NO_POSITIONS);
  EXPECT_THAT(Causes(facts), ElementsAre(kNotStarted));
  facts.model->order_effect.reset();
  EXPECT_THAT(Causes(facts), ElementsAre(kNoPositions, kNotStarted));
  EXPECT_EQ(Diagnose(facts)->findings[0].strength, Finding::kHint);
  facts.model->order_effect = 1e-6;
  EXPECT_EQ(Diagnose(facts)->findings[0].strength, Finding::kProven);
  facts = MakeCase(0.45, 1.1);
  facts.run.mutable_config()->mutable_model()->set_positions(ModelConfig::NO_POSITIONS);
  facts.model->order_effect.reset();
  EXPECT_THAT(Causes(facts), IsEmpty());
}

TEST(Doctor, WeightsThatDidNotMoveOrWereLost) {
  DoctorCase facts = MakeCase(0.45, 1.1);
  facts.model->tensors[0].change = 0;
  EXPECT_THAT(Causes(facts), ElementsAre(kFrozenEmbedding));
  facts.model->tensors[0].name = "encoder.layer0.mlp.in.weight";
  EXPECT_THAT(Causes(facts), ElementsAre(kBrokenLayer));
  facts.model->tensors[0] = {.name = "x", .is_finite = false, .change = 1};
  EXPECT_THAT(Causes(facts), ElementsAre(kBrokenLayer));
  facts.model->tensors[0] = {.name = "embedding.position.weight", .is_zero = true, .change = 1};
  EXPECT_THAT(Causes(facts), ElementsAre(kNoPositions));
  // Nothing has moved before the first step.
  facts = MakeCase(0.45, 1.1);
  facts.model->tensors[0].change = 0;
  facts.model->step = 0;
  EXPECT_THAT(Causes(facts), IsEmpty());
  // Nor has anything moved after the first step of a warm-up from 0.
  facts.model->step = 1;
  EXPECT_THAT(Causes(facts), ElementsAre(kFrozenEmbedding));
  for (CurvePoint& point : *facts.run.mutable_curve()) point.set_learning_rate(0);
  EXPECT_THAT(Causes(facts), IsEmpty());
}

TEST(Doctor, OutputsThatIgnoreOrderOrDependOnTheBatch) {
  DoctorCase facts = MakeCase(0.45, 1.1);
  facts.model->order_effect = 1e-4;
  EXPECT_THAT(Causes(facts), IsEmpty());
  facts.model->order_effect = 1e-6;
  EXPECT_THAT(Causes(facts), ElementsAre(kNoPositions));
  facts = MakeCase(0.45, 1.1);
  facts.model->batch_effect = 0.01;
  EXPECT_THAT(Causes(facts), ElementsAre(kBatchDependence));
  EXPECT_EQ(Diagnose(facts)->findings[0].strength, Finding::kProven);
  // An effect that is declared explains a run that learns nothing. In any other run it is no
  // finding.
  facts.model->declares_batch_effect = true;
  EXPECT_THAT(Causes(facts), IsEmpty());
  DoctorCase stuck = MakeCase(0.30, 1.31);
  stuck.model = facts.model;
  EXPECT_THAT(Causes(stuck), ElementsAre(kBatchDependence, kNotStarted));
  EXPECT_EQ(Diagnose(stuck)->findings[0].strength, Finding::kHint);
}

TEST(Doctor, SaysWhatARunOnRecordHadByTheSameStep) {
  DoctorCase facts = MakeCase(0.45, 1.1);
  facts.landmarks.clear_curve();
  for (const char* attention : {"cosformer", "linear"}) {
    LandmarkCurve& curve = *facts.landmarks.add_curve();
    curve.set_task("listops");
    curve.set_attention(attention);
    curve.set_source("somewhere");
    for (const int64_t step : {50, 150, 250}) {
      CurvePoint& point = *curve.add_point();
      point.set_step(step);
      point.set_train_loss(attention[0] == 'l' ? 1.25 : 2.5);
    }
  }
  const auto notes = [&facts] { return absl::StrJoin(Diagnose(facts)->notes, "\n"); };
  // The note is about a run with the same attention, at the last point that this run has reached,
  // and says what this run had there.
  EXPECT_THAT(notes(), HasSubstr("on record (somewhere), linear, step 150: training loss 1.250"));
  EXPECT_THAT(notes(), HasSubstr("this run, step 140: training loss 1.100"));
  facts.landmarks.mutable_curve()->RemoveLast();
  EXPECT_THAT(notes(), HasSubstr("cosformer, step 150: training loss 2.500"));
  facts.landmarks.mutable_curve(0)->set_task("text");
  EXPECT_THAT(notes(), Not(HasSubstr("on record")));
}

TEST(Doctor, DamagedCheckpoint) {
  DoctorCase facts = MakeCase(0.45, 1.1);
  facts.model.reset();
  EXPECT_THAT(Causes(facts), IsEmpty());
  facts.damage = "step-4/weights.safetensors: damaged";
  EXPECT_THAT(Causes(facts), ElementsAre(kDamagedCheckpoint));
}

TEST(Doctor, Overfit) {
  DoctorCase facts = MakeCase(0.45, 1.1);
  CurvePoint& last = *facts.run.mutable_curve(9);
  (*last.mutable_train())[kAccuracy] = 0.9;
  EXPECT_THAT(Causes(facts), IsEmpty());  // a gap alone is no overfit
  last.set_validation_loss(1.25);
  EXPECT_THAT(Causes(facts), ElementsAre(kOverfit));
  EXPECT_THAT(Fix(facts),
              StartsWith("--set model.dropout=0.1 --set train.early_stop_evaluations=5"));
}

TEST(Doctor, ProvenCausesComeFirst) {
  DoctorCase facts = MakeCase(0.30, 1.31);
  facts.run.mutable_config()->mutable_model()->set_pooling(ModelConfig::MEAN);
  facts.data->leaked_examples = 500;
  EXPECT_THAT(Causes(facts), ElementsAre(kWrongSplit, kWrongPooling, kNotStarted));
}

TEST(Doctor, WithoutDataAndWeightsTheCurveIsLeft) {
  DoctorCase facts = MakeCase(0.30, 1.31);
  facts.data.reset();
  facts.model.reset();
  EXPECT_THAT(Causes(facts), ElementsAre(kNotStarted));  // labels as the run met them
  facts.run.clear_curve();
  EXPECT_EQ(Diagnose(facts).status().code(), absl::StatusCode::kInvalidArgument);
}

// A run that guesses tokens of the same frequencies.
DoctorCase MakeTokenCase(double accuracy, double loss) {
  DoctorCase facts = MakeCase(accuracy, loss);
  facts.run.mutable_spec()->set_guesses_tokens(true);
  facts.run.mutable_config()->set_task("copy");
  facts.run.mutable_config()->mutable_attention()->set_causal(true);
  for (CurvePoint& point : *facts.run.mutable_curve()) point.clear_label_examples();
  facts.data->label_table.clear();
  facts.model->order_effect.reset();
  facts.model->ahead_effect = 0;
  return facts;
}

TEST(Doctor, GuessedTokensAreJudgedByTheEntropyOfTheirFrequencies) {
  // No better than the commonest token, and yet far below its entropy, as black pixels are.
  EXPECT_THAT(Causes(MakeTokenCase(0.30, 1.0)), IsEmpty());
  EXPECT_THAT(Diagnose(MakeTokenCase(0.30, 1.0))->notes[0],
              HasSubstr("commonest token 30.0 %, token entropy 1.31 nats"));
  EXPECT_THAT(Causes(MakeTokenCase(0.30, 1.31)), ElementsAre(kNotStarted));
  EXPECT_THAT(Diagnose(MakeTokenCase(0.30, 1.31))->findings[0].landmark,
              HasSubstr("token counts of the training split"));
}

TEST(Doctor, ALossThatFellOnceOnValidationIsNoStuckOne) {
  DoctorCase facts = MakeTokenCase(0.30, 1.31);
  facts.run.mutable_curve(4)->set_validation_loss(1.2);
  EXPECT_THAT(Causes(facts), IsEmpty());
}

TEST(Doctor, AGuessThatSeesItsTokenIsProven) {
  DoctorCase facts = MakeTokenCase(0.9, 0.1);
  facts.model->ahead_effect = 0.5;
  EXPECT_THAT(Causes(facts), ElementsAre(kSeesAhead));
  EXPECT_EQ(Diagnose(facts)->findings[0].strength, Finding::kProven);
  EXPECT_THAT(Fix(facts), HasSubstr("`lra check linear`"));
}

// Landmarks and curves on record are of labels: of texts and pictures, too, which serve both.
TEST(Doctor, GuessedTokensAreNotComparedWithLabels) {
  for (const char* task : {"listops", "text", "image"}) {
    DoctorCase facts = MakeTokenCase(0.30, 1.31);
    facts.run.mutable_config()->set_task(task);
    facts.run.mutable_config()->mutable_model()->set_pooling(ModelConfig::MEAN);
    EXPECT_THAT(Causes(facts), ElementsAre(kNotStarted)) << task;
    const auto diagnosis = Diagnose(facts);
    for (const std::string& note : diagnosis->notes)
      EXPECT_THAT(note, Not(HasSubstr("on record ("))) << task;
  }
}

TEST(Doctor, WithoutDataTheFrequenciesOfTokensAreNotKnown) {
  DoctorCase facts = MakeTokenCase(0.30, 1.31);
  facts.data.reset();
  EXPECT_THAT(Causes(facts), IsEmpty());
  EXPECT_THAT(Diagnose(facts)->notes[0], HasSubstr("is not known"));
}

TEST(Doctor, RoundingIsNoSight) {
  DoctorCase facts = MakeTokenCase(0.5, 0.9);
  facts.model->ahead_effect = 2e-5;
  EXPECT_THAT(Causes(facts), IsEmpty());
}

TEST(Doctor, CausalModelsNeedNoPositions) {
  DoctorCase facts = MakeTokenCase(0.5, 0.9);
  facts.run.mutable_config()->mutable_model()->set_positions(ModelConfig::NO_POSITIONS);
  EXPECT_THAT(Causes(facts), IsEmpty());
  facts = MakeTokenCase(0.30, 1.31);
  facts.run.mutable_config()->mutable_model()->set_positions(ModelConfig::NO_POSITIONS);
  EXPECT_THAT(Causes(facts), ElementsAre(kNotStarted));
  facts.run.mutable_config()->mutable_attention()->set_causal(false);
  EXPECT_THAT(Causes(facts), ElementsAre(kNoPositions, kNotStarted));
}

}  // namespace
}  // namespace lra
