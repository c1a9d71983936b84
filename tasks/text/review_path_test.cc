#include "tasks/text/review_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace lra::text {
namespace {

using testing::HasSubstr;

TEST(ReviewPathTest, ReadsSplitClassIdAndRating) {
  struct Case {
    std::string path;
    bool is_test;
    int label, id, rating;
  };
  const std::vector<Case> table = {
      {"aclImdb/train/pos/0_9.txt", false, 1, 0, 9},
      {"aclImdb/test/neg/12499_1.txt", true, 0, 12499, 1},
      {"aclImdb/train/neg/10023_4.txt", false, 0, 10023, 4},
      {"test/pos/127_10.txt", true, 1, 127, 10},
      {"/data/raw/imdb.v1/test/pos/127_7.txt", true, 1, 127, 7},
      {"./train/pos/5_8.txt", false, 1, 5, 8},
      {"test/train/pos/5_8.txt", false, 1, 5, 8},
      {"pos/neg/unsup/train/neg/2147483647_2.txt", false, 0, 2147483647, 2},
  };
  for (const Case& c : table) {
    const auto review = ParseReviewPath(c.path);
    ASSERT_TRUE(review.ok()) << review.status();
    ASSERT_TRUE(review->has_value()) << c.path;
    EXPECT_EQ((*review)->is_test, c.is_test) << c.path;
    EXPECT_EQ((*review)->label, c.label) << c.path;
    EXPECT_EQ((*review)->id, c.id) << c.path;
    EXPECT_EQ((*review)->rating, c.rating) << c.path;
  }
}

TEST(ReviewPathTest, PassesOverWhatIsNoLabelledReview) {
  for (const char* path : {"aclImdb/README",
                           "aclImdb/imdb.vocab",
                           "aclImdb/imdbEr.txt",
                           "aclImdb/train/urls_pos.txt",
                           "aclImdb/train/labeledBow.feat",
                           "aclImdb/train/unsup/0_0.txt",
                           "train/unsup/49999_0.txt",
                           "aclImdb/train/pos/.DS_Store",
                           "aclImdb/train/pos/._0_9.txt",
                           "train/pos/0_9.txt~",
                           "train/pos/",
                           "train/pos",
                           "",
                           "/",
                           "0_9.txt",
                           "notes/0_9.txt",
                           "a/b/12_11.txt",
                           "__MACOSX/pos/._1_7.txt",
                           "other/pos/readme.txt",
                           "pos/list.txt",
                           "train/pos/old/0_9.txt"}) {
    const auto review = ParseReviewPath(path);
    ASSERT_TRUE(review.ok()) << review.status();
    EXPECT_FALSE(review->has_value()) << path;
  }
}

TEST(ReviewPathTest, NamesPathAndPart) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"aclImdb/train/neg/0_7.txt", "the rating is 7; 1 to 4 are expected in neg/"},
      {"aclImdb/train/neg/0_5.txt", "the rating is 5; 1 to 4"},
      {"aclImdb/train/neg/0_0.txt", "the rating is 0; 1 to 4"},
      {"aclImdb/test/pos/0_6.txt", "the rating is 6; 7 to 10 are expected in pos/"},
      {"aclImdb/test/pos/0_4.txt", "the rating is 4; 7 to 10"},
      {"aclImdb/test/pos/0_11.txt", "the rating is 11; 7 to 10"},
      {"aclImdb/test/pos/0_2147483647.txt", "the rating is 2147483647; 7 to 10"},
      {"aclImdb/test/pos/0_2147483648.txt", "<id>_<rating>.txt is expected"},
      {"aclImdb/test/pos/99999999999_9.txt", "<id>_<rating>.txt is expected"},
      {"aclImdb/test/pos/0_-9.txt", "<id>_<rating>.txt is expected"},
      {"aclImdb/test/pos/0_09.txt", "<id>_<rating>.txt is expected"},
      {"aclImdb/test/pos/00_9.txt", "<id>_<rating>.txt is expected"},
      {"aclImdb/test/pos/0_9_9.txt", "<id>_<rating>.txt is expected"},
      {"aclImdb/test/pos/0.txt", "<id>_<rating>.txt is expected"},
      {"aclImdb/test/pos/_.txt", "<id>_<rating>.txt is expected"},
      {"aclImdb/test/pos/0_9 .txt", "<id>_<rating>.txt is expected"},
      {"aclImdb/test/pos/a_9.txt", "<id>_<rating>.txt is expected"},
      {"aclImdb/train/0_9.txt", "pos/ or neg/ is expected below train/"},
      {"test/0_9.txt", "pos/ or neg/ is expected below test/"},
      {"aclImdb/train/positive/0_9.txt", "the class is \"positive\"; pos or neg is expected"},
      {"pos/0_9.txt", "train/ or test/ is expected above pos"},
      {"aclImdb/neg/0_2.txt", "train/ or test/ is expected above neg"},
      {"aclImdb/valid/neg/0_2.txt", "train/ or test/ is expected above neg"},
  };
  for (const auto& [path, words] : table) {
    const auto review = ParseReviewPath(path);
    EXPECT_EQ(review.status().code(), absl::StatusCode::kInvalidArgument) << path;
    EXPECT_THAT(std::string(review.status().message()), HasSubstr("\"" + path + "\": " + words));
  }
  const auto review = ParseReviewPath(std::string(100000, 'x') + "/\x01\n/train/neg/0_8.txt");
  EXPECT_THAT(std::string(review.status().message()),
              HasSubstr("xxx/\\x01\\n/train/neg/0_8.txt\": the rating is 8"));
  EXPECT_LT(review.status().message().size(), 400u);
}

}  // namespace
}  // namespace lra::text
