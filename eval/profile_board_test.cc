#include "eval/profile_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "eval/scored_runs_test_util.h"

namespace lra {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FirstRight;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeRun;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr int64_t kExamples = 400;

class ProfileBoardTest : public testing::ScoredRuns {
 protected:
  ProfileBoardTest() {
    // The first 100 are easy, no other is deep or lost.
    for (int64_t i = 0; i < kExamples; ++i) strata_.of.push_back(i < 100 ? 0 : 1);
  }
  ProfileGroup Group() {
    auto groups = GroupForProfiles(found_, "test", {}, &left_out_);
    EXPECT_TRUE(groups.ok()) << groups.status();
    EXPECT_EQ(groups->size(), 1u);
    return groups->front();
  }
  ProfileBoard Board(const ProfileGroup& group) {
    auto board = MakeProfileBoard(
        group, {absl::MakeConstSpan(&strata_, 1), circumstances_, published_}, 0.95);
    EXPECT_TRUE(board.ok()) << board.status();
    return *std::move(board);
  }

  Strata strata_{"depth", "how deep it is", {"easy", "hard", "lost"}, {}};
  std::vector<Circumstances> circumstances_;
  std::vector<PublishedTable> published_;
  std::vector<std::string> left_out_;
};

TEST_F(ProfileBoardTest, CellsAreMeansOverRunsOfTheStratum) {
  AddRow("linear", {FirstRight(140, kExamples), FirstRight(160, kExamples)});
  const ProfileGroup group = Group();
  const ProfileBoard board = Board(group);
  EXPECT_EQ(board.examples, kExamples);
  EXPECT_THAT(board.headings[0].examples, ElementsAre(100, 300, 0));
  ASSERT_EQ(board.rows.size(), 1u);
  const ProfileBoardRow& row = board.rows[0][0];
  EXPECT_EQ(row.row->label, "linear");
  EXPECT_DOUBLE_EQ(*row.whole.value, 0.375);
  EXPECT_DOUBLE_EQ(*row.cells[0][0].value, 1);
  EXPECT_DOUBLE_EQ(*row.cells[0][1].value, 50.0 / 300);  // (40 + 60) / 2 of 300
  EXPECT_EQ(row.cells[0][1].examples, 300);
  // Two seeds that differ by 20 of 300: wider than the binomial of 300 examples.
  const double width = row.cells[0][1].interval->high - row.cells[0][1].interval->low;
  EXPECT_GT(width, 0.2);
  EXPECT_FALSE(row.cells[0][2].value);  // no example there
}

TEST_F(ProfileBoardTest, OneRunHasTheBinomialIntervalOfTheStratum) {
  AddRow("linear", {FirstRight(150, kExamples)});
  const ProfileGroup group = Group();
  const ProfileBoard board = Board(group);
  const Interval interval = *board.rows[0][0].cells[0][1].interval;
  const Interval expected = *(*FindMetric(kAccuracy))
                                 ->RunInterval(
                                     [] {
                                       Sums sums;
                                       (*sums.mutable_counts())[kCorrect] = 50;
                                       (*sums.mutable_counts())[kTargets] = 300;
                                       return sums;
                                     }(),
                                     0.95);
  EXPECT_NEAR(interval.low, expected.low, 1e-9);
  EXPECT_NEAR(interval.high, expected.high, 1e-9);
}

// The file of the task bytes_lm says so: blocks of 80.
TEST_F(ProfileBoardTest, NeighboursThatDependOnEachOtherCountInBlocks) {
  Add({.method = "linear", .task = "bytes_lm"}, FirstRight(150, kExamples));
  const ProfileGroup group = Group();
  EXPECT_EQ(group.block_examples, 80);
  const ProfileBoard board = Board(group);
  const Interval interval = *board.rows[0][0].cells[0][1].interval;
  const Interval exact = ClopperPearson(50, 300, 0.95);
  EXPECT_LT(interval.low, exact.low);
  EXPECT_GT(interval.high, exact.high);
}

// Every fifth example is easy, 16 of each block of 80 of the split: of these 16, 14, 0, 0 and 0 are
// right. The variance is 5 / 4 sum (T - 6)^2 / 80^2, and Clopper-Pearson is at 2.296 examples.
TEST_F(ProfileBoardTest, BlocksOfAStratumAreThoseOfTheSplit) {
  for (int64_t i = 0; i < kExamples; ++i) strata_.of[i] = i % 5 == 0 ? 0 : 1;
  Add({.method = "linear", .task = "bytes_lm"}, FirstRight(150, kExamples));
  const ProfileGroup group = Group();
  const ProfileBoard board = Board(group);
  const ProfileCell& easy = board.rows[0][0].cells[0][0];
  EXPECT_EQ(easy.examples, 80);
  EXPECT_DOUBLE_EQ(*easy.value, 30.0 / 80);
  EXPECT_NEAR(easy.interval->low, 0.005496760783, 1e-9);
  EXPECT_NEAR(easy.interval->high, 0.955340771671, 1e-9);
}

TEST_F(ProfileBoardTest, BaselinesComeFirstAndGivePlaces) {
  AddBaseline("depth_1", FirstRight(240, kExamples));
  AddBaseline("majority", FirstRight(80, kExamples));
  AddRow("linear", {FirstRight(84, kExamples), FirstRight(86, kExamples)});
  AddRow("cosformer", {FirstRight(160, kExamples), FirstRight(164, kExamples)});
  PublishedTable& table = published_.emplace_back();
  table.set_name("paper");
  table.add_columns()->set_name("ListOps (%)");
  table.mutable_columns(0)->set_task("listops");
  PublishedRow* printed = table.add_rows();
  printed->set_label("Theirs");
  printed->add_cells()->set_column("ListOps (%)");
  printed->mutable_cells(0)->set_value(61);
  const ProfileGroup group = Group();
  const ProfileBoard board = Board(group);
  ASSERT_EQ(board.rows.size(), 2u);
  EXPECT_EQ(group.settings[0].kind, RunRecord::BASELINE);
  EXPECT_EQ(board.rows[0][0].row->label, "majority");
  EXPECT_EQ(board.rows[0][1].row->label, "depth_1");
  EXPECT_EQ(board.rows[0][0].place, "");
  EXPECT_EQ(board.rows[1][0].row->label, "cosformer");
  EXPECT_EQ(board.rows[1][0].place, "between majority and depth_1");
  EXPECT_EQ(board.rows[1][1].place, "as majority");
  ASSERT_EQ(board.published.size(), 1u);
  EXPECT_EQ(board.published[0].second[0].place, "as depth_1");  // 61 % of 400 are near 60 %
}

TEST_F(ProfileBoardTest, CircumstancesOfRunsThatHaveThem) {
  AddRow("linear", {FirstRight(200, kExamples)});
  AddRow("cosformer", {FirstRight(100, kExamples)});
  Circumstances& seen = circumstances_.emplace_back();
  seen = {"perturbation", "as said", {"as they are", "shuffled"}, {}};
  seen.of[found_.runs[0].directory] = {FirstRight(10, 20), FirstRight(5, 20)};
  const ProfileGroup group = Group();
  const ProfileBoard board = Board(group);
  EXPECT_THAT(board.headings[1].examples, ElementsAre(20, 20));
  const auto& rows = board.rows[0];
  EXPECT_DOUBLE_EQ(*rows[0].cells[1][1].value, 0.25);
  EXPECT_TRUE(rows[1].cells[1].empty());
  EXPECT_THAT(ProfileBoardText(board), HasSubstr("By perturbation: as said."));
}

TEST_F(ProfileBoardTest, SettingsApartAndOtherExamplesInOtherGroups) {
  AddRow("linear", {FirstRight(200, kExamples)});
  Add({.method = "linear"}, FirstRight(100, kExamples),
      [](RunRecord* record) { record->mutable_config()->mutable_train()->set_steps(300); });
  Add({.method = "linear", .data = "bbbb0123456789"}, FirstRight(50, kExamples));
  auto groups = GroupForProfiles(found_, "test", {}, &left_out_);
  ASSERT_TRUE(groups.ok()) << groups.status();
  ASSERT_EQ(groups->size(), 2u);
  EXPECT_EQ((*groups)[0].settings.size() + (*groups)[1].settings.size(), 3u);
}

void SetEightFields(ModelConfig* model) {
  model->set_layers(3);
  model->set_width(48);
  model->set_heads(3);
  model->set_qkv_width(24);
  model->set_mlp_width(96);
  model->set_head_width(32);
  model->set_dropout(0.5);
  model->set_stem_tokens(7);
}

// Nine fields of a third come before the one in which two settings differ, and a heading has eight.
TEST_F(ProfileBoardTest, SettingsOfManyFieldsAreNamedByWhatTellsThemApart) {
  AddRow("linear", {FirstRight(200, kExamples)});
  Add({.method = "linear"}, FirstRight(100, kExamples),
      [](RunRecord* record) { record->mutable_config()->mutable_train()->set_steps(300); });
  Add({.method = "linear"}, FirstRight(50, kExamples), [](RunRecord* record) {
    SetEightFields(record->mutable_config()->mutable_model());
    record->mutable_config()->mutable_model()->set_attention_filter_tokens(3);
  });
  const ProfileGroup group = Group();
  ASSERT_EQ(group.settings.size(), 3u);
  std::vector<std::string> first;
  for (const ProfiledSetting& setting : group.settings) {
    EXPECT_EQ(setting.rows.size(), 1u);
    EXPECT_EQ(setting.fields.size(), 9u);
    EXPECT_EQ(setting.fields.back(), "and 2 more fields");
    first.push_back(setting.fields.front());
  }
  EXPECT_THAT(first, UnorderedElementsAre("train.steps=150", "train.steps=300",
                                          "model.attention_filter_tokens=3"));
  const std::string text = ProfileBoardText(Board(group));
  EXPECT_THAT(text, AllOf(HasSubstr("): train.steps=150, "), HasSubstr("): train.steps=300, ")));
}

// It differs from the others in one field, in eight of training and in eight of the model.
TEST_F(ProfileBoardTest, AHeadingHasAFieldForEverySettingThatItIsToldFrom) {
  AddRow("linear", {FirstRight(200, kExamples)});
  Add({.method = "linear"}, FirstRight(150, kExamples), [](RunRecord* record) {
    record->mutable_config()->mutable_evaluation()->set_drop_last(true);
  });
  Add({.method = "linear"}, FirstRight(100, kExamples), [](RunRecord* record) {
    TrainConfig* const train = record->mutable_config()->mutable_train();
    train->set_steps(300);
    train->set_batch_examples(16);
    train->set_eval_every_steps(50);
    train->set_log_every_steps(10);
    train->set_validation_examples(100);
    train->set_bucket_window_batches(4);
    train->set_drop_last(true);
    train->set_early_stop_evaluations(3);
  });
  Add({.method = "linear"}, FirstRight(50, kExamples),
      [](RunRecord* record) { SetEightFields(record->mutable_config()->mutable_model()); });
  const ProfileGroup group = Group();
  ASSERT_EQ(group.settings.size(), 4u);
  const ProfiledSetting& plain = group.settings[0];
  ASSERT_EQ(plain.rows[0].runs[0]->directory, found_.runs[0].directory);
  EXPECT_THAT(plain.fields, AllOf(SizeIs(9), Contains(StartsWith("evaluation.drop_last=")),
                                  Contains(StartsWith("train.")), Contains(StartsWith("model.")),
                                  Contains("and 9 more fields")));
}

TEST_F(ProfileBoardTest, SaysWhatTheIntervalOfRunsFromOneStartLeavesOut) {
  AddRow("linear", {FirstRight(200, kExamples), FirstRight(150, kExamples)});
  for (LocatedRecord& run : found_.runs)
    run.record.mutable_config()->set_encoder_weights_sha256("12ab");
  const ProfileGroup one = Group();
  EXPECT_THAT(ProfileBoardText(Board(one)), AllOf(HasSubstr("; of runs from one start, which"),
                                                  HasSubstr("| linear, 2 runs from one start ")));
  EXPECT_THAT(ProfileBoardsJson({Board(one)}), HasSubstr("\"from\": \"another run's encoder\""));
  for (LocatedRecord& run : found_.runs) run.record.mutable_config()->set_encoder_recipe("34cd");
  const ProfileGroup own = Group();
  EXPECT_THAT(ProfileBoardText(Board(own)), Not(HasSubstr("one start")));
}

TEST_F(ProfileBoardTest, RunsWithoutScoresAreLeftOut) {
  AddRow("linear", {FirstRight(200, kExamples)});
  found_.runs.push_back(MakeRun({.method = "cosformer"}));
  const ProfileGroup group = Group();
  EXPECT_EQ(group.settings[0].rows.size(), 1u);
  EXPECT_THAT(left_out_, ElementsAre(HasSubstr("scores of its examples are not on record")));
  found_.runs.erase(found_.runs.begin());
  const auto none = GroupForProfiles(found_, "test", {}, &left_out_);
  EXPECT_EQ(none.status().code(), absl::StatusCode::kFailedPrecondition) << none.status();
}

TEST_F(ProfileBoardTest, NumbersInPrintAreOfTheTestSplitOfCanonicalData) {
  AddBaseline("majority", FirstRight(80, kExamples));
  Add({.method = "linear"}, FirstRight(84, kExamples));
  for (LocatedRecord& run : found_.runs) run.record.mutable_data()->set_is_canonical(false);
  PublishedTable& table = published_.emplace_back();
  PublishedRow* printed = table.add_rows();
  printed->add_cells()->set_column("listops");
  printed->mutable_cells(0)->set_value(61);
  const ProfileGroup group = Group();
  EXPECT_THAT(Board(group).published, IsEmpty());
}

// A score is, as in leaderboards, the mean of the runs that trained.
TEST_F(ProfileBoardTest, RunsThatDidNotTrain) {
  AddBaseline("majority", FirstRight(80, kExamples));
  AddRow("linear", {FirstRight(200, kExamples), FirstRight(80, kExamples)});
  AddRow("cosformer", {FirstRight(80, kExamples)});
  AddDiverged("linear", 7);
  const ProfileGroup group = Group();
  const ProfileBoard board = Board(group);
  EXPECT_DOUBLE_EQ(*board.rows[1][0].whole.value, 0.5);
  const std::string text = ProfileBoardText(board);
  EXPECT_THAT(text, HasSubstr("linear, 1/3 runs"));
  EXPECT_THAT(text, HasSubstr("cosformer, FAIL 0/1"));
  EXPECT_THAT(left_out_, ElementsAre(HasSubstr("run4: failed")));
}

// Their answers follow from what they learned from.
TEST_F(ProfileBoardTest, OtherTrainingExamplesAreAnotherGroup) {
  const auto other = [](RunRecord* record) {
    (*record->mutable_data()->mutable_split_fingerprint())["train"] = "cccc";
  };
  AddBaseline("depth_1", FirstRight(240, kExamples));
  AddRow("linear", {FirstRight(200, kExamples)});
  Add({.method = "depth_1", .kind = RunRecord::BASELINE}, FirstRight(300, kExamples), other);
  Add({.method = "cosformer"}, FirstRight(200, kExamples), other);
  const auto groups = GroupForProfiles(found_, "test", {}, &left_out_);
  ASSERT_TRUE(groups.ok()) << groups.status();
  ASSERT_EQ(groups->size(), 2u);
  for (const ProfileGroup& group : *groups) EXPECT_EQ(group.settings[0].rows.size(), 1u);
}

TEST_F(ProfileBoardTest, RepeatedBaselinesAreToldWhereTheyContradict) {
  AddRow("linear", {FirstRight(200, kExamples)});
  AddBaseline("depth_1", FirstRight(240, kExamples));
  AddBaseline("depth_1", FirstRight(240, kExamples));
  Group();
  EXPECT_THAT(left_out_, IsEmpty());
  AddBaseline("depth_1", FirstRight(250, kExamples));
  Group();
  EXPECT_THAT(left_out_, ElementsAre(HasSubstr("run3: repeats method, settings and seed")));
}

TEST_F(ProfileBoardTest, ExternalRowsAreNoBaselines) {
  Add({.method = "theirs", .kind = RunRecord::EXTERNAL}, FirstRight(200, kExamples));
  AddBaseline("majority", FirstRight(80, kExamples));
  const ProfileGroup group = Group();
  const ProfileBoard board = Board(group);
  ASSERT_EQ(group.settings.size(), 2u);
  EXPECT_EQ(group.settings[1].kind, RunRecord::EXTERNAL);
  EXPECT_EQ(board.rows[1][0].place, "above majority");
  EXPECT_THAT(ProfileBoardText(board), HasSubstr("**External predictions, scored here**"));
}

TEST_F(ProfileBoardTest, ChosenMethodsAndAllBaselines) {
  AddBaseline("majority", FirstRight(80, kExamples));
  AddRow("linear", {FirstRight(200, kExamples)});
  AddRow("cosformer", {FirstRight(100, kExamples)});
  const auto groups = GroupForProfiles(found_, "test", {"linear"}, &left_out_);
  ASSERT_TRUE(groups.ok()) << groups.status();
  ASSERT_EQ((*groups)[0].settings.size(), 2u);
  EXPECT_EQ((*groups)[0].settings[0].rows[0].label, "majority");
  ASSERT_EQ((*groups)[0].settings[1].rows.size(), 1u);
  EXPECT_EQ((*groups)[0].settings[1].rows[0].label, "linear");
  EXPECT_THAT(left_out_, IsEmpty());
  const auto none = GroupForProfiles(found_, "test", {"rfa"}, &left_out_);
  EXPECT_EQ(none.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(none.status().message()),
              HasSubstr("unknown method of these rows \"rfa\""));
}

// A seed without scores is still one of the row's.
TEST_F(ProfileBoardTest, CountsRunsWhoseScoresAreNotKept) {
  AddRow("linear", {FirstRight(200, kExamples), FirstRight(210, kExamples)});
  found_.runs.push_back(MakeRun({.method = "linear", .seed = 2}));
  found_.runs.back().record.mutable_results(0)->set_examples(kExamples);
  const ProfileGroup group = Group();
  EXPECT_EQ(group.settings[0].rows[0].all, 3);
  EXPECT_EQ(group.settings[0].rows[0].trained, 3);
  EXPECT_EQ(group.settings[0].rows[0].runs.size(), 2u);
}

TEST_F(ProfileBoardTest, StrataMustBeKnownOfEveryExample) {
  AddRow("linear", {FirstRight(200, kExamples)});
  strata_.of.pop_back();
  const ProfileGroup group = Group();
  const auto board = MakeProfileBoard(group, {absl::MakeConstSpan(&strata_, 1), {}, {}}, 0.95);
  EXPECT_EQ(board.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(board.status().message()),
              HasSubstr("400 scores, and depth is known of 399 examples"));
}

// Texts read as bytes, and as code points.
TEST_F(ProfileBoardTest, AGroupOfItsOwnSaysWhy) {
  AddRow("linear", {FirstRight(140, kExamples)});
  Add({.method = "linear"}, FirstRight(160, kExamples), [](RunRecord* record) {
    record->mutable_config()->mutable_view()->set_unit(DataView::CODE_POINT);
    record->mutable_data()->set_view_fingerprint("another");
  });
  const auto groups = GroupForProfiles(found_, "test", {}, &left_out_);
  ASSERT_TRUE(groups.ok()) << groups.status();
  ASSERT_EQ(groups->size(), 2u);
  EXPECT_EQ((*groups)[0].differs, "");
  EXPECT_THAT((*groups)[1].differs,
              AllOf(StartsWith("A table of its own: on listops it differs from the first in "),
                    HasSubstr("config.view.unit ("), HasSubstr("CODE_POINT here)")));
  const ProfileBoard first = Board((*groups)[0]), second = Board((*groups)[1]);
  EXPECT_THAT(ProfileBoardText(first), Not(HasSubstr("A table of its own")));
  EXPECT_THAT(ProfileBoardText(second), HasSubstr("\n" + (*groups)[1].differs + "\n"));
  const auto json = nlohmann::json::parse(ProfileBoardsJson({first, second}));
  EXPECT_FALSE(json[0].contains("differs"));
  EXPECT_EQ(json[1]["differs"], (*groups)[1].differs);
  EXPECT_NE(json[0]["view_fingerprint"], json[1]["view_fingerprint"]);
}

TEST_F(ProfileBoardTest, TextAndJson) {
  AddRow("linear", {FirstRight(140, kExamples), FirstRight(160, kExamples)});
  const ProfileGroup group = Group();
  const ProfileBoard board = Board(group);
  const std::string text = ProfileBoardText(board);
  EXPECT_THAT(text, HasSubstr("### listops, test split, 400 examples"));
  EXPECT_THAT(text, HasSubstr("By depth: how deep it is."));
  EXPECT_THAT(text, HasSubstr("**protocol fair@1, preset small**"));
  EXPECT_THAT(text, HasSubstr("linear, 2 runs"));
  EXPECT_THAT(text, Not(HasSubstr("lost")));  // without examples
  EXPECT_THAT(text, Not(HasSubstr("Places")));
  const auto json = nlohmann::json::parse(ProfileBoardsJson({board}));
  EXPECT_EQ(json[0]["rows"][0]["runs"][1]["seed"], 1);
  EXPECT_EQ(json[0]["rows"][0]["by"]["depth"]["easy"]["value"], 1.0);
  EXPECT_EQ(json[0]["rows"][0]["by"]["depth"]["lost"]["examples"], 0);
}

}  // namespace
}  // namespace lra
