#include "datasets/classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Counts = std::vector<int64_t>;

Manifest MakeManifest(const Counts& train, const Counts& test,
                      const std::vector<std::string>& names = {}) {
  Manifest manifest;
  manifest.mutable_class_names()->Assign(names.begin(), names.end());
  const auto add = [&manifest](const char* name, const Counts& counts) {
    ManifestSplit* split = manifest.add_splits();
    split->set_name(name);
    split->mutable_label_count()->Assign(counts.begin(), counts.end());
  };
  add("train", train);
  add("test", test);
  return manifest;
}

TEST(ClassesTest, SaysNothingOfEqualClasses) {
  EXPECT_THAT(DescribeClasses(MakeManifest({20, 30}, {1, 9})), IsEmpty());
  EXPECT_THAT(DescribeClasses(MakeManifest({20, 30, 0}, {1, 9, 0})), IsEmpty());
  Manifest pool = MakeManifest({20, 30}, {10, 0});
  pool.mutable_splits(0)->set_name("all");
  EXPECT_THAT(DescribeClasses(pool), IsEmpty());
}

TEST(ClassesTest, CountsWhatTrainLacks) {
  EXPECT_THAT(DescribeClasses(MakeManifest({20, 0, 30}, {6, 2, 9}, {"a", "b", "c"})),
              ElementsAre("2 of the 17 examples of test have a class that train lacks, class 1 "
                          "(\"b\"): no model can learn it"));
  Manifest manifest = MakeManifest({9, 0, 0, 0, 0, 0, 0}, {9, 1, 1, 1, 1, 1, 1});
  EXPECT_THAT(DescribeClasses(manifest),
              ElementsAre(HasSubstr("6 of the 15 examples of test have a class that train lacks, "
                                    "class 1, 2, 3, 4, 5 and 1 more:")));
  manifest.mutable_splits(1)->set_name("validation");
  EXPECT_THAT(DescribeClasses(manifest), ElementsAre(HasSubstr("examples of validation have")));
}

TEST(ClassesTest, NamesWhatTestLacksByMoreThanChance) {
  EXPECT_THAT(DescribeClasses(MakeManifest({25, 25}, {0, 20}, {"neg", "pos"})),
              ElementsAre("test lacks class 0 (\"neg\"), of which train has examples: a score on "
                          "test says nothing of it"));
  // Three examples are of one class in a quarter of all draws, 60 of ten classes seldom.
  EXPECT_THAT(DescribeClasses(MakeManifest({25, 25}, {0, 3})), IsEmpty());
  const Counts ten(10, 100);
  EXPECT_THAT(DescribeClasses(MakeManifest(ten, {5, 5, 5, 5, 5, 5, 5, 5, 0, 0})), IsEmpty());
  EXPECT_THAT(DescribeClasses(MakeManifest(ten, {6, 0, 0, 0, 0, 0, 0, 0, 0, 0})),
              ElementsAre(HasSubstr("test lacks class 1, 2, 3, 4, 5 and 4 more, of which")));
  EXPECT_THAT(DescribeClasses(MakeManifest(ten, {50, 50, 50, 50, 50, 50, 50, 50, 50, 0})),
              ElementsAre(HasSubstr("test lacks class 9, of which")));
}

TEST(ClassesTest, NamesClassesOfNoSplit) {
  Manifest manifest = MakeManifest({20, 0, 30}, {6, 2, 9});
  manifest.mutable_spec()->set_classes(3);
  EXPECT_EQ(EmptyClassesNote(manifest), "");
  manifest = MakeManifest({0, 3, 0}, {0, 2, 0}, {"a", "b", "c"});
  manifest.mutable_spec()->set_classes(3);
  EXPECT_EQ(EmptyClassesNote(manifest),
            "no split has an example of class 0 (\"a\"), 2 (\"c\"); classes are 0 to 2: are labels "
            "counted from 1?");
  manifest = MakeManifest({5, 3, 0}, {5, 2, 0});
  manifest.mutable_spec()->set_classes(3);
  EXPECT_EQ(EmptyClassesNote(manifest), "no split has an example of class 2; classes are 0 to 2");
}

TEST(ClassesTest, RefusesSplitsWithoutACommonClass) {
  EXPECT_EQ(CheckClasses(MakeManifest({20, 30}, {0, 9})), absl::OkStatus());
  const absl::Status status =
      CheckClasses(MakeManifest({0, 0, 5, 5}, {2, 3, 0, 0}, {"0", "1", "neg", "pos"}));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "train and test share no class: train has class 2 (\"neg\"), 3 (\"pos\"), test has "
            "class 0 (\"0\"), 1 (\"1\"); give both the same labels");
  Manifest lone = MakeManifest({5, 0}, {0, 5});
  lone.mutable_splits()->RemoveLast();
  EXPECT_EQ(CheckClasses(lone), absl::OkStatus());
}

}  // namespace
}  // namespace lra
