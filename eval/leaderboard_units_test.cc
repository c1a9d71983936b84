// Tables of tokens, whose metrics have several units.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "eval/leaderboard.h"
#include "eval/leaderboard_test_util.h"
#include "eval/table_paper.h"
#include "eval/table_writer.h"

namespace lra {
namespace {

using ::lra::testing::Build;
using ::lra::testing::By;
using ::lra::testing::MakeRun;
using ::lra::testing::Methods;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A run with a bit a token.
LocatedRecord OfTokens(const std::string& task, TaskSpec::Content content, int ids) {
  LocatedRecord run = By(kBitsPerToken, MakeRun({.task = task}), 2000 * std::log(2.0));
  (*run.record.mutable_results(0)->mutable_sums()->mutable_counts())[kTokens] = 2000;
  run.record.mutable_spec()->set_content(content);
  run.record.mutable_spec()->set_vocabulary_size(ids);
  return run;
}

TEST(LeaderboardUnitsTest, TheUnitOfBitsIsTheColumns) {
  const LocatedRecord pixels = OfTokens("digits", TaskSpec::GREY_IMAGE, 256);
  const LocatedRecord bytes = OfTokens("reviews", TaskSpec::TEXT, 257);
  LocatedRecord others = bytes;
  others.record.mutable_config()->set_protocol("s4@1");
  const Leaderboard board = Build({pixels, bytes, others});
  ASSERT_EQ(board.tables.size(), 2u);
  EXPECT_THAT(board.tables[0].tasks, ElementsAre("digits", "reviews"));
  EXPECT_EQ(board.tables[0].metric->traits().unit, "bits/token");
  EXPECT_EQ(board.tables[1].metric->traits().unit, "bits/byte");
  EXPECT_THAT(board.tables[1].differs, Not(HasSubstr("its metric is")));
  const std::string text = WriteLeaderboard(board, TableFormat::kMarkdown);
  EXPECT_THAT(text, HasSubstr("| digits (bits_per_token in bits/dim, lower is better) "
                              "| reviews (bits_per_token in bits/byte, lower is better) |"));
  const std::string sentence = "Mean negative log-likelihood of a token in bits on the test split";
  EXPECT_THAT(text, HasSubstr(sentence));
  EXPECT_EQ(text.find(sentence), text.rfind(sentence)) << "one metric is explained once";
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kHtml),
              AllOf(HasSubstr("in bits/dim, "), HasSubstr("in bits/byte, ")));
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kCsv),
              AllOf(HasSubstr(",bits_per_token,bits/dim,"), HasSubstr(",bits_per_token,bits/byte,"),
                    Not(HasSubstr(",bits_per_token,bits/token,"))));
}

// A bit a pixel and a bit a byte have no mean, whatever the format. By the mean of its two values
// the first row would be last.
TEST(LeaderboardUnitsTest, UnlikeUnitsHaveNoAverage) {
  const auto run = [](const std::string& method, LocatedRecord record, double bits) {
    record.record.set_method(method);
    return By(kBitsPerToken, std::move(record), 2000 * std::log(2.0) * bits);
  };
  const LocatedRecord pixels = OfTokens("digits", TaskSpec::GREY_IMAGE, 256);
  const LocatedRecord bytes = OfTokens("reviews", TaskSpec::TEXT, 257);
  const Leaderboard board = Build(
      {run("near", pixels, 1), run("near", bytes, 9), run("far", pixels, 2), run("far", bytes, 3)});
  const LeaderboardTable& table = board.tables.at(0);
  EXPECT_THAT(Methods(table), ElementsAre("near", "far"));
  EXPECT_FALSE(table.rows[0].average || table.rows[1].average);
  const std::string why =
      "No average, because the tasks' units differ (bits/byte, bits/dim); rows are ordered by the "
      "first task of which they have a score.";
  EXPECT_THAT(table.notes, Contains(why));
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kMarkdown),
              AllOf(HasSubstr(why), Not(HasSubstr("| average"))));
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kLatex),
              AllOf(HasSubstr("the tasks' units differ"), Not(HasSubstr("& average"))));
  EXPECT_THAT(WritePaperTables(board), AllOf(HasSubstr(why), Not(HasSubstr("{average}"))));
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kHtml), Not(HasSubstr(">average<")));
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kJson), Not(HasSubstr("\"average\"")));
  EXPECT_THAT(WriteLeaderboard(board, TableFormat::kCsv), Not(HasSubstr("average")));
}

// What was scored by an older build may lack what tells its unit.
TEST(LeaderboardUnitsTest, ABaselineJoinsWhateverItsUnitIsCalled) {
  const LocatedRecord run = OfTokens("reviews", TaskSpec::TEXT, 257);
  LocatedRecord unigram = OfTokens("reviews", TaskSpec::IDS, 0);
  unigram.record.set_kind(RunRecord::BASELINE);
  unigram.record.set_method("unigram");
  const Leaderboard board = Build({run, unigram});
  ASSERT_EQ(board.tables.size(), 1u);
  EXPECT_THAT(Methods(board.tables[0]), ElementsAre("unigram", "linear"));
  EXPECT_EQ(board.tables[0].metric->traits().unit, "bits/byte");
}

}  // namespace
}  // namespace lra
