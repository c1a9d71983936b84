#include "tasks/text/film_addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lra::text {
namespace {

using testing::HasSubstr;

constexpr absl::string_view kFirst = "http://www.imdb.com/title/tt0064354/usercomments";

TEST(FilmAddressesTest, AFilmIsItsTitleNumber) {
  EXPECT_EQ(*FilmOfAddress(kFirst), "tt0064354");
  EXPECT_EQ(*FilmOfAddress("https://imdb.com/title/tt1"), "tt1");
  for (const char* address : {"", "http://www.imdb.com/title/", "http://www.imdb.com/title/tt/x",
                              "http://www.imdb.com/title/nm12/", "http://www.imdb.com/tt12/"}) {
    EXPECT_THAT(std::string(FilmOfAddress(address).status().message()),
                HasSubstr("is not the address of a film"))
        << address;
  }
}

TEST(FilmAddressesTest, ListsAreThoseOfLabelledReviews) {
  for (const char* path :
       {"aclImdb/train/urls_neg.txt", "train/urls_pos.txt", "x/test/urls_neg.txt"})
    EXPECT_TRUE(FilmAddresses::IsList(path)) << path;
  for (const char* path : {"aclImdb/train/urls_unsup.txt", "urls_pos.txt", "xtrain/urls_pos.txt",
                           "train/urls_pos.txt.gz", "train/pos/urls_pos.txt"})
    EXPECT_FALSE(FilmAddresses::IsList(path)) << path;
}

TEST(FilmAddressesTest, LineNNamesTheFilmOfReviewN) {
  FilmAddresses films;
  ASSERT_TRUE(films
                  .AddList("aclImdb/test/urls_pos.txt",
                           absl::StrCat(kFirst, "\r\nhttp://www.imdb.com/title/tt7/\n"))
                  .ok());
  EXPECT_EQ(*films.FilmOf({.is_test = true, .label = 1, .id = 0}), "tt0064354");
  EXPECT_EQ(*films.FilmOf({.is_test = true, .label = 1, .id = 1}), "tt7");
  EXPECT_THAT(films.FilmOf({.is_test = true, .label = 1, .id = 2}).status(),
              absl::DataLossError("test/urls_pos.txt has 2 lines; line n + 1 is expected to name "
                                  "the film of review n, here 2"));
  EXPECT_THAT(
      films.FilmOf({.is_test = false, .label = 1, .id = 0}).status(),
      absl::NotFoundError("there is no train/urls_pos.txt, which names the film of each review"));
  ASSERT_EQ(films.sources().size(), 1u);
  EXPECT_EQ(films.sources()[0].name(), "test/urls_pos.txt");
  EXPECT_EQ(films.sources()[0].size_bytes(), 81);
}

TEST(FilmAddressesTest, BrokenListsAreNamed) {
  FilmAddresses films;
  EXPECT_EQ(films.AddList("a/train/urls_neg.txt", ""),
            absl::DataLossError("a/train/urls_neg.txt: the list is empty"));
  const absl::Status status =
      films.AddList("a/train/urls_pos.txt", absl::StrCat(kFirst, "\n\n", kFirst, "\n"));
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("a/train/urls_pos.txt:2: \"\" is not"));
  ASSERT_TRUE(films.AddList("a/test/urls_pos.txt", kFirst).ok());
  EXPECT_THAT(std::string(films.AddList("b/test/urls_pos.txt", kFirst).message()),
              HasSubstr("b/test/urls_pos.txt: there is another test/urls_pos.txt"));
}

}  // namespace
}  // namespace lra::text
