#include "eval/run_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "datasets/npy_test_util.h"
#include "eval/leaderboard_test_util.h"
#include "eval/sums.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using ::lra::testing::MakeRun;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class RunRecordTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.File(name); }

  const TestFolder folder_;
  const std::string& root_ = folder_.path();
};

// Changes one byte in the middle of a file.
void FlipByte(const std::string& path) {
  std::string bytes = *ReadFile(path);
  bytes[bytes.size() / 2] ^= 1;
  ASSERT_TRUE(WriteFileAtomically(path, bytes).ok());
}

TEST_F(RunRecordTest, RoundTripAndJsonTwin) {
  const RunRecord record = MakeRun({.seed = 3}).record;
  ASSERT_TRUE(WriteRunRecord(Path("run"), record).ok());
  const auto read = ReadRunRecord(Path("run"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->schema_version(), kRecordSchemaVersion);
  EXPECT_EQ(CountOf(read->results(0).sums(), kCorrect), 700);
  const auto json = nlohmann::json::parse(*ReadFile(Path("run/record.json")));
  EXPECT_EQ(json["method"], "linear");
  EXPECT_EQ(json["seed"], 3);
}

TEST_F(RunRecordTest, ARunWithoutARecordSaysWhatThatMeans) {
  ASSERT_TRUE(MakeDirectories(Path("killed/checkpoint/step-10")).ok());
  const absl::Status status = ReadRunRecord(Path("killed")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(),
            Path("killed") + ": has no record; it failed, was stopped or is still going");
  // What is no run has not failed either.
  EXPECT_THAT(std::string(ReadRunRecord(root_).status().message()),
              AllOf(HasSubstr(kRecordFile), Not(HasSubstr("failed"))));
}

TEST_F(RunRecordTest, AFlippedByteIsDataLossNamingTheFile) {
  ASSERT_TRUE(WriteRunRecord(Path("run"), MakeRun({}).record).ok());
  FlipByte(Path("run/record.textproto"));
  const auto read = ReadRunRecord(Path("run"));
  EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(read.status().message()), HasSubstr(Path("run/record.textproto")));
  // Where many records are read, it is not skipped either.
  ASSERT_TRUE(WriteRunRecord(Path("good"), MakeRun({}).record).ok());
  EXPECT_EQ(FindRunRecords({root_}).status().code(), absl::StatusCode::kDataLoss);
  // Unless it is asked for: then the others are there, and it is named.
  const auto found = FindRunRecords({root_}, Damaged::kSetAside);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->runs.size(), 1u);
  EXPECT_THAT(found->damaged, ElementsAre(HasSubstr(Path("run/record.textproto"))));
  EXPECT_EQ(FindRunRecords({Path("run")}, Damaged::kSetAside).status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_TRUE(DamagedRecords({}, "the table").ok());
  EXPECT_THAT(std::string(DamagedRecords(found->damaged, "the table").message()),
              AllOf(HasSubstr("1 record cannot be read and is not in the table: "),
                    HasSubstr(Path("run/record.textproto"))));
}

TEST_F(RunRecordTest, FindsRunsAtAnyDepthOnce) {
  ASSERT_TRUE(WriteRunRecord(Path("b/deep/run"), MakeRun({.method = "b"}).record).ok());
  ASSERT_TRUE(WriteRunRecord(Path("a"), MakeRun({.method = "a"}).record).ok());
  ASSERT_TRUE(
      WriteRunRecord(Path("a/evaluations/test-step-1"), MakeRun({.method = "inner"}).record).ok());
  ASSERT_TRUE(MakeDirectories(Path("killed/checkpoint/step-10")).ok());
  const auto found = FindRunRecords({root_, Path("a"), root_ + "/"});
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->runs.size(), 2);
  EXPECT_EQ(found->runs[0].record.method(), "a");
  EXPECT_EQ(found->runs[1].record.method(), "b");
  EXPECT_EQ(found->runs[1].directory, Path("b/deep/run"));
  EXPECT_THAT(found->unfinished, ElementsAre(Path("killed")));
  // A folder inside a run is read if it is named itself.
  EXPECT_EQ(FindRunRecords({Path("a/evaluations")})->runs.at(0).record.method(), "inner");
}

// Looking at a link to itself fails with an error that is not "there is no such file".
TEST_F(RunRecordTest, WhatCannotBeLookedAtHoldsNoRun) {
  ASSERT_TRUE(WriteRunRecord(Path("a"), MakeRun({}).record).ok());
  std::filesystem::create_symlink("loop", Path("loop"));
  const auto found = FindRunRecords({root_});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->runs.size(), 1u);
  std::filesystem::create_directories(Path("b"));
  std::filesystem::create_symlink("checkpoint", Path("b/checkpoint"));
  EXPECT_EQ(FindRunRecords({root_})->runs.size(), 1u);
}

TEST_F(RunRecordTest, NothingToFindIsWrongUse) {
  EXPECT_EQ(FindRunRecords({Path("missing")}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FindRunRecords({root_}).status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(WriteFileAtomically(Path("file"), "x").ok());
  EXPECT_EQ(FindRunRecords({Path("file")}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(RunRecordTest, PredictionsAreStoredScoredAndChecked) {
  const std::vector<float> logits = {0, 1, 1, 0, 0, 1};
  const std::vector<int32_t> labels = {1, 1, 1};
  SplitPredictions predictions;
  predictions.split = "test";
  predictions.logits = logits;
  predictions.labels = labels;
  TaskSpec spec;
  spec.set_classes(2);
  predictions.spec = &spec;
  const auto result = StorePredictions(Path("run"), predictions);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(CountOf(result->sums(), kCorrect), 2);
  EXPECT_EQ(result->examples(), 3);
  EXPECT_THAT(result->confusion(), ElementsAre(0, 0, 1, 2));
  const auto stored = ReadNpyFloat(Path("run/predictions.npy"));
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(stored->values, logits);
  EXPECT_THAT(stored->shape, ElementsAre(3, 2));

  RunRecord record;
  record.mutable_spec()->set_classes(2);
  *record.add_results() = *result;
  EXPECT_TRUE(CheckPredictions(Path("run"), record).ok());
  FlipByte(Path("run/predictions.npy"));
  const absl::Status flipped = CheckPredictions(Path("run"), record);
  EXPECT_EQ(flipped.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(flipped.message()), HasSubstr("predictions.npy: was changed"));
  ASSERT_TRUE(WriteFileAtomically(Path("run/predictions.npy"), "short").ok());
  EXPECT_THAT(std::string(CheckPredictions(Path("run"), record).message()),
              HasSubstr("has 5 bytes"));
  ASSERT_TRUE(RemoveAll(Path("run")).ok());
  EXPECT_THAT(std::string(CheckPredictions(Path("run"), record).message()),
              HasSubstr("is missing"));
}

// The first example's logits are equal in float16: what is scored are those of float32.
TEST_F(RunRecordTest, HalfLogitsTakeHalfTheBytesAndChangeNoScore) {
  const std::vector<float> logits = {1.0001f, 1.0002f, 1, 0.1f, 0, 1};
  const std::vector<int32_t> labels = {1, 1, 1};
  TaskSpec spec;
  spec.set_classes(2);
  SplitPredictions predictions = {
      .split = "test", .logits = logits, .labels = labels, .spec = &spec};
  const auto whole = StorePredictions(Path("whole"), predictions);
  predictions.half_logits = true;
  const auto half = StorePredictions(Path("half"), predictions);
  ASSERT_TRUE(whole.ok() && half.ok()) << whole.status() << half.status();
  EXPECT_EQ(CountOf(half->sums(), kCorrect), 2);
  EXPECT_EQ(TotalOf(half->sums(), kNats), TotalOf(whole->sums(), kNats));
  EXPECT_EQ(*FileSizeBytes(Path("half/predictions.npy")), 128 + 6 * 2);
  EXPECT_EQ(*FileSizeBytes(Path("whole/predictions.npy")), 128 + 6 * 4);

  RunRecord record;
  record.mutable_spec()->set_classes(2);
  *record.add_results() = *half;
  EXPECT_TRUE(CheckPredictions(Path("half"), record).ok());
  record.mutable_results(0)->set_examples(100);
  EXPECT_THAT(std::string(CheckPredictions(Path("half"), record).message()),
              HasSubstr("has 140 bytes; 100 x 2 logits need more than 400"));
}

TEST_F(RunRecordTest, AConfusionMatrixCountsEveryExampleOnce) {
  RunRecord record = MakeRun({}).record;
  record.mutable_spec()->set_classes(2);
  for (const int64_t count : {500, 800, 500, 200}) record.mutable_results(0)->add_confusion(count);
  ASSERT_TRUE(WriteRunRecord(Path("run"), record).ok());
  EXPECT_EQ(ReadRunRecord(Path("run"))->results(0).confusion_size(), 4);
  record.mutable_results(0)->set_confusion(0, 501);
  ASSERT_TRUE(WriteRunRecord(Path("run"), record).ok());
  EXPECT_THAT(std::string(ReadRunRecord(Path("run")).status().message()),
              HasSubstr("confusion: has 4 counts of 2001 examples or more, must be 4 of 2000"));
  record.mutable_results(0)->set_confusion(0, -500);
  ASSERT_TRUE(WriteRunRecord(Path("run"), record).ok());
  EXPECT_THAT(std::string(ReadRunRecord(Path("run")).status().message()),
              HasSubstr("has the count -500, must be 0 to 2000"));
}

// Their sum is 2^64 + 2^48: 64 bits hold what is left of it, the number of examples.
TEST_F(RunRecordTest, ASumOfCountsDoesNotWrapAround) {
  RunRecord record = MakeRun({}).record;
  record.mutable_spec()->set_classes(257);
  SplitResult* const result = record.mutable_results(0);
  result->set_examples(int64_t{1} << 48);
  for (int i = 0; i < 257 * 257; ++i) result->add_confusion(i <= 65536 ? int64_t{1} << 48 : 0);
  ASSERT_TRUE(WriteRunRecord(Path("run"), record).ok());
  const absl::Status status = ReadRunRecord(Path("run")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("confusion: has 66049 counts of 562949953421312 examples or more, must be "
                        "66049 of 281474976710656"));
}

TEST_F(RunRecordTest, MoreLogitsThanAFileHoldsAreRefused) {
  const std::vector<float> logits = {0, 1};
  const std::vector<int32_t> labels = {1};
  TaskSpec spec;
  spec.set_classes(2);
  const auto result = StorePredictions(
      Path("run"), {.split = "test", .logits = logits, .labels = labels, .spec = &spec});
  ASSERT_TRUE(result.ok()) << result.status();
  RunRecord record;
  record.mutable_spec()->set_classes(std::numeric_limits<int32_t>::max());
  *record.add_results() = *result;
  record.mutable_results(0)->set_examples(int64_t{1} << 48);
  const absl::Status status = CheckPredictions(Path("run"), record);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("281474976710656 x 2147483647 logits need more than 9223372036854775807"));
}

TEST(DiffRecordsTest, VolatileFieldsAreLeftOut) {
  RunRecord a = MakeRun({}).record, b = a;
  b.set_finished_unix_seconds(7);
  b.mutable_machine()->set_cpu("other");
  b.mutable_efficiency()->set_resumes(3);
  b.mutable_versions()->set_commit("abc");
  a.add_test_looks()->set_command("lra baseline listops");
  b.add_test_looks()->set_command("lra baseline listops --out elsewhere");
  EXPECT_TRUE(DiffRecords(a, b).empty());
  EXPECT_TRUE(EqualExceptVolatile(a, b));
}

TEST(DiffRecordsTest, ConfigFirstResultsLastCurveOnce) {
  RunRecord a = MakeRun({}).record;
  for (int step : {10, 20, 30}) a.add_curve()->set_step(step);
  RunRecord b = a;
  (*b.mutable_results(0)->mutable_sums()->mutable_counts())[kCorrect] = 701;
  b.mutable_config()->mutable_train()->set_steps(99);
  b.mutable_config()->mutable_model()->set_layers(2);
  b.mutable_data()->set_origin("imported");
  for (CurvePoint& point : *b.mutable_curve()) point.set_train_loss(1.5);
  EXPECT_FALSE(EqualExceptVolatile(a, b));
  const auto differences = DiffRecords(a, b);
  ASSERT_EQ(differences.size(), 5);
  EXPECT_EQ(differences[0].path, "config.train.steps");
  EXPECT_EQ(differences[0].a, "150");
  EXPECT_EQ(differences[0].b, "99");
  EXPECT_EQ(differences[1].path, "config.model.layers");
  EXPECT_EQ(differences[1].a, "(unset)");
  EXPECT_EQ(differences[2].path, "data.origin");
  EXPECT_THAT(differences[3].path, StartsWith("curve[0].train_loss (and 2 more"));
  EXPECT_EQ(differences[4].path, "results[test selected].correct");
}

// Numbers that are always there are 0 where protobuf does not write them.
TEST(DiffRecordsTest, SeedZeroIsANumber) {
  RunRecord a = MakeRun({}).record, b = a;
  a.set_seed(0);
  b.set_seed(1);
  const auto differences = DiffRecords(a, b);
  ASSERT_EQ(differences.size(), 1);
  EXPECT_EQ(differences[0].path, "seed");
  EXPECT_EQ(differences[0].a, "0");
  EXPECT_EQ(DiffRecords(b, a)[0].b, "0");
}

TEST(DiffRecordsTest, ResultsAreComparedBySplit) {
  const RunRecord a = MakeRun({}).record;
  RunRecord b = a;
  *b.add_results() = a.results(0);
  b.mutable_results(0)->set_split("validation");
  for (const FieldDifference& difference : DiffRecords(a, b)) {
    EXPECT_THAT(difference.path, StartsWith("results[validation selected]."));
    EXPECT_EQ(difference.a, "(unset)");
  }
}

TEST(FindResultTest, PrefersTheSelectedCheckpoint) {
  RunRecord record = MakeRun({}).record;
  EXPECT_EQ(CountOf(FindResult(record, "test")->sums(), kCorrect), 700);
  EXPECT_EQ(FindResult(record, "validation"), nullptr);
  record.mutable_results(0)->set_checkpoint(kLastCheckpoint);
  EXPECT_EQ(FindResult(record, "test"), nullptr);
}

// Such counts aborted the program when a table asked for their interval.
TEST_F(RunRecordTest, CountsThatCannotBeAreRefusedByField) {
  const auto refusal = [this](const std::string& name, int64_t value) {
    RunRecord record = MakeRun({}).record;
    SplitResult* result = record.mutable_results(0);
    if (name == "examples") {
      result->set_examples(value);
    } else {
      (*result->mutable_sums()->mutable_counts())[name] = value;
    }
    EXPECT_TRUE(WriteRunRecord(Path("run"), record).ok());
    const absl::Status status = ReadRunRecord(Path("run")).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << name;
    return std::string(status.message());
  };
  const std::string where = Path("run/record.textproto") + ": results[0].";
  EXPECT_EQ(refusal("correct", -1), where + "sums.counts[correct]: is -1, must be 0 to 2^48");
  EXPECT_EQ(refusal("correct", 1000000),
            where + "sums.counts[correct]: is 1000000, must be at most sums.counts[targets], 2000");
  EXPECT_EQ(refusal("targets", int64_t{1} << 60),
            where + "sums.counts[targets]: is 1152921504606846976, must be 0 to 2^48");
  EXPECT_EQ(refusal("examples", -5), where + "examples: is -5, must be 0 to 2^48");
  EXPECT_EQ(refusal("sequences", 2001),
            where + "sums.counts[sequences]: is 2001, must be at most examples, 2000");
  EXPECT_EQ(refusal("exact", 7),
            where + "sums.counts[exact]: is 7, must be at most sums.counts[sequences], 0");
}

// Such times filled the memory with the ticks of a figure's axis.
TEST_F(RunRecordTest, TimesThatCannotBeAreRefusedByField) {
  const auto read = [this](double wall_seconds, double pretrain_seconds) {
    RunRecord record = MakeRun({}).record;
    record.mutable_efficiency()->set_wall_seconds(wall_seconds);
    record.mutable_pretrain()->set_seconds(pretrain_seconds);
    EXPECT_TRUE(WriteRunRecord(Path("run"), record).ok());
    return ReadRunRecord(Path("run")).status();
  };
  EXPECT_TRUE(read(0, 1e12).ok());
  const double infinity = std::numeric_limits<double>::infinity();
  const std::string where = Path("run/record.textproto") + ": ";
  EXPECT_EQ(read(infinity, 1).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(read(infinity, 1).message(),
            where + "efficiency.wall_seconds: is inf, must be 0 to 1e12");
  EXPECT_EQ(read(1, -2).message(), where + "pretrain.seconds: is -2, must be 0 to 1e12");
  EXPECT_FALSE(read(std::numeric_limits<double>::quiet_NaN(), 1).ok());
  EXPECT_FALSE(read(2e12, 1).ok());
  RunRecord record = MakeRun({}).record;
  record.mutable_efficiency()->set_cpu_seconds(-3);
  ASSERT_TRUE(WriteRunRecord(Path("run"), record).ok());
  EXPECT_EQ(ReadRunRecord(Path("run")).status().message(),
            where + "efficiency.cpu_seconds: is -3, must be 0 to 1e12");
}

TEST_F(RunRecordTest, FilesLieInTheRecordsFolder) {
  const auto refusal = [this](const std::string& predictions, const std::string& scores) {
    RunRecord record = MakeRun({}).record;
    SplitResult* result = record.mutable_results(0);
    result->set_predictions_file(predictions);
    result->set_predictions_sha256("00");
    result->add_example_scores()->set_file(scores);
    EXPECT_TRUE(WriteRunRecord(Path("run"), record).ok());
    return ReadRunRecord(Path("run")).status();
  };
  EXPECT_TRUE(refusal("predictions.npy", "accuracy.npy").ok());
  const std::string where = Path("run/record.textproto") + ": results[0].";
  const std::string right =
      "\", must be the name of a file in the folder of the record, without \"/\"";
  for (const std::string name : {"../../etc/passwd", "/etc/passwd", "a/b.npy", ".", "..", ""}) {
    const absl::Status predictions = refusal(name, "accuracy.npy");
    EXPECT_EQ(predictions.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(predictions.message(), where + "predictions_file: is \"" + name + right);
    EXPECT_EQ(refusal("predictions.npy", name).message(),
              where + "example_scores[0].file: is \"" + name + right);
  }
}

}  // namespace
}  // namespace lra
