// The index of predictions. What else is refused stands in external_record_test.cc.
#include "eval/prediction_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datasets/npy.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class PredictionFileTest : public testing::Test {
 protected:
  PredictionFileTest() {
    spec_.set_name("toy");
    spec_.set_classes(2);
  }

  template <class T>
  std::string Write(const std::string& name, const std::vector<T>& values,
                    const std::vector<int64_t>& shape) {
    const std::string bytes(reinterpret_cast<const char*>(values.data()),
                            values.size() * sizeof(T));
    const std::string path = folder_.File(name);
    EXPECT_TRUE(
        WriteFileAtomically(path, absl::StrCat(FormatNpyHeader(NpyTypeOf<T>(), shape), bytes))
            .ok());
    return path;
  }

  // Predictions of rows with these indices; the logit of class 0 is the index.
  absl::StatusOr<ExternalPredictions> Read(const std::vector<int64_t>& index) {
    std::vector<float> logits;
    for (const int64_t i : index) {
      logits.push_back(static_cast<float>(i));
      logits.push_back(0);
    }
    const auto rows = static_cast<int64_t>(index.size());
    return ReadPredictions({Write("p.npy", logits, {rows, 2}), Write("i.npy", index, {rows})},
                           Split());
  }
  std::string Refusal(const std::vector<int64_t>& index) {
    const auto read = Read(index);
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(read.status().message());
  }
  PredictedSplit Split() const {
    return {.spec = spec_, .name = "validation", .examples = 3, .indices = indices_};
  }

  const TestFolder folder_;
  TaskSpec spec_;
  const std::vector<int64_t> indices_ = {7, 30, 5};  // a view's split, in its order
};

TEST_F(PredictionFileTest, RowsAreReorderedByTheirIndex) {
  const auto read = Read({5, 7, 30});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->has_index);
  EXPECT_THAT(read->logits, ElementsAre(7, 0, 30, 0, 5, 0));
  // Classes have an order, too.
  const auto classes = ReadPredictions(
      {Write<int8_t>("p.npy", {1, 0, 0}, {3}), Write<uint16_t>("i.npy", {30, 5, 7}, {3})}, Split());
  ASSERT_TRUE(classes.ok()) << classes.status();
  EXPECT_THAT(classes->logits, ElementsAre(1, 0, 0, 1, 1, 0));
}

TEST_F(PredictionFileTest, IndicesThatAreForeignDoubleOrMissingAreRefused) {
  EXPECT_THAT(Refusal({5, 7, 8}),
              AllOf(HasSubstr("i.npy: row 2: 8 is not the original index of an example of the "
                              "validation split"),
                    HasSubstr("lra data export")));
  EXPECT_THAT(Refusal({5, -1, 7}), HasSubstr("row 1: -1 is not"));
  EXPECT_THAT(Refusal({5, 7, 5}), HasSubstr("row 2: the index 5 stands in row 0 already"));
  EXPECT_THAT(Refusal({5, 7}), HasSubstr("the index 30 is missing: 2 of the 3 examples"));
}

TEST_F(PredictionFileTest, AnIndexMustBeOneIntegerARow) {
  const std::string predictions = Write<int8_t>("p.npy", {1, 0, 0}, {3});
  const auto refusal = [&](const std::string& index) {
    return std::string(ReadPredictions({predictions, index}, Split()).status().message());
  };
  EXPECT_THAT(refusal(Write<float>("i.npy", {5, 7, 30}, {3})),
              HasSubstr("i.npy: holds <f4 of shape (3); expected the original index of each row"));
  EXPECT_THAT(refusal(Write<int64_t>("i.npy", {5, 7}, {2})),
              AllOf(HasSubstr("p.npy"), HasSubstr("3 examples; the index"), HasSubstr("has 2")));
}

}  // namespace
}  // namespace lra
