#include "eval/external_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datasets/data_test_util.h"
#include "datasets/npy.h"
#include "datasets/npy_test_util.h"
#include "eval/run_record.h"
#include "eval/sums.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ExternalRecordTest : public ::testing::Test {
 protected:
  ExternalRecordTest() {
    run_.name = "mine";
    run_.data.set_task("toy");
    run_.data.set_view_fingerprint("v");
    (*run_.data.mutable_split_fingerprint())["test"] = "abc";
    run_.spec.set_name("toy");
    run_.spec.set_classes(3);
    run_.split = "test";
    run_.labels = {2, 0, 1, 1};
    run_.taken_names = {"linear"};
    run_.command_line = "lra score";
    run_.files.predictions = JoinPath(folder_.path(), "p.npy");
    out_ = JoinPath(folder_.path(), "run");
  }

  template <class T>
  void Predict(const std::vector<T>& values, const std::vector<int64_t>& shape) {
    const std::string bytes(reinterpret_cast<const char*>(values.data()),
                            values.size() * sizeof(T));
    ASSERT_TRUE(WriteFileAtomically(run_.files.predictions,
                                    absl::StrCat(FormatNpyHeader(NpyTypeOf<T>(), shape), bytes))
                    .ok());
  }
  // Classes 2 0 0 1: three of four right.
  void PredictClasses() { Predict<int64_t>({2, 0, 0, 1}, {4}); }

  absl::StatusOr<RunRecord> Write() { return WriteExternalRecord(out_, run_); }
  std::string Refusal() {
    const absl::Status status = Write().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_FALSE(FileExists(JoinPath(out_, kRecordFile)));
    return std::string(status.message());
  }

  TestFolder folder_;
  ExternalRun run_;
  std::string out_;
};

TEST_F(ExternalRecordTest, LogitsOfAnyWidthAreScoredAndStored) {
  const std::vector<double> logits = {0, 0, 5, 2, 1, 0, 3, 1, 2, -1, 0, -2};  // 2 0 0 1
  std::vector<Half> halves;
  for (const double logit : logits) halves.push_back(Half::Nearest(static_cast<float>(logit)));
  for (const int width_bytes : {2, 4, 8}) {
    if (width_bytes == 2) Predict<Half>(halves, {4, 3});
    if (width_bytes == 4) Predict<float>({logits.begin(), logits.end()}, {4, 3});
    if (width_bytes == 8) Predict<double>(logits, {4, 3});
    const auto record = Write();
    ASSERT_TRUE(record.ok()) << record.status();
    EXPECT_EQ(record->kind(), RunRecord::EXTERNAL);
    EXPECT_EQ(record->method(), "mine");
    EXPECT_EQ(record->data().split_fingerprint().at("test"), "abc");
    const SplitResult& result = *FindResult(*record, "test");
    EXPECT_EQ(result.examples(), 4);
    EXPECT_EQ(CountOf(result.sums(), kCorrect), 3);
    const auto loss = [](double own, double a, double b) {
      return std::log(std::exp(own) + std::exp(a) + std::exp(b)) - own;
    };
    EXPECT_NEAR(TotalOf(result.sums(), kNats),
                loss(5, 0, 0) + loss(2, 1, 0) + loss(1, 3, 2) + loss(0, -1, -2), 1e-9);
    EXPECT_TRUE(CheckPredictions(out_, *record).ok());
  }
}

TEST_F(ExternalRecordTest, ClassesOfAnyIntegerTypeHaveNoLoss) {
  const auto check = [&] {
    const auto record = Write();
    ASSERT_TRUE(record.ok()) << record.status();
    EXPECT_EQ(CountOf(record->results(0).sums(), kCorrect), 3);
    EXPECT_TRUE(std::isnan(TotalOf(record->results(0).sums(), kNats)));
    EXPECT_THAT(record->description(), HasSubstr("no loss"));
    const auto stored = ReadNpyFloat(JoinPath(out_, "predictions.npy"));
    ASSERT_TRUE(stored.ok());
    EXPECT_THAT(stored->values, ElementsAre(0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 0));
    EXPECT_TRUE(EqualExceptVolatile(*ReadRunRecord(out_), *record));
  };
  PredictClasses(), check();
  Predict<int8_t>({2, 0, 0, 1}, {4}), check();
  Predict<int16_t>({2, 0, 0, 1}, {4}), check();
  Predict<int32_t>({2, 0, 0, 1}, {4}), check();
  Predict<uint8_t>({2, 0, 0, 1}, {4}), check();
  Predict<uint16_t>({2, 0, 0, 1}, {4}), check();
  Predict<uint32_t>({2, 0, 0, 1}, {4}), check();
  Predict<uint64_t>({2, 0, 0, 1}, {4}), check();
}

TEST_F(ExternalRecordTest, ErrorsNameWhatWasExpectedAndWhatCame) {
  Predict<int64_t>({2, 0, 0}, {3});
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("p.npy"), HasSubstr("3 examples"),
                               HasSubstr("the test split of toy has 4")));
  Predict<float>(std::vector<float>(8), {4, 2});
  EXPECT_THAT(Refusal(), HasSubstr("2 logits an example; toy has 3 classes"));
  Predict<float>(std::vector<float>(4), {4});
  EXPECT_THAT(Refusal(),
              HasSubstr("<f4 of shape (4); expected logits [examples, 3] of float16, float32 or "
                        "float64, or classes [examples] of an integer type"));
  Predict<int64_t>(std::vector<int64_t>(12), {4, 3});
  EXPECT_THAT(Refusal(), HasSubstr("<i8 of shape (4, 3)"));
  std::vector<double> logits(12);
  logits[7] = std::nan("");
  Predict<double>(logits, {4, 3});
  EXPECT_THAT(Refusal(), HasSubstr("row 2, class 1: the logit nan is not a finite"));
  logits[7] = 1e300;
  Predict<double>(logits, {4, 3});
  EXPECT_THAT(Refusal(), HasSubstr("1e+300 is not a finite float32"));
  Predict<int8_t>({2, 0, 0, 3}, {4});
  EXPECT_THAT(Refusal(), HasSubstr("row 3: class 3 is outside 0 .. 2"));
  Predict<int8_t>({2, -1, 0, 1}, {4});
  EXPECT_THAT(Refusal(), HasSubstr("row 1: class -1 is outside"));
  Predict<uint64_t>({2, 0, std::numeric_limits<uint64_t>::max(), 1}, {4});
  EXPECT_THAT(Refusal(), HasSubstr("row 2: class 18446744073709551615 is outside"));
}

// Rows in another order than the data set's score like the majority class: without an index that is
// said, with one the rows are put in order.
TEST_F(ExternalRecordTest, AMisorderIsSuspectedAloudAndAnIndexMendsIt) {
  run_.labels.clear();
  std::vector<int64_t> classes, index;
  for (int64_t i = 0; i < 90; ++i) {
    run_.labels.push_back(static_cast<int32_t>(i % 3));
    run_.indices.push_back(1000 + i);
    index.push_back(1000 + (i + 1) % 90);
    classes.push_back((i + 1) % 3);  // right for the example of the row's index
  }
  Predict<int64_t>(classes, {90});
  auto record = Write();
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(CountOf(record->results(0).sums(), kCorrect), 0);
  ASSERT_EQ(record->warning_size(), 1);
  EXPECT_THAT(record->warning(0),
              AllOf(HasSubstr("test accuracy 0.00 % (0 of 90"),
                    HasSubstr("not above the majority class, 33.33 %"), HasSubstr("--index")));

  run_.files.index = folder_.File("i.npy");
  const std::string bytes(reinterpret_cast<const char*>(index.data()), index.size() * 8);
  ASSERT_TRUE(
      WriteFileAtomically(run_.files.index, FormatNpyHeader(NpyType::kInt64, {90}) + bytes).ok());
  record = Write();
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(CountOf(record->results(0).sums(), kCorrect), 90);
  EXPECT_EQ(record->warning_size(), 0);
}

// A record of two splits keeps what it says of the one that is not scored anew.
TEST_F(ExternalRecordTest, AWarningStaysWithItsSplit) {
  run_.labels.clear();
  std::vector<int64_t> wrong, right;
  for (int64_t i = 0; i < 90; ++i) {
    run_.labels.push_back(static_cast<int32_t>(i % 3));
    run_.indices.push_back(1000 + i);
    right.push_back(i % 3);
    wrong.push_back((i + 1) % 3);
  }
  Predict<int64_t>(wrong, {90});
  ASSERT_TRUE(Write().ok());
  run_.split = "validation";
  for (int i = 0; i < 2; ++i) {
    Predict<int64_t>(i == 0 ? wrong : right, {90});
    const auto both = Write();
    ASSERT_TRUE(both.ok()) << both.status();
    EXPECT_THAT(both->warning(), testing::Contains(HasSubstr("test accuracy 0.00 %")));
    EXPECT_EQ(both->warning_size(), i == 0 ? 2 : 1);
  }
}

TEST_F(ExternalRecordTest, ThePredictionsOfAnotherSeedAreWarnedOf) {
  const auto warnings = [&](const std::string& folder, uint32_t seed) {
    out_ = JoinPath(folder_.path(), folder);
    run_.seed = seed;
    const auto record = Write();
    EXPECT_TRUE(record.ok()) << record.status();
    return std::vector<std::string>(record->warning().begin(), record->warning().end());
  };
  const auto repeats = [](const std::string& words) {
    return HasSubstr("test predictions are those of seed 0 in external-mine beside it, " + words);
  };
  Predict<float>({0, 0, 5, 2, 1, 0, 3, 1, 2, -1, 0, -2}, {4, 3});
  EXPECT_THAT(warnings("external-mine", 0), Not(Contains(HasSubstr("predictions are those"))));
  for (int i = 0; i < 2; ++i) {  // again: the warning is replaced
    EXPECT_THAT(warnings("external-mine-s1", 1),
                Contains(repeats("bit for bit: tables count one run")).Times(1));
  }
  // Labels of another task's examples may well be the same.
  run_.data.set_task("other");
  EXPECT_THAT(warnings("external-mine-other-s1", 1),
              Not(Contains(HasSubstr("predictions are those"))));
  run_.data.set_task("toy");
  Predict<float>({0, 0, 4, 2, 1, 0, 3, 1, 2, -1, 0, -2}, {4, 3});
  EXPECT_THAT(warnings("external-mine-s1", 1), Not(Contains(HasSubstr("predictions are those"))));
}

TEST_F(ExternalRecordTest, NamesThatAreTakenOrUnfit) {
  PredictClasses();
  run_.name = "linear";
  EXPECT_THAT(Refusal(), HasSubstr("\"linear\" is an attention or a baseline of this program"));
  for (const char* name : {"", "../up", "-x", "a b", "a/b"}) {
    run_.name = name;
    EXPECT_THAT(Refusal(), HasSubstr("letters, digits"));
  }
  EXPECT_EQ(ExternalDirectory("runs", "toy", "mine", 0), "runs/external-mine-toy");
  EXPECT_EQ(ExternalDirectory("runs", "toy", "mine", 2), "runs/external-mine-toy-s2");
}

TEST_F(ExternalRecordTest, LooksAtTheTestSplitAddUpUnlessNothingIsNew) {
  PredictClasses();
  EXPECT_EQ(Write()->test_looks_size(), 1);
  EXPECT_EQ(Write()->test_looks_size(), 1);
  Predict<int64_t>({2, 0, 1, 1}, {4});
  EXPECT_EQ(Write()->test_looks_size(), 2);
}

TEST_F(ExternalRecordTest, OtherSplitsStay) {
  PredictClasses();
  ASSERT_TRUE(Write().ok());
  run_.split = "validation";
  run_.labels = {1};
  Predict<int64_t>({1}, {1});
  const auto record = Write();
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(CountOf(FindResult(*record, "test")->sums(), kCorrect), 3);
  EXPECT_EQ(CountOf(FindResult(*record, "validation")->sums(), kCorrect), 1);
  EXPECT_EQ(record->test_looks_size(), 1);
  EXPECT_TRUE(CheckPredictions(out_, *record).ok());
}

TEST_F(ExternalRecordTest, AFolderOfAnythingElseIsLeftAlone) {
  PredictClasses();
  ASSERT_TRUE(Write().ok());
  const auto refuses = [&](const std::string& words) {
    const absl::Status status = Write().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  };
  run_.name = "other";
  refuses("holds the external row mine, seed 0");
  run_.name = "mine";
  run_.seed = 1;
  refuses("holds the external row mine, seed 0");
  run_.seed = 0;
  run_.data.set_view_fingerprint("w");
  refuses("another view");
  RunRecord trained;
  trained.set_kind(RunRecord::MEASURED);
  trained.set_method("linear");
  ASSERT_TRUE(WriteRunRecord(out_, trained).ok());
  refuses("holds a run of linear");
}

// The data set says which task it is, the view what of it is scored.
TEST(OpenExternalRunTest, TakesTaskViewAndLabelsFromTheData) {
  const TestFolder folder;
  TaskSpec spec;
  spec.set_name("listops");
  spec.set_version(1);
  spec.set_vocabulary_size(16);
  spec.set_max_length_tokens(40);
  spec.set_classes(3);
  spec.set_close_bracket_id(15);
  WriteTestData(folder.path(), spec,
                {{"train", {{{1, 2}, {}, 0}}},
                 {"validation", {{{3}, {}, 2}}},
                 {"test", {{{1, 2, 3}, {}, 2}, {{4}, {}, 0}, {{5, 6}, {}, 1}}}});
  ExternalRequest request = {.data_dir = folder.path()};
  request.view.sets = {"max_length_tokens=2"};
  const auto run = OpenExternalRun(request);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->data.task(), "listops");
  EXPECT_EQ(run->split, "test");
  EXPECT_THAT(run->labels, ElementsAre(2, 0, 1));
  EXPECT_THAT(run->indices, ElementsAre(0, 1, 2));
  EXPECT_EQ(run->view.max_length_tokens(), 2);
  EXPECT_EQ(run->spec.max_length_tokens(), 2);
  EXPECT_GT(run->unix_seconds, 0);
  request.split = "validation";
  EXPECT_THAT(OpenExternalRun(request)->labels, ElementsAre(2));
  request.view.sets = {"max_length=2"};
  EXPECT_THAT(std::string(OpenExternalRun(request).status().message()),
              HasSubstr("max_length_tokens"));
  // One label an example would have been scored as if it were the one token guessed of it.
  for (const std::string target : {"NEXT", "MASKED"}) {
    request.view.sets = {"target=" + target};
    const absl::Status status = OpenExternalRun(request).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("task listops: its tokens are guessed (view.target=" + target),
                      HasSubstr("one label an example")));
  }
  request.data_dir = folder.File("nothing");
  EXPECT_EQ(OpenExternalRun(request).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace lra
