#include "train/shared_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "eval/evaluator.h"
#include "eval/sums.h"
#include "ranks/ranks_test_util.h"

namespace lra {
namespace {

using testing::HasSubstr;

// What a rank of three has computed of four examples; the last has none of the batches.
ExampleSums SumsOf(int rank) {
  ExampleSums sums;
  if (rank == 0) sums = {{{"targets", {3, 0, 0, 5}}}, {{"nats", {0.1, 0, 0, -0.0}}}};
  if (rank == 1) sums = {{{"targets", {0, 7, 1, 0}}}, {{"nats", {0, 1e-300, 2.5, 0}}}};
  return sums;
}

EvaluatorOptions OptionsOf(Ranks& ranks) {
  EvaluatorOptions options;
  ShareEvaluation(std::shared_ptr<Ranks>(&ranks, [](Ranks*) {}), &options);
  return options;
}

TEST(ShareEvaluation, AllKnowTheSumsOfAll) {
  WithRanks(3, [](Ranks& ranks) {
    const EvaluatorOptions options = OptionsOf(ranks);
    EXPECT_EQ(options.part.index, ranks.rank());
    EXPECT_EQ(options.part.parts, 3);
    ExampleSums sums = SumsOf(ranks.rank());
    ASSERT_TRUE(options.join_sums(absl::OkStatus(), 4, &sums).ok());
    EXPECT_EQ(sums.counts.at("targets"), (std::vector<int64_t>{3, 7, 1, 5}));
    EXPECT_EQ(sums.totals.at("nats"), (std::vector<double>{0.1, 1e-300, 2.5, -0.0}));
    EXPECT_TRUE(std::signbit(sums.totals.at("nats")[3])) << "to the bit";
    ExampleSums none;
    EXPECT_TRUE(options.join_sums(absl::OkStatus(), 0, &none).ok());
  });
}

TEST(ShareEvaluation, OneThatStopsEndsAll) {
  WithRanks(3, [](Ranks& ranks) {
    const EvaluatorOptions options = OptionsOf(ranks);
    ExampleSums sums = SumsOf(ranks.rank());
    const absl::Status mine =
        ranks.rank() == 1 ? absl::CancelledError("stopped after 2 of 4") : absl::OkStatus();
    const absl::Status joined = options.join_sums(mine, 4, &sums);
    EXPECT_TRUE(absl::IsCancelled(joined)) << joined;
    EXPECT_THAT(std::string(joined.message()),
                HasSubstr(ranks.rank() == 1 ? "stopped after 2 of 4" : "rank 1 of 3"));
  });
}

}  // namespace
}  // namespace lra
