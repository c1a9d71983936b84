// Attention maps of models that were trained for a step on random data of their task.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "datasets/loader.h"
#include "datasets/npy_test_util.h"
#include "inspect/attention_maps.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "run_folder/test_looks.h"
#include "tests/random_task_request.h"
#include "train/trainer.h"

namespace lra {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class AttendTest : public testing::Test {
 protected:
  // A request about a run of one step.
  AttendRequest Trained(const std::string& task, const std::vector<std::string>& sets = {},
                        const std::string& attention = "transformer") {
    WriteRandomTask(task, folder_.File("data"));
    std::vector<std::string> all = {"train.steps=1", "train.eval_every_steps=1"};
    all.insert(all.end(), sets.begin(), sets.end());
    const TrainRequest request = RandomTaskRequest(task, "fair", all, folder_, "run", attention);
    EXPECT_TRUE(TrainRun(request).ok());
    AttendRequest attend;
    attend.checkpoint = folder_.File("run");
    attend.out_dir = folder_.File("maps");
    attend.examples = 2;
    attend.quiet = true;
    return attend;
  }
  FloatArray Array(const std::string& file) {
    const auto array = ReadNpyFloat(folder_.File("maps/" + file));
    EXPECT_TRUE(array.ok()) << array.status();
    return array.value_or(FloatArray());
  }

  const TestFolder folder_;
};

// Images have maps without a flag, and what the keys receive is folded back into the picture.
TEST_F(AttendTest, ImagesFitAndAreFoldedBack) {
  AttendRequest request = Trained("image", {"model.pooling=CLS"});
  request.layer = 0;
  const auto attended = AttendCheckpoint(request);
  ASSERT_TRUE(attended.ok()) << attended.status();
  EXPECT_EQ(attended->max_tokens, kMaxImageMapTokens);
  EXPECT_TRUE(attended->tokens.empty());
  EXPECT_THAT(attended->maps.back().files,
              AllOf(Contains("layer0-picture.npy"), Contains("layer0-picture.png")));
  const FloatArray mean = Array("layer0-mean.npy"), picture = Array("layer0-picture.npy");
  EXPECT_EQ(mean.shape, (std::vector<int64_t>{1025, 1025}));
  ASSERT_EQ(picture.shape, (std::vector<int64_t>{32, 32}));
  double received = 0;  // by the pixel in row 1, column 2; key 0 is CLS
  for (int64_t i = 0; i < 1025; ++i) received += mean.values[i * 1025 + 1 + 32 + 2];
  EXPECT_NEAR(picture.values[32 + 2], received / 1025, 1e-7);
}

TEST_F(AttendTest, OneExampleHasItsTokensNamed) {
  AttendRequest request = Trained("listops");
  request.example = 3;
  const auto attended = AttendCheckpoint(request);
  ASSERT_TRUE(attended.ok()) << attended.status();
  EXPECT_THAT(attended->examples, testing::ElementsAre(3));
  const int64_t tokens = attended->maps.front().tokens;
  ASSERT_EQ(static_cast<int64_t>(attended->tokens.size()), tokens);
  EXPECT_EQ(Array("all-mean.npy").shape, (std::vector<int64_t>{tokens, tokens}));
  const auto json = nlohmann::json::parse(*ReadFile(folder_.File("maps/maps.json")));
  EXPECT_EQ(json["examples"], std::vector<int64_t>{3});
  EXPECT_EQ(json["tokens"], attended->tokens);
  // The names are those of the example's ids.
  const auto data = Dataset::Open(folder_.File("data"), {.splits = {"validation"}});
  ASSERT_TRUE(data.ok()) << data.status();
  const auto split = SplitView::Create(*data, "validation", DataView());
  ASSERT_TRUE(split.ok()) << split.status();
  std::vector<int32_t> ids;
  split->Read(3, &ids);
  for (int64_t i = 0; i < tokens; ++i)
    EXPECT_EQ(attended->tokens[i], data->spec().token_names(ids[i]));

  request.example = 10;
  EXPECT_THAT(std::string(AttendCheckpoint(request).status().message()),
              HasSubstr("--example: is 10, must be 0 to 9, a place in split validation"));
  request.example = 3;
  request.max_tokens = 1;
  EXPECT_THAT(std::string(AttendCheckpoint(request).status().message()),
              HasSubstr("--max-tokens: is 1, but example 3 has "));
}

// Where the next token is guessed, a vector stands in front, whatever pooling says; where hidden
// ones are, none does, and hidden tokens are not named: the model does not see them.
TEST_F(AttendTest, TokensThatAreGuessedHaveTheirOwnNames) {
  struct {
    std::vector<std::string> sets;
    bool has_cls;
  } const cases[] = {{{"view.target=NEXT", "attention.causal=true"}, true},
                     {{"view.target=MASKED", "model.pooling=CLS"}, false}};
  for (const auto& [sets, has_cls] : cases) {
    SCOPED_TRACE(sets[0]);
    const TestFolder folder;
    WriteRandomTask("listops", folder.File("data"));
    std::vector<std::string> all = {"train.steps=1", "train.eval_every_steps=1"};
    all.insert(all.end(), sets.begin(), sets.end());
    ASSERT_TRUE(TrainRun(RandomTaskRequest("listops", "fair", all, folder, "run")).ok());
    AttendRequest request;
    request.checkpoint = folder.File("run");
    request.out_dir = folder.File("maps");
    request.example = 3;
    request.quiet = true;
    const auto attended = AttendCheckpoint(request);
    ASSERT_TRUE(attended.ok()) << attended.status();
    const auto data = Dataset::Open(folder.File("data"), {.splits = {"validation"}});
    ASSERT_TRUE(data.ok()) << data.status();
    DataView view;
    view.set_max_length_tokens(48);  // as RandomTaskRequest
    if (!has_cls) view.set_target(DataView::MASKED);
    const auto split = SplitView::Create(*data, "validation", view);
    ASSERT_TRUE(split.ok()) << split.status();
    const HostBatch read = MakeBatch(*split, {3});
    std::vector<std::string> names;
    if (has_cls) names.emplace_back("<cls>");
    for (int32_t i = 0; i < read.lengths[0]; ++i) {
      const bool is_hidden = !has_cls && read.hidden[i] == 1;
      names.push_back(is_hidden ? "<mask>" : data->spec().token_names(read.tokens[i]));
    }
    EXPECT_EQ(attended->tokens, names);
    EXPECT_EQ(absl::c_count(names, "<mask>") > 0, !has_cls);
    EXPECT_EQ(attended->maps.front().tokens, static_cast<int64_t>(names.size()));
    request.max_tokens = static_cast<int64_t>(names.size()) - 1;
    EXPECT_THAT(std::string(AttendCheckpoint(request).status().message()),
                HasSubstr("example 3 has " + std::to_string(names.size()) + " tokens"));
  }
}

// A letter is itself, whether texts are read as bytes or as code points.
TEST_F(AttendTest, CodePointsThatAreAsciiAreCharacters) {
  AttendRequest request = Trained("text", {"view.unit=CODE_POINT", "view.min_code_point_count=1"});
  request.example = 0;
  const auto attended = AttendCheckpoint(request);
  ASSERT_TRUE(attended.ok()) << attended.status();
  // The text is a byte literal.
  EXPECT_THAT(attended->tokens, AllOf(Contains("b"), Contains("'"), Each(Not(StartsWith("U+")))));
}

// What must fail is neither logged as a look at the test split nor leaves a folder.
TEST_F(AttendTest, RefusedLooksAtTestAreNotLogged) {
  AttendRequest request = Trained("listops");
  request.split = "test";
  const auto looks = [&] { return TestLooks(folder_.File("run")).value().size(); };
  const size_t before = looks();
  request.head = 99;
  EXPECT_THAT(std::string(AttendCheckpoint(request).status().message()),
              HasSubstr("--head: is 99, must be 0 to "));
  EXPECT_FALSE(FileExists(request.out_dir));
  request.head = 0;
  ASSERT_TRUE(WriteFileAtomically(folder_.File("a_file"), "").ok());
  request.out_dir = folder_.File("a_file/maps");
  EXPECT_THAT(std::string(AttendCheckpoint(request).status().message()), HasSubstr("a_file/maps"));
  EXPECT_EQ(looks(), before);
  request.out_dir = folder_.File("maps");
  ASSERT_TRUE(AttendCheckpoint(request).ok());
  EXPECT_EQ(looks(), before + 1);
}

// Their pixels begin behind the vector, or where there is none with the first key.
TEST_F(AttendTest, PixelsThatAreGuessedAreFoldedBack) {
  AttendRequest request = Trained(
      "mnist_pixels",
      {"view.target=MASKED", "view.split=SEED42", "attention.causal=false", "model.pooling=CLS"},
      "linear");
  request.layer = 0;
  request.examples = 1;
  const auto attended = AttendCheckpoint(request);
  ASSERT_TRUE(attended.ok()) << attended.status();
  EXPECT_EQ(attended->maps.back().tokens, 784);
  EXPECT_EQ(Array("layer0-picture.npy").shape, (std::vector<int64_t>{28, 28}));
}

// Entry (i, j) is cos(pi (i - j) / 2M), whatever the queries and keys of the examples.
TEST_F(AttendTest, TheReweightingIsWhatPositionsDo) {
  AttendRequest request = Trained("listops", {"attention.options.scale_tokens=3000"}, "cosformer");
  const auto attended = AttendCheckpoint(request);
  ASSERT_TRUE(attended.ok()) << attended.status();
  const FloatArray map = Array("all-reweighting.npy");
  const int64_t tokens = attended->maps.back().tokens;
  ASSERT_EQ(map.shape, (std::vector<int64_t>{tokens, tokens}));
  double largest_error = 0;
  for (int64_t i = 0; i < tokens; ++i) {
    for (int64_t j = 0; j < tokens; ++j) {
      const double expected = std::cos(std::numbers::pi * static_cast<double>(i - j) / 6000);
      largest_error = std::max(largest_error, std::abs(map.values[i * tokens + j] - expected));
    }
  }
  EXPECT_LT(largest_error, 1e-5);
}

TEST_F(AttendTest, WithoutReweightingThereIsNoMapOfIt) {
  AttendRequest request = Trained("listops", {}, "relu");
  const auto attended = AttendCheckpoint(request);
  ASSERT_TRUE(attended.ok()) << attended.status();
  EXPECT_THAT(attended->maps.back().files, Contains("all-coverage.npy"));
  EXPECT_THAT(attended->maps.back().files, Not(Contains("all-reweighting.npy")));
}

}  // namespace
}  // namespace lra
