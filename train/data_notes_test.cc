#include "train/data_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "datasets/data_test_util.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;
using testing::StartsWith;

class DataNotesTest : public testing::Test {
 protected:
  DataNotesTest() { setenv("LRA_DATA", folder_.path().c_str(), 1); }
  ~DataNotesTest() override { unsetenv("LRA_DATA"); }

  // Data of a task in a folder of that name, with seven test examples.
  std::string Write(const std::string& task, const std::string& name) {
    TaskSpec spec = SmallSpec();
    spec.set_name(task);
    WriteTestData(folder_.File(name), spec,
                  {{"train", RandomExamples(spec, 5, 1)},
                   {"validation", RandomExamples(spec, 5, 2)},
                   {"test", RandomExamples(spec, 7, 3)}});
    return folder_.File(name);
  }
  static ExperimentConfig Config(const std::string& task, int scored) {
    ExperimentConfig config;
    config.set_task(task);
    if (scored > 0) config.mutable_evaluation()->set_scored_examples(scored);
    return config;
  }

  TestFolder folder_;
};

TEST_F(DataNotesTest, APartOfTheTestSplitIsInNoTable) {
  Write("image", "image");  // nothing is pinned
  EXPECT_THAT(DataNotes(Config("image", 6), ""),
              ElementsAre("image is scored on 6 of 7 test examples (evaluation.scored_examples): "
                          "lra table and lra ablate leave such runs out"));
  for (const int whole : {0, 7, 8}) EXPECT_THAT(DataNotes(Config("image", whole), ""), IsEmpty());
  EXPECT_THAT(DataNotes(Config("text", 6), ""), IsEmpty());  // no data
}

TEST_F(DataNotesTest, OtherDataInTheTasksOwnFolder) {
  const std::string own = Write("listops", "listops"), other = Write("listops", "listops_tiny");
  for (const std::string& data_dir : {std::string(), own}) {
    EXPECT_THAT(DataNotes(Config("listops", 0), data_dir),
                ElementsAre(testing::AllOf(StartsWith(own + " holds other data than is pinned"),
                                           EndsWith("those on the pinned data"))));
  }
  EXPECT_THAT(DataNotes(Config("listops", 0), other), IsEmpty());  // its name says so
}

// A constant guess would be perfect on them.
TEST_F(DataNotesTest, TheFirstExamplesOfSortedDataAreOfOneClass) {
  TaskSpec spec = SmallSpec();
  std::vector<EncodedExample> sorted = RandomExamples(spec, 40, 1);
  for (size_t i = 0; i < sorted.size(); ++i) sorted[i].label = i < 20 ? 0 : 1;
  WriteTestData(folder_.File("sorted"), spec,
                {{"train", sorted}, {"validation", sorted}, {"test", sorted}});
  const Dataset data = *Dataset::Open(folder_.File("sorted"), {});
  DataView view;
  view.set_split(DataView::OFFICIAL);
  view.set_max_length_tokens(64);
  const absl::StatusOr<SplitView> split = SplitView::Create(data, "validation", view);
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_THAT(OneClassWarning(*split, 20, "train.validation_examples"),
              StartsWith("the first 20 of 40 examples of validation, on which it is scored "
                         "(train.validation_examples), are all of class 0: "));
  for (const int64_t limit : {0, 4, 21, 40, 50}) EXPECT_EQ(OneClassWarning(*split, limit, ""), "");
}

}  // namespace
}  // namespace lra
