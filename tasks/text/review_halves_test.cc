// Makes pairs of made-up reviews as a user does, and of the real ones where they are at hand.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "datasets/dataset.h"
#include "datasets/manifest.h"
#include "datasets/mapped_split.h"
#include "tasks/import_test_util.h"
#include "tasks/text/half_pairs.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<std::string> kSmall = {"text_bytes=40", "gap_bytes=8"};

// A review in which every word, and so each of its texts, says which review it is.
std::string ReviewOf(absl::string_view name) {
  std::string review;
  for (int word = 0; review.size() < 100; ++word) absl::StrAppend(&review, name, "w", word, " ");
  return review;
}

// `films` films with two reviews each in every folder: review n is about film n / 2 of its folder.
Entries MadeUpReviews(int films) {
  Entries entries;
  for (int list = 0; list < 4; ++list) {
    const std::string split = list < 2 ? "train" : "test", name = list % 2 == 0 ? "neg" : "pos";
    std::string addresses;
    for (int i = 0; i < 2 * films; ++i) {
      entries.push_back(
          {absl::StrCat("aclImdb/", split, "/", name, "/", i, list % 2 == 0 ? "_3.txt" : "_8.txt"),
           ReviewOf(absl::StrCat("l", list, "f", i / 2, "r", i))});
      absl::StrAppend(&addresses, "http://www.imdb.com/title/tt", list, i / 2, "/usercomments\n");
    }
    entries.push_back({absl::StrCat("aclImdb/", split, "/urls_", name, ".txt"), addresses});
  }
  return entries;
}

// What a text of MadeUpReviews says of itself.
struct Origin {
  std::string list, film, review;
};
Origin OriginOf(absl::string_view text) {
  const absl::string_view word = text.substr(0, text.find('w'));
  const size_t film = word.find('f'), review = word.find('r');
  return {std::string(word.substr(0, film)), std::string(word.substr(0, review)),
          std::string(word)};
}

struct StoredPair {
  std::string split, first, last;
  int32_t label = 0;
};

std::vector<StoredPair> StoredPairs(const std::string& folder) {
  const Dataset data = *Dataset::Open(folder, {});
  std::vector<StoredPair> pairs;
  for (const char* name : {"train", "validation", "test"}) {
    for (int64_t i = 0; i < data.split(name)->examples; ++i) {
      const auto a = data.split(name)->Bytes(i, 0), b = data.split(name)->Bytes(i, 1);
      pairs.push_back({name, std::string(a.begin(), a.end()), std::string(b.begin(), b.end()),
                       data.split(name)->label(i)});
    }
  }
  return pairs;
}

// Every first text is once with the last text of its own review, label 1, and once with another's,
// and so is every last text.
void ExpectBalanced(const std::vector<StoredPair>& pairs) {
  std::map<std::string, std::vector<int32_t>> labels[2];
  for (const StoredPair& pair : pairs) {
    labels[0][pair.first].push_back(pair.label);
    labels[1][pair.last].push_back(pair.label);
  }
  for (auto& side : labels) {
    for (auto& [text, of_text] : side) {
      std::sort(of_text.begin(), of_text.end());
      ASSERT_THAT(of_text, ElementsAre(0, 1)) << text;
    }
  }
}

class ReviewHalvesTest : public ImportTestBase {
 protected:
  explicit ReviewHalvesTest(std::vector<std::string> set = kSmall)
      : ImportTestBase("review_halves", std::move(set)) {}
};

TEST_F(ReviewHalvesTest, TheSampleIsTheSameFromEveryWrapping) { ExpectSameFromEveryWrapping(); }

TEST_F(ReviewHalvesTest, PairsAreOfOneReviewOrOfTwoOfOneFilm) {
  const Manifest manifest = ExpectImports(WriteFolder(MadeUpReviews(30)));
  EXPECT_THAT(manifest.shared_documents(), IsEmpty());
  EXPECT_THAT(manifest.duplicates(), IsEmpty());
  const std::vector<StoredPair> pairs = StoredPairs(Out());
  ASSERT_EQ(pairs.size(), 2u * 240);
  ExpectBalanced(pairs);
  std::map<std::string, std::set<std::string>> splits_of;
  for (const StoredPair& pair : pairs) {
    const Origin first = OriginOf(pair.first), last = OriginOf(pair.last);
    EXPECT_EQ(first.review == last.review, pair.label == 1);
    EXPECT_EQ(first.film, last.film);
    splits_of[first.film].insert(pair.split);
    EXPECT_LE(pair.first.size(), 40u);
    EXPECT_GE(pair.first.size(), 28u);
    EXPECT_TRUE(absl::EndsWith(ReviewOf(last.review), absl::StrCat(" ", pair.last, " ")));
    EXPECT_TRUE(absl::StartsWith(ReviewOf(first.review), absl::StrCat(pair.first, " ")));
  }
  for (const auto& [film, splits] : splits_of) EXPECT_EQ(splits.size(), 1u) << film;
}

class OtherFilmTest : public ReviewHalvesTest {
 protected:
  OtherFilmTest()
      : ReviewHalvesTest({"text_bytes=40", "gap_bytes=8", "negatives=OTHER_FILM", "seed=3"}) {}
};

TEST_F(OtherFilmTest, NegativesAreOfOneRatingAndTwoFilms) {
  ExpectImports(WriteFolder(MadeUpReviews(30)));
  const std::vector<StoredPair> pairs = StoredPairs(Out());
  ASSERT_EQ(pairs.size(), 2u * 240);
  ExpectBalanced(pairs);
  int other_lists = 0;
  for (const StoredPair& pair : pairs) {
    const Origin first = OriginOf(pair.first), last = OriginOf(pair.last);
    EXPECT_EQ(first.film == last.film, pair.label == 1);
    // Folders l0 and l2 hold one rating, l1 and l3 the other.
    EXPECT_EQ((first.list[1] - last.list[1]) % 2, 0);
    other_lists += first.list != last.list ? 1 : 0;
  }
  EXPECT_GT(other_lists, 60);
}

TEST_F(ReviewHalvesTest, WhatIsLeftOutIsCounted) {
  Entries entries = MadeUpReviews(30);
  const auto set = [&](absl::string_view name, std::string bytes) {
    for (Entry& entry : entries)
      if (absl::EndsWith(entry.name, name)) entry.bytes = std::move(bytes);
  };
  set("train/neg/0_3.txt", "");
  set("train/neg/2_3.txt", "word");
  set("train/neg/4_3.txt", std::string(500, 'x'));
  set("train/neg/6_3.txt", ReviewOf("l0f2r5"));
  std::map<std::string, int64_t> skipped;
  const Manifest manifest = ExpectImports(WriteTar(entries));
  for (const SkippedExamples& entry : manifest.skipped()) skipped[entry.reason()] = entry.count();
  EXPECT_EQ(skipped["shorter than 88 bytes, or one word over most of a text"], 3);
  EXPECT_EQ(skipped["sharing 13 words in a row with an earlier review"], 1);
  // Each of the four was the only other review of its film and class.
  EXPECT_EQ(skipped["without a review to be paired with"], 4);
}

TEST_F(ReviewHalvesTest, BrokenTreesAreRefused) {
  const Entries good = MadeUpReviews(30);
  const auto kMissing = absl::StatusCode::kNotFound;
  ExpectRefused(
      good,
      {{Drop("aclImdb/test/pos/"), {"has no reviews in test/pos/"}, kMissing},
       {Drop("aclImdb/test/urls_pos.txt"),
        {"aclImdb/test/pos/0_8.txt", "there is no test/urls_pos.txt"},
        kMissing},
       {Put("aclImdb/train/urls_neg.txt", "http://www.imdb.com/title/tt5/\n"),
        {"aclImdb/train/neg/1_3.txt", "train/urls_neg.txt has 1 lines"}},
       {Put("aclImdb/train/urls_neg.txt", "http://www.imdb.com/\n"),
        {"aclImdb/train/urls_neg.txt:1: \"http://www.imdb.com/\" is not the address of a film"}},
       {Put("b/aclImdb/train/neg/0_3.txt", "again"), {"has the same id"}},
       {Put("aclImdb/train/neg/7_9.txt", "x"), {"the rating is 9"}},
       {[](Entries* entries) {
          for (Entry& entry : *entries)
            if (!absl::StrContains(entry.name, "urls")) entry.bytes = "too short";
        },
        {"no pairs for split train", "240 left out: shorter than 88 bytes"}}});
  EXPECT_THAT(std::string(Refusal(WriteFolder({{"train.csv", "label,text\n1,good\n0,bad\n"},
                                               {"test.csv", "label,text\n1,good\n0,bad\n"}}))
                              .message()),
              HasSubstr("tables do not say which film a review is about"));
  ExpectCutsAreRefused(MadeUpReviews(30), /*needs_end=*/true);
}

TEST(HalfPairTest, APairIsOneStringWithOneLineEnd) {
  EXPECT_EQ(text::SplitPair(text::JoinPair("a b", "c"))->last, "c");
  EXPECT_FALSE(text::SplitPair("a b").ok());
  EXPECT_FALSE(text::SplitPair("a\nb\nc").ok());
}

// A tenth of the films each, and other films with another seed.
TEST(HalfPairTest, SplitsAreDrawnByFilm) {
  int counts[3] = {}, same = 0;
  for (int i = 0; i < 10000; ++i) {
    const std::string film = absl::StrCat("tt", i);
    ++counts[text::SplitOfFilm(film, 0)];
    same += text::SplitOfFilm(film, 0) == text::SplitOfFilm(film, 1) ? 1 : 0;
  }
  // Four standard errors of a share of 0.1; agreement of two independent draws is 0.66.
  EXPECT_NEAR(counts[1], 1000, 120);
  EXPECT_NEAR(counts[2], 1000, 120);
  EXPECT_NEAR(same, 6600, 190);
}

class RealReviewsTest : public ReviewHalvesTest {
 protected:
  RealReviewsTest() : ReviewHalvesTest(std::vector<std::string>()) {}
};

TEST_F(RealReviewsTest, MakeTheCanonicalData) {
  const std::string raw = RealData("aclImdb_v1.tar.gz");
  if (raw.empty()) GTEST_SKIP() << "LRA_TEST_DATA has no aclImdb_v1.tar.gz";
  const auto made = Import(raw);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_TRUE(IsCanonical(made->manifest));
  EXPECT_THAT(made->manifest.shared_documents(), IsEmpty());
  EXPECT_THAT(made->manifest.duplicates(), IsEmpty());
  const std::vector<StoredPair> pairs = StoredPairs(Out());
  ExpectBalanced(pairs);
  // By label: the differences of both texts' lengths, and their sums.
  double sums[2] = {};
  int64_t bytes[2] = {}, counts[2] = {};
  for (const StoredPair& pair : pairs) {
    sums[pair.label] +=
        std::abs(static_cast<double>(pair.first.size()) - static_cast<double>(pair.last.size()));
    bytes[pair.label] += static_cast<int64_t>(pair.first.size() + pair.last.size());
    ++counts[pair.label];
  }
  EXPECT_EQ(bytes[0], bytes[1]);
  EXPECT_EQ(counts[0], counts[1]);
  // The difference of lengths is that of the words at the cuts, about 3 bytes in either class.
  const auto n = static_cast<double>(counts[0]);
  EXPECT_NEAR(sums[0] / n, sums[1] / n, 4 * 3 * std::sqrt(2 / n));
}

}  // namespace
}  // namespace lra
