// Tests of what the notes of a table say of data, models and machines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "eval/leaderboard.h"
#include "eval/leaderboard_test_util.h"

namespace lra {
namespace {

using ::lra::testing::MakeBaseline;
using ::lra::testing::MakeRun;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> NotesOf(const std::vector<LocatedRecord>& runs) {
  const auto board = BuildLeaderboard({.runs = runs, .unfinished = {}}, {}, {});
  EXPECT_TRUE(board.ok()) << board.status();
  return board.ok() ? board->tables.at(0).notes : std::vector<std::string>();
}

// Those of the notes that begin so.
std::vector<std::string> NotesThatBegin(const std::string& start,
                                        const std::vector<LocatedRecord>& runs) {
  std::vector<std::string> notes;
  for (const std::string& note : NotesOf(runs)) {
    if (absl::StartsWith(note, start)) notes.push_back(note);
  }
  return notes;
}

LocatedRecord OfSize(const std::string& task, int layers, int width) {
  LocatedRecord run = MakeRun({.task = task});
  run.record.mutable_config()->mutable_model()->set_layers(layers);
  run.record.mutable_config()->mutable_model()->set_width(width);
  return run;
}

LocatedRecord On(const std::string& cpu, const std::string& method, const std::string& task) {
  LocatedRecord run = MakeRun({.method = method, .task = task});
  run.record.mutable_machine()->set_cpu(cpu);
  run.record.mutable_machine()->set_kernels("avx2");
  return run;
}

TEST(LeaderboardDetailsTest, OldRecordsSayNothing) {
  for (const std::string& note : NotesOf({MakeRun({}), MakeBaseline("majority", 340)})) {
    EXPECT_THAT(note, Not(HasSubstr("training examples")));
    EXPECT_THAT(note, Not(HasSubstr("of width")));
    EXPECT_THAT(note, Not(HasSubstr("Trained on")));
  }
}

// The number of training examples is on no record; that of validation is where it was scored.
TEST(LeaderboardDetailsTest, OtherSplitsHaveTheirFingerprints) {
  LocatedRecord run = MakeRun({}), baseline = MakeBaseline("majority", 340);
  for (LocatedRecord* one : {&run, &baseline}) {
    auto& fingerprints = *one->record.mutable_data()->mutable_split_fingerprint();
    fingerprints["train"] = "cccc0123456789";
    fingerprints["validation"] = "dddd0123456789";
  }
  EXPECT_THAT(NotesOf({run, baseline}),
              Contains("listops: training examples (fingerprint cccc01234567), validation examples "
                       "(fingerprint dddd01234567)."));
  SplitResult& validation = *baseline.record.add_results();
  validation = baseline.record.results(0);
  validation.set_split("validation");
  validation.set_examples(1500);
  EXPECT_THAT(NotesOf({run, baseline}),
              Contains("listops: training examples (fingerprint cccc01234567), 1,500 validation "
                       "examples (fingerprint dddd01234567)."));
  *run.record.add_results() = validation;
  run.record.mutable_results(1)->set_checkpoint(kSelectedCheckpoint);
  run.record.mutable_results(1)->set_examples(400);
  run.record.mutable_results(1)->set_split_examples(1600);  // 400 of these
  EXPECT_THAT(NotesOf({run, baseline}), Contains(HasSubstr("), 1,600 validation examples (")));
}

TEST(LeaderboardDetailsTest, TasksOfOneSizeAreNamedTogether) {
  EXPECT_THAT(NotesThatBegin("listops, text", {OfSize("text", 2, 64), OfSize("listops", 2, 64)}),
              ElementsAre("listops, text: 2 layers of width 64."));
  const std::vector<LocatedRecord> unlike = {OfSize("listops", 2, 64), OfSize("text", 1, 128),
                                             OfSize("image", 2, 64)};
  EXPECT_THAT(NotesThatBegin("listops, image: ", unlike),
              ElementsAre("listops, image: 2 layers of width 64."));
  EXPECT_THAT(NotesThatBegin("text: 1", unlike), ElementsAre("text: 1 layer of width 128."));
}

TEST(LeaderboardDetailsTest, MethodsOfTheirOwnSizeAreNamed) {
  LocatedRecord linear = OfSize("listops", 2, 64), local = OfSize("listops", 4, 32);
  local.record.set_method("local");
  local.record.mutable_config()->mutable_attention()->set_name("local");
  for (const std::string path : {"model.layers", "model.width"})
    (*local.record.mutable_provenance())[path] = "protocol lra2020, listops/local";
  EXPECT_THAT(NotesThatBegin("listops: 2 layers", {linear, local}),
              ElementsAre("listops: 2 layers of width 64 (linear); 4 layers of width 32 (local)."));
}

TEST(LeaderboardDetailsTest, MachinesAreNamedOnceOrWithTheirRuns) {
  const LocatedRecord first = On("A", "linear", "listops");
  EXPECT_THAT(NotesThatBegin("Trained on", {first, On("A", "relu", "text")}),
              ElementsAre("Trained on A, kernels avx2."));
  EXPECT_THAT(
      NotesThatBegin("Trained on", {first, On("B", "relu", "listops"), On("B", "linear", "text")}),
      ElementsAre("Trained on A, kernels avx2 (listops: linear); B, kernels avx2 (listops: relu; "
                  "text)."));
  LocatedRecord device = On("A", "linear", "listops");
  device.record.mutable_machine()->set_device("NVIDIA H200, compute capability 9.0");
  EXPECT_THAT(NotesThatBegin("Trained on", {device}),
              ElementsAre("Trained on NVIDIA H200, compute capability 9.0 beside A."));
}

TEST(LeaderboardDetailsTest, ARunThatWentOnElsewhereHasBothMachines) {
  LocatedRecord run = On("A", "linear", "listops");
  run.record.add_stretch()->mutable_machine()->set_cpu("B");
  *run.record.add_stretch()->mutable_machine() = run.record.machine();
  EXPECT_THAT(NotesThatBegin("Trained on", {run}),
              ElementsAre("Trained on A, kernels avx2 (listops: linear); B (listops: linear)."));
}

// Baselines are no models that a machine trains.
TEST(LeaderboardDetailsTest, BaselinesHaveNoMachine) {
  LocatedRecord baseline = MakeBaseline("majority", 340);
  baseline.record.mutable_machine()->set_cpu("B");
  EXPECT_THAT(NotesThatBegin("Trained on", {MakeRun({}), baseline}), IsEmpty());
}

// The number is the first folder's, so the others' builds and machines made none.
TEST(LeaderboardDetailsTest, RunsThatRepeatAnotherMadeNoNumber) {
  LocatedRecord run = On("one CPU", "linear", "listops");
  run.record.mutable_versions()->set_commit("a35ade6");
  LocatedRecord repeat = run;
  repeat.directory = "runs/repeat";
  repeat.record.mutable_versions()->set_commit("d512fae-dirty");
  repeat.record.mutable_machine()->set_cpu("another CPU");
  const auto board = BuildLeaderboard({.runs = {run, repeat}, .unfinished = {}}, {}, {});
  ASSERT_TRUE(board.ok()) << board.status();
  EXPECT_THAT(board->left_out, ElementsAre(HasSubstr("runs/repeat: ")));
  EXPECT_THAT(board->tables.at(0).builds, IsEmpty());
  for (const std::string& note : board->tables[0].notes) {
    EXPECT_THAT(note, Not(HasSubstr("d512fae")));
    EXPECT_THAT(note, Not(HasSubstr("another CPU")));
  }
}

TEST(LeaderboardDetailsTest, ExternalRowsHaveTheirSeedsAndTheirView) {
  std::vector<LocatedRecord> runs;
  for (const uint32_t seed : {0, 1}) {
    runs.push_back(MakeRun({.method = "mine", .seed = seed, .kind = RunRecord::EXTERNAL}));
    DataView& view = *runs.back().record.mutable_config()->mutable_view();
    view.set_unit(DataView::BYTE);
    view.set_max_length_tokens(1000);
  }
  EXPECT_THAT(NotesOf(runs), Contains("listops: seeds of external rows mine 0, 1; view "
                                      "max_length_tokens=1000, unit=BYTE."));
}

// Three tables, of three protocols; only the last two have Text.
TEST(LeaderboardDetailsTest, ATableIsHeldAgainstTheNearestThatHasItsTask) {
  std::vector<LocatedRecord> runs = {MakeRun({})};
  for (const std::string protocol : {"lra2020@1", "s4@1"}) {
    runs.push_back(MakeRun({.task = "text"}));
    runs.back().record.mutable_config()->set_protocol(protocol);
  }
  const auto board = BuildLeaderboard({.runs = runs, .unfinished = {}}, {}, {});
  ASSERT_TRUE(board.ok()) << board.status();
  ASSERT_EQ(board->tables.size(), 3u);
  EXPECT_EQ(board->tables[0].differs, "");
  EXPECT_EQ(board->tables[1].differs, "A table of its own: it shares no task with the first.");
  EXPECT_EQ(board->tables[2].differs,
            "A table of its own: on text it differs from table 2 in config.protocol (lra2020@1 "
            "there, s4@1 here).");
}

}  // namespace
}  // namespace lra
